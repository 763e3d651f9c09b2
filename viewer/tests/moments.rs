//! Questions about files: moments, ranges and filters.

use crate::shown;
use crate::support::Made;
use crate::support::fixtures::rich;
use analysis::query::{Filter, Part, Pattern, Query, Selected};
use analysis::{Amount, Cost, Profile, ProfileBuilder, Span};
use capture::{Action, Ended, Event, MarkKind, NodeId, ProcessId, ReallocOutcome, Summary, ThreadId};
use engine::lens::Lens;
use engine::{Analyzer, Naming, compare_moments};
use report::text::Style;
use report::{DiffOptions, ReportOptions};
use std::path::Path;

/// Two threads that allocate in three stacks, free each other's blocks and leave some, one event a millisecond.
fn busy() -> Made {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let stacks = [made.stack("main > a"), made.stack("main > b"), made.stack("main > b > c")];
    let mut random = 1_u64;
    for step in 0..200_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let address = 0x1000 + (random >> 33) % 23 * 64;
        let thread = if random >> 40 & 1 == 0 { one } else { two };
        match random >> 45 & 3 {
            0 => made.free(thread, address),
            _ => made.alloc(thread, address, step % 90 + 1, stacks[(random >> 50) as usize % 3]),
        }
    }
    made.tables.summary = Some(Summary { duration_ns: 201_000_000, ..Summary::default() });
    made
}

fn ask(path: &Path, query: &Query) -> Profile {
    Analyzer::open(path).unwrap().profile(query).unwrap()
}

fn at(path: &Path, when: &str) -> Profile {
    ask(path, &Query::of(Part::At(when.parse().unwrap())))
}

fn between(path: &Path, from: &str, to: &str) -> Profile {
    ask(path, &Query::of(Part::Range(from.parse().unwrap(), to.parse().unwrap())))
}

/// Numbers without where in the capture they are from.
fn numbers(profile: &Profile) -> (Vec<(u32, u32, Cost)>, Amount, u64) {
    let mut rows: Vec<(u32, u32, Cost)> =
        profile.sites.iter().map(|site| (site.process.0, site.node.0, site.cost)).collect();
    rows.retain(|(_, _, cost)| *cost != Cost::default());
    rows.sort_by_key(|&(process, node, _)| (process, node));
    (rows, profile.peak.held, profile.events)
}

/// Check that the answer at each time, on an event or between two, is that of the events up to it.
#[test]
fn every_moment_is_the_state_after_its_events() {
    for made in [busy(), rich()] {
        let path = made.saved("a.memprof");
        for half in 0..2 * made.events.len() as u64 + 4 {
            let time = half * 500_000;
            let events = made.events.iter().take_while(|event| event.time <= time);
            let mut builder = ProfileBuilder::new(&made.tables);
            let all = events.clone().count() == made.events.len();
            events.for_each(|event| _ = builder.event(event));
            builder.hold_peak();
            let expected = if all { builder.finish() } else { builder.cut().0 };
            let found = at(&path, &format!("{time}ns"));
            assert_eq!(numbers(&found), numbers(&expected), "at {time} ns");
            assert!(matches!(found.span, Span::At(at) if at.time == time));
        }
    }
}

/// Check that a capture that is large enough for a second thread, which decodes, is answered as from its events, and up to damage
/// in it as from those before.
#[test]
fn large_captures_are_those_of_their_events() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = busy();
    let (first, last) = (made.events.clone(), made.time);
    for round in 1..=300_000 / first.len() as u64 {
        made.events.extend(
            first
                .iter()
                .filter(|event| matches!(event.action, Action::Alloc { .. } | Action::Free { .. }))
                .map(|event| Event { time: event.time + round * last, ..*event }),
        );
    }
    let path = folder.path().join("a.memprof");
    let mut writer = made.begin(&path);
    for events in made.events.chunks(100_000) {
        events.iter().for_each(|event| writer.event(*event).unwrap());
        writer.flush().unwrap();
    }
    writer.finish(&Summary { duration_ns: made.events.last().unwrap().time, ..Summary::default() }).unwrap();
    let counted = |events: &[Event]| {
        let mut builder = ProfileBuilder::new(&made.tables);
        builder.events(events);
        builder.finish()
    };
    let whole = ask(&path, &Query::default());
    assert_eq!(numbers(&whole), numbers(&counted(&made.events)));
    let ranges = [("10%", "90%"), ("80%", "81%"), ("0", "end")];
    assert!(ranges.iter().all(|(from, to)| between(&path, from, to).events > 0));
    let reader = capture::Reader::open(&path).unwrap();
    let chunks: Vec<_> = reader.index().iter().filter(|chunk| chunk.holds_events()).collect();
    let damaged = chunks[chunks.len() - 1];
    let before = made.events.len() - damaged.records() as usize;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[damaged.offset as usize + 60] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(numbers(&ask(&path, &Query::default())), numbers(&counted(&made.events[..before])));
}

/// Check that a peak within a `realloc` that moves its block is a moment that every view can show, with both blocks, and that a
/// part of the recording can begin and end there.
#[test]
fn a_peak_within_a_realloc_is_a_moment() {
    let (mut made, process, thread, [hold, grow]) = Made::app_with(["main > hold", "main > grow"]);
    made.alloc(thread, 0x10_0000, 100_000, hold);
    made.alloc(thread, 0x20_0000, 100, hold);
    let outcome = ReallocOutcome::Block { address: 0x30_0000, size: 120_000, stack: grow };
    made.realloc(thread, 1, 0x10_0000, outcome);
    made.free(thread, 0x30_0000);
    made.free(thread, 0x20_0000);
    made.end(process, thread, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: 20_000_000, ..Summary::default() });
    let path = made.saved("a.memprof");
    let amount = |blocks, bytes| Amount { blocks, bytes };
    let both = amount(3, 220_100);
    let whole = ask(&path, &Query::default());
    assert_eq!((whole.peak.held, whole.total.peak), (both, both));
    let found = at(&path, "peak");
    let peaks = |profile: &Profile| {
        let mut rows: Vec<_> = profile.sites.iter().map(|site| (site.node.0, site.cost.peak)).collect();
        rows.retain(|(_, peak)| !peak.is_zero());
        rows.sort_by_key(|(node, _)| *node);
        rows
    };
    assert_eq!((found.peak.held, found.total.live(), peaks(&found)), (both, both, peaks(&whole)));
    assert_eq!(found.processes[process.index()].in_realloc, amount(1, 100_000));
    let memory = Analyzer::open(&path).unwrap().map_at_peak(&whole, 10).unwrap().unwrap();
    assert_eq!(memory.map.cells.iter().map(|cell| cell.held).sum::<u64>(), 220_100);
    // A time has no inside.
    assert_eq!(at(&path, &format!("{}ns", whole.peak.at.time)).total.live(), amount(2, 120_100));
    let (before, after) = (between(&path, "start", "peak"), between(&path, "peak", "end"));
    assert_eq!((before.total.allocated, before.total.freed, before.peak.held), (both, Amount::ZERO, both));
    assert_eq!((after.total.allocated, after.total.freed, after.peak.held), (Amount::ZERO, both, both));
    let within = between(&path, "peak", "peak");
    assert_eq!(
        (within.total.allocated, within.total.freed, within.peak.held),
        (Amount::ZERO, Amount::ZERO, both)
    );
}

/// Check that moments have names: the start, the end, the peak, shares of the time, and offsets from them.
#[test]
fn moments_have_names() {
    let path = busy().saved("a.memprof");
    let whole = ask(&path, &Query::default());
    assert_eq!(at(&path, "start").total, Cost::default());
    assert_eq!(Cost { peak: whole.total.peak, ..at(&path, "end").total }, whole.total);
    assert_eq!(at(&path, "peak").peak, whole.peak);
    assert_eq!(at(&path, "peak").total.peak, whole.peak.held);
    assert_eq!(numbers(&at(&path, "50%")), numbers(&at(&path, "100500us")));
    assert_eq!(numbers(&at(&path, "start+7ms")), numbers(&at(&path, "0.007")));
    assert_eq!(numbers(&at(&path, "end-101ms")), numbers(&at(&path, "100ms")));
    assert_eq!(at(&path, "peak-1h").total, Cost::default());
    let error = Analyzer::open(&path).unwrap().profile(&Query::of(Part::At("loaded".parse().unwrap())));
    let expected = "the capture has no mark `loaded`; it has none. A moment can also be a time (12.5s), a share (50%), \
                    start, end or peak";
    assert_eq!(error.unwrap_err().to_string(), expected);
}

/// Check that a time before or after a mark is a moment, and that a mark whose name looks like one is found by it.
#[test]
fn times_beside_marks_are_moments() {
    let mut made = busy();
    let thread = ThreadId(0);
    made.mark(thread, MarkKind::Instant, "ready");
    let ready = made.time;
    let names = ["ready-2ms", "ready+7ms", "c++"];
    names.iter().for_each(|name| made.mark(thread, MarkKind::Instant, name));
    let path = made.saved("a.memprof");
    let time = |when: &str| match at(&path, when).span {
        Span::At(at) => at.time,
        span => panic!("{span:?}"),
    };
    let cases = [
        ("ready-1ms", -1),
        ("ready+1ms", 1),
        ("ready + 1500us - 1ms", 0),
        ("ready-2ms", 1),
        ("mark:ready-2ms", 1),
        ("ready+7ms", 2),
        ("mark:ready+7ms", 2),
        ("ready+7ms+1ms", 3),
        ("c++", 3),
        ("c+++1ms", 4),
    ];
    for (when, milliseconds) in cases {
        // A part of a millisecond is cut off.
        assert_eq!((time(when) as i64 - ready as i64) / 1_000_000, milliseconds, "{when}");
    }
    let unknown = Analyzer::open(&path).unwrap().profile(&Query::of(Part::At("go+1ms".parse().unwrap())));
    let error = unknown.unwrap_err().to_string();
    assert!(error.contains("no mark `go+1ms`; it has ready, ready-2ms, ready+7ms, c++"), "{error}");
}

/// Check that reports and comparisons of what is after the end of a recording say so, and those of its end do not, also where the
/// end is given as it is shown.
#[test]
fn what_is_after_the_end_is_said() {
    let mut made = busy();
    made.tables.summary = Some(Summary { duration_ns: 201_300_000, ..Summary::default() });
    let path = made.saved("a.memprof");
    let report = |part: Part| {
        let mut analyzer = Analyzer::open(&path).unwrap();
        let profile = analyzer.profile(&Query::of(part)).unwrap();
        let loaded = analyzer.show(profile, Naming::Stored);
        shown::report(&loaded, &ReportOptions::default())
    };
    let when = |text: &str| text.parse().unwrap();
    let said = "warning: 1 min 00 s is after the end of the recording: this is its end, after 201 ms";
    for (part, expected) in [
        (Part::At(when("60s")), said),
        (
            Part::Range(when("0"), when("60s")),
            "warning: this range extends beyond the end of the recording, 201 ms",
        ),
        (
            Part::Range(when("50s"), when("60s")),
            "warning: this range begins after the end of the recording, 201 ms",
        ),
    ] {
        let text = report(part);
        assert!(text.contains(expected), "{text}");
    }
    let nothing = report(Part::At(when("start")));
    assert!(
        nothing.ends_with("Nothing to show: this part of the capture has no allocations.\n"),
        "{nothing}"
    );
    for part in
        [Part::Whole, Part::At(when("end")), Part::At(when("201.4ms")), Part::Range(when("0"), when("end"))]
    {
        let text = report(part);
        assert!(!text.contains("end of the recording"), "{text}");
    }
    let analyzer = Analyzer::open(&path).unwrap();
    let compared = compare_moments(
        analyzer,
        when("60s"),
        when("100ms"),
        Query::default(),
        &Lens::default(),
        Naming::Stored,
    )
    .unwrap();
    let text = shown::diff(&compared, &DiffOptions::default());
    assert!(text.contains(said.strip_prefix("warning: ").unwrap()), "{text}");
}

/// Check that the flows of ranges side by side add up to those of the whole, that a range of everything is the whole,
/// and that a range cannot end before it begins.
#[test]
fn ranges_add_up() {
    let path = busy().saved("a.memprof");
    let whole = ask(&path, &Query::default());
    assert_eq!(numbers(&between(&path, "start", "end")), numbers(&whole));
    let mut sum = Cost::default();
    for part in 0..10 {
        sum += between(&path, &format!("{}%", part * 10), &format!("{}%", part * 10 + 10)).total;
    }
    let flows = |cost: &Cost| [cost.allocated, cost.freed, cost.temporary];
    assert_eq!(flows(&sum), flows(&whole.total));
    assert!(whole.total.temporary.blocks > 0, "{:?}", whole.total);
    // Also where no event lies between them.
    for to in ["20.0 ms", "80.2 ms"] {
        let backwards = Query::of(Part::Range("80.7ms".parse().unwrap(), to.parse().unwrap()));
        let error = Analyzer::open(&path).unwrap().profile(&backwards).unwrap_err().to_string();
        assert!(error.contains("80.7 ms") && error.contains(to), "{error}");
    }
}

/// Check that the peak of a range lies in it, also where nothing exceeds what was held at its beginning, and that of a
/// moment is then.
#[test]
fn peaks_are_in_their_part() {
    let path = busy().saved("a.memprof");
    let mut at_the_beginning = 0;
    for begin in 0..200_u64 {
        let (from, to) = (begin * 1_000_000 + 400_000, begin * 1_000_000 + 2_700_000);
        let profile = between(&path, &format!("{from}ns"), &format!("{to}ns"));
        for peak in [profile.peak, profile.processes[0].peak] {
            assert!((from..=to).contains(&peak.at.time), "{peak:?} from {from} to {to}");
        }
        at_the_beginning += u64::from(profile.peak.at.time == from);
        assert_eq!(at(&path, &format!("{from}ns")).peak.at.time, from);
    }
    assert!(at_the_beginning > 0);
}

/// Check that the moments of a comparison may be given in any order, also in a sampled capture, whose errors are those
/// of what happened between them, and where nothing did.
#[test]
fn compared_moments_are_in_any_order() {
    let mut made = busy();
    made.tables.metadata.sample_interval = 64;
    let path = made.saved("a.memprof");
    let change = |from: &str, to: &str| {
        let analyzer = Analyzer::open(&path).unwrap();
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let lens = Lens::default();
        let diff = compare_moments(analyzer, from, to, Query::default(), &lens, Naming::Stored).unwrap().diff;
        (diff.delta().live().bytes, diff.spread().live().bytes_error())
    };
    for [from, to] in [["20ms", "120ms"], ["80.2ms", "80.7ms"]] {
        let ((there, error), (back, error_back)) = (change(from, to), change(to, from));
        assert_eq!((there, error), (-back, error_back), "{from} {to}");
        assert_eq!(error > 0, to == "120ms");
    }
}

/// Check that what a filter takes and what it leaves add up, whether stacks or single blocks are sorted out, at a
/// moment, in a range and in the whole.
#[test]
fn filters_divide_numbers() {
    let made = busy();
    let path = made.saved("a.memprof");
    let stack = |wanted: bool| Filter {
        stack: Some(Box::new(move |_: ProcessId, node: NodeId| (node.0 == 2) == wanted)),
        ..Filter::default()
    };
    let size = |sizes: &str| Filter { sizes: sizes.parse().ok(), ..Filter::default() };
    let thread = |thread: ThreadId| {
        let tid = made.tables.threads[thread.index()].tid;
        Filter { threads: vec![Selected::Id(tid)], ..Filter::default() }
    };
    let moment = || Part::At("120ms".parse().unwrap());
    let range = || Part::Range("50ms".parse().unwrap(), "150ms".parse().unwrap());
    for part in [|| Part::Whole, moment as fn() -> Part, range] {
        let all = ask(&path, &Query::of(part()));
        for filters in [
            [stack(true), stack(false)],
            [size("..40"), size("41..")],
            [thread(ThreadId(0)), thread(ThreadId(1))],
        ] {
            let mut sum = Cost::default();
            for filter in filters {
                let profile = ask(&path, &Query { part: part(), filter, ..Query::default() });
                assert_eq!(profile.peak.held, profile.total.peak);
                assert!(profile.total.allocated.blocks > 0);
                sum += profile.total;
            }
            assert_eq!(sum, all.total);
        }
    }
}

/// Check that a filter of stacks gives the same numbers together with one of blocks that lets all of them pass.
#[test]
fn both_ways_to_filter_agree() {
    let path = rich().saved("a.memprof");
    for part in ["start", "20ms", "peak", "end"] {
        let filter = |sizes: Option<&str>| Filter {
            processes: vec![Selected::Name(Pattern::glob("server"))],
            sizes: sizes.and_then(|sizes| sizes.parse().ok()),
            ..Filter::default()
        };
        let ask =
            |filter| ask(&path, &Query { part: Part::At(part.parse().unwrap()), filter, ..Query::default() });
        assert_eq!(numbers(&ask(filter(None))), numbers(&ask(filter(Some("0..")))), "{part}");
    }
}

/// Check that a pass over the events that nobody waits for any more ends with an error, and never with a part of the numbers.
#[test]
fn a_pass_that_is_stopped_has_no_answer() {
    let path = busy().saved("a.memprof");
    let ask = |is_stopped: bool| {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(is_stopped));
        Analyzer::open(&path).unwrap().until(stop).profile(&Query::default())
    };
    assert!(ask(true).is_err());
    assert!(ask(false).is_ok());
}

/// Check that a sample on a boundary is in the range before it alone, and one at the very beginning in the first.
#[test]
fn samples_on_a_boundary_count_once() {
    let mut made = busy();
    let stack = made.stack("main > a");
    let task = made.task(ProcessId(0), 5000, "app");
    made.time = 0;
    [0, 50_000_000, 60_000_000].iter().for_each(|time| made.sample(task, *time, stack));
    made.tables.summary.as_mut().unwrap().cpu.samples = 3;
    let path = made.saved("a.memprof");
    let samples = |from, to| between(&path, from, to).total.cpu.blocks;
    assert_eq!([samples("start", "50ms"), samples("50ms", "60ms"), samples("60ms", "end")], [2, 1, 0]);
    // A part without a sample is said to have none.
    let part = Part::Range("60ms".parse().unwrap(), "end".parse().unwrap());
    let seen = Analyzer::open(&path).unwrap().seen(&Query::of(part), &Lens::default(), Naming::Stored);
    let out = shown::written(|out| report::json::report(out, &seen.unwrap(), &ReportOptions::default()));
    assert!(out.contains("\"samples\": 0") || out.contains("\"samples\":0"), "{out}");
}

/// Check that the timeline ends with what processes that go on hold, as a moment does, and tells apart what ended ones left.
#[test]
fn timelines_end_with_what_is_held() {
    for (ended, held, said) in [
        (Ended::Running, 100, "100 B in 1 block held at the end;"),
        (Ended::Exited(0), 0, "0 B in 0 blocks held at the end, 100 B in 1 block left by ended processes;"),
    ] {
        let (mut made, process, thread) = Made::app();
        made.alloc(thread, 0x10, 100, NodeId::ROOT);
        made.end(process, thread, ended);
        let path = made.saved("a.memprof");
        assert_eq!(at(&path, "end").total.live().bytes, 100);
        let mut analyzer = Analyzer::open(&path).unwrap();
        let (timeline, profile) = analyzer.timeline(&Part::Whole, 100).unwrap();
        assert_eq!(timeline.buckets.last().unwrap().held.bytes, held);
        let loaded = analyzer.show(profile, Naming::Stored);
        let text = shown::written(|out| report::text::timeline(out, &loaded, &timeline, &Style::default()));
        assert!(text.contains(said), "{text}");
    }
}
