//! What programs tell of themselves: marks, pauses, and heaps of their own.

use crate::shown::{self, written};
use crate::support::Made;
use crate::support::fixtures::reported;
use crate::support::golden::check_golden;
use analysis::query::{Filter, Part, Query};
use analysis::{Amount, PauseTotals, Profile};
use capture::{Action, Ended, MarkKind, NodeId, ReallocOutcome};
use engine::{Analyzer, Naming};
use report::EventOptions;
use report::text::Style;

fn blocks(blocks: i64, bytes: i64) -> Amount {
    Amount { blocks, bytes }
}

/// Check that views show all of it, names made harmless.
#[test]
fn views_show_what_was_told() {
    let (made, style) = (reported(), Style::default());
    let loaded = reported().loaded("app.memprof");
    check_golden("reported/info.txt", &shown::info(&loaded, None, &style));
    check_golden("reported/info.json", &shown::info_json(&loaded));
    check_golden("reported/leaks.txt", &shown::leaks(&loaded, 3, &style));
    let options = EventOptions { frames: 1, ..EventOptions::default() };
    let text = written(|out| {
        let mut lines = report::text::EventLines::new(out, &loaded, options, style);
        made.events.iter().try_for_each(|event| lines.event(event))
    });
    check_golden("reported/events.txt", &text);
    let json = written(|out| {
        let mut lines = report::json::EventLines::new(out, &loaded, options)?;
        made.events.iter().try_for_each(|event| lines.event(event))
    });
    check_golden("reported/events.json", &json);
}

/// Check that marks are found by their names, each with its time and owner, in their order.
#[test]
fn marks_have_names_times_and_owners() {
    let loaded = reported().loaded("app.memprof");
    let found: Vec<_> = loaded
        .marks()
        .map(|row| {
            (row.name, row.mark.kind, row.mark.time, row.process.unwrap().pid, row.thread.unwrap().tid)
        })
        .collect();
    let expected = [
        ("load", MarkKind::Begin, 5_000_000, 1000, 5000),
        ("load", MarkKind::End, 11_000_000, 1000, 5000),
        ("idle\n", MarkKind::Instant, 14_000_000, 1000, 5000),
    ];
    assert_eq!(found, expected);
}

/// Check that a pool's totals are those of its name over all processes, and that none of it enters the heap's.
#[test]
fn pools_have_totals_of_their_own() {
    let profile = reported().profile();
    let [arena, cache] = profile.pools[..] else { panic!("{:?}", profile.pools) };
    assert_eq!((arena.allocated, arena.freed), (blocks(4, 1230), blocks(2, 150)));
    // While the second block is copied, both are there; the other process comes when this one's are gone.
    assert_eq!(
        (arena.peak.held, arena.leaked, arena.uncertain),
        (blocks(1, 1000), blocks(1, 1000), blocks(1, 80))
    );
    assert_eq!((cache.allocated, cache.freed, cache.peak.held), (blocks(1, 7), blocks(1, 7), blocks(1, 7)));
    assert_eq!((profile.total.allocated, profile.total.freed), (blocks(3, 4126), blocks(1, 20)));
    assert_eq!(profile.anomalies().unmatched_frees, 0);
}

/// Check that a heap is counted by its name in every way, as the allocator's is, and that one that is not there is
/// refused with the names of those that are.
#[test]
fn heaps_are_counted_by_name() {
    let mut made = reported();
    // Blocks of pools are no samples.
    made.tables.metadata.sample_interval = 1 << 20;
    let path = made.saved("told.memprof");
    let ask = |part: Part, heap: &str| {
        let query = Query { heap: Some(heap.to_owned()), ..Query::of(part) };
        Analyzer::open(&path).unwrap().profile(&query)
    };
    let at = |when: &str| Part::At(when.parse().unwrap());
    let whole = ask(Part::Whole, "arena").unwrap();
    assert_eq!((whole.total.allocated, whole.total.freed), (blocks(4, 1230), blocks(2, 150)));
    assert_eq!((whole.total.leaked, whole.total.uncertain), (blocks(1, 1000), blocks(1, 80)));
    assert_eq!((whole.peak.held, whole.sampling), (blocks(1, 1000), None));
    let held = |profile: &Profile| profile.total.peak;
    assert_eq!(held(&ask(at("load"), "arena").unwrap_or_default()), blocks(0, 0));
    assert_eq!(held(&ask(at("9ms"), "arena").unwrap()), blocks(2, 180));
    assert_eq!(held(&ask(at("peak"), "arena").unwrap()), blocks(1, 1000));
    let region = Part::Range("load".parse().unwrap(), "14ms".parse().unwrap());
    assert_eq!(ask(region, "\u{1b}cache").unwrap().total.freed, blocks(1, 7));
    let error = ask(Part::Whole, "main").unwrap_err().to_string();
    assert_eq!(error, "the capture has no heap `main`; it has arena, \u{1b}cache");
    let mut analyzer = Analyzer::open(&path).unwrap();
    let query = Query { heap: Some("arena".to_owned()), ..Query::default() };
    let profile = analyzer.profile(&query).unwrap();
    assert_eq!(analyzer.show(profile, Naming::Stored).heap_name(), Some("arena"));
}

/// Check that a mark is a moment, exactly at its place among events of the same time, and that one which is not there is
/// refused with the names of those that are.
#[test]
fn marks_are_moments() {
    let (mut made, process, thread, [main]) = Made::app_with(["main"]);
    for round in 0..20 {
        made.alloc(thread, 0x1000 * (round + 1), 1, main);
        made.mark(thread, MarkKind::Instant, &format!("round {round}"));
        made.mark(thread, MarkKind::Instant, "any");
    }
    made.end(process, thread, Ended::Exited(0));
    made.events.iter_mut().for_each(|event| event.time = 1000);
    made.tables.marks.iter_mut().for_each(|mark| mark.time = 1000);
    let path = made.saved("marks.memprof");
    let live = |when: &str| {
        let query = Query::of(Part::At(when.parse().unwrap()));
        Analyzer::open(&path).unwrap().profile(&query).map(|profile| profile.total.peak.blocks)
    };
    for round in 0..20 {
        assert_eq!(live(&format!("round {round}")).unwrap(), round + 1);
    }
    assert_eq!(live("any").unwrap(), 1);
    assert!(live("none").unwrap_err().to_string().contains("no mark `none`; it has round 0, any, round 1"));
}

/// Check that what lived through a pause is uncertain and what was allocated in one is no surprise, that what the same
/// thread frees after one was not temporary, and that a `realloc` whose end was not recorded is given up.
#[test]
fn pauses_explain_what_is_missing() {
    let (mut made, process, thread, [main]) = Made::app_with(["main"]);
    made.free(thread, 0x10);
    made.alloc(thread, 0x20, 1, main);
    made.alloc(thread, 0x30, 2, main);
    made.event(thread, Action::ReallocBegin { address: 0x20, serial: 1 });
    made.event(thread, Action::Pause);
    made.event(thread, Action::Pause);
    made.event(thread, Action::Resume);
    made.free(thread, 0x30);
    made.free(thread, 0x40);
    made.alloc(thread, 0x50, 3, main);
    made.realloc(thread, 2, 0x60, ReallocOutcome::Block { address: 0x70, size: 4, stack: NodeId::ROOT });
    let (child, two) = made.fork(process);
    made.free(two, 0x80);
    made.end(child, two, Ended::Exited(0));
    made.end(process, thread, Ended::Exited(0));
    let profile = made.profile();
    let (total, anomalies) = (&profile.total, profile.anomalies());
    assert_eq!((total.temporary, total.uncertain, total.leaked), (blocks(0, 0), blocks(0, 0), blocks(2, 7)));
    assert_eq!((anomalies.unmatched_frees, anomalies.paused_allocations), (1, 3));
    // The abandoned `realloc` has taken its block with it.
    assert_eq!((anomalies.paused_frees, anomalies.conflicts, profile.gaps().gaps), (1, 0, 0));
    assert_eq!(profile.pauses(), PauseTotals { pauses: 1, time: 2_000_000 });
}

/// Check that a pause that goes on at the end, and one whose beginning was not recorded, make everything uncertain that
/// lived through them.
#[test]
fn open_pauses_are_pauses() {
    for (before, after, expected) in [(None, Some(Action::Pause), 1), (Some(Action::Resume), None, 0)] {
        let (mut made, process, thread, [main]) = Made::app_with(["main"]);
        before.into_iter().for_each(|action| made.event(thread, action));
        made.alloc(thread, 0x10, 1, main);
        after.into_iter().for_each(|action| made.event(thread, action));
        made.end(process, thread, Ended::Exited(0));
        let profile = made.profile();
        assert_eq!(profile.total.uncertain.blocks, expected);
        assert_eq!(profile.pauses().pauses, 1);
    }
}

/// Blocks of as many bytes as their number, 1 to 9, around and in regions of two names in two threads of two processes.
fn in_regions() -> Made {
    let mut made = Made::new();
    let (first, one) = made.process("first");
    let two = made.thread(first);
    let (second, three) = made.process("second");
    let stack = made.stack("main > work");
    let alloc = |made: &mut Made, thread, number| made.alloc(thread, 0x1000 * number, number, stack);
    alloc(&mut made, one, 1);
    made.mark(one, MarkKind::Begin, "load");
    alloc(&mut made, one, 2);
    made.mark(three, MarkKind::Begin, "load");
    made.mark(one, MarkKind::End, "load");
    alloc(&mut made, two, 3);
    made.mark(three, MarkKind::End, "load");
    alloc(&mut made, one, 4);
    made.mark(two, MarkKind::Begin, "save");
    alloc(&mut made, two, 5);
    made.free(two, 0x5000);
    made.mark(one, MarkKind::Begin, "load");
    alloc(&mut made, three, 6);
    made.mark(one, MarkKind::Instant, "tick");
    made.end(first, one, Ended::Exited(0));
    alloc(&mut made, three, 7);
    made.end(second, three, Ended::Exited(0));
    // Stored times are coarse: the order of events alone decides.
    made.events.iter_mut().for_each(|event| event.time = 1000);
    made
}

/// Check that a question about regions is about the blocks that were allocated in any instance of any of their names, in
/// the order of events, with every number of those; and that a name without a region is refused.
#[test]
fn regions_are_their_union() {
    let path = in_regions().saved("regions.memprof");
    let ask = |names: &[&str], part: Part| {
        let during = names.iter().map(|&name| name.to_owned()).collect();
        let filter = Filter { during, ..Filter::default() };
        Analyzer::open(&path).unwrap().profile(&Query { filter, ..Query::of(part) })
    };
    let whole = |names: &[&str]| ask(names, Part::Whole).unwrap().total;
    assert_eq!(whole(&["load"]).allocated, blocks(3, 2 + 3 + 6));
    assert_eq!(whole(&["save"]).allocated, blocks(2, 5 + 6));
    let both = whole(&["save", "load"]);
    assert_eq!((both.allocated, both.leaked), (blocks(4, 2 + 3 + 5 + 6), blocks(3, 2 + 3 + 6)));
    assert_eq!((both.freed, both.temporary), (blocks(1, 5), blocks(1, 5)));
    let up_to_tick = ask(&["load"], Part::At("tick".parse().unwrap())).unwrap().total;
    assert_eq!(up_to_tick.peak, blocks(3, 2 + 3 + 6));
    for name in ["tick", "main"] {
        let error = ask(&[name], Part::Whole).unwrap_err().to_string();
        assert_eq!(error, format!("the capture has no region `{name}`; it has load, save"));
    }
}
