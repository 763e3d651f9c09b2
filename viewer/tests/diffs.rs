//! What changed between moments and between captures.

use crate::fields::assert_described;
use crate::shown;
use crate::support::Made;
use crate::support::fixtures::sampled;
use crate::support::golden::check_golden;
use analysis::query::Query;
use analysis::{Cost, Metric, Spelling};
use capture::{Action, Ended, Lost, Module, ModuleId, NodeId, Process, Sampling, Summary};
use engine::check::{Growth, Outcome};
use engine::lens::Lens;
use engine::{Analyzer, Compared, Grouping, Naming, compare_captures, compare_moments};
use proptest::prelude::*;
use report::DiffOptions;
use report::text::Style;
use serde_json::Value;
use std::path::Path;

fn moments(path: &Path, from: &str, to: &str) -> Compared {
    moments_seen(path, from, to, &Lens::default())
}

fn moments_seen(path: &Path, from: &str, to: &str, lens: &Lens) -> Compared {
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    compare_moments(Analyzer::open(path).unwrap(), from, to, Query::default(), lens, Naming::Stored).unwrap()
}

fn captures(old: &Path, new: &Path, spelling: Spelling) -> Compared {
    captures_seen(old, new, &Lens::default(), spelling)
}

fn captures_seen(old: &Path, new: &Path, lens: &Lens, spelling: Spelling) -> Compared {
    let open = |path| Analyzer::open(path).unwrap();
    compare_captures(open(old), open(new), &Query::default(), lens, spelling, Naming::Stored).unwrap()
}

fn document(compared: &Compared, options: &DiffOptions) -> Value {
    shown::parsed(|out| report::json::diff(out, compared, options))
}

fn live() -> DiffOptions {
    DiffOptions { metric: Metric::Live, ..DiffOptions::default() }
}

/// `function`, `delta_bytes`, `delta_blocks`, `before_bytes`, `after_bytes`, `allocated_bytes`, `freed_bytes` of each row.
fn rows(compared: &Compared, options: &DiffOptions) -> Vec<(String, [i64; 6])> {
    let row = |row: &Value| {
        let name = row["stack"][0]["function"].as_str().unwrap_or("?").to_owned();
        let number = |field: &str| row[field].as_i64().unwrap();
        let fields =
            ["delta_bytes", "delta_blocks", "before_bytes", "after_bytes", "allocated_bytes", "freed_bytes"];
        (name, fields.map(number))
    };
    document(compared, options)["rows"].as_array().unwrap().iter().map(row).collect()
}

/// `old` has 1 MiB in 4 blocks, `steady` 100 bytes, `busy` as much as before in other blocks. Between 10 ms and 20 ms
/// `leaky` takes 1 MiB in 2 blocks and `old` frees all it has.
fn leaky() -> Made {
    let (mut made, _, thread, [old, steady, busy, leaky]) =
        Made::app_with(["main > old", "main > steady", "main > work > busy", "main > work > leaky"]);
    for block in 0..4 {
        made.alloc(thread, 0x10_0000 * (block + 1), 256 << 10, old);
    }
    made.alloc(thread, 0x10, 100, steady);
    made.alloc(thread, 0x20, 50, busy);
    made.time = 10_000_000;
    for block in 0..4 {
        made.free(thread, 0x10_0000 * (block + 1));
    }
    made.alloc(thread, 0x20_0000, 512 << 10, leaky);
    made.free(thread, 0x20);
    made.alloc(thread, 0x20, 50, busy);
    made.alloc(thread, 0x40_0000, 512 << 10, leaky);
    made
}

/// Check a comparison worked out by hand: who leaked and who freed in between, stack by stack, and a sum of nothing.
#[test]
fn what_leaked_and_what_went_is_told_by_stack() {
    let path = leaky().saved("leaky.memprof");
    let compared = moments(&path, "10ms", "20ms");
    const MIB: i64 = 1 << 20;
    let expected =
        vec![("old".to_owned(), [-MIB, -4, MIB, 0, 0, MIB]), ("leaky".to_owned(), [MIB, 2, 0, MIB, MIB, 0])];
    assert_eq!(rows(&compared, &live()), expected);
    let total = &document(&compared, &live())["total"];
    assert_eq!((total["delta_bytes"].as_i64(), total["delta_blocks"].as_i64()), (Some(0), Some(-2)));
    let busy = DiffOptions { metric: Metric::Bytes, ..live() };
    assert!(rows(&compared, &busy).contains(&("busy".to_owned(), [50, 1, 50, 100, 50, 50])));
    assert_eq!(rows(&moments(&path, "10ms", "10ms"), &live()), []);
    assert_eq!(rows(&moments(&path, "start", "peak"), &live()).len(), 3);
}

/// Check that numbers of each metric have its units over and beside them: samples stand for time, and not for bytes.
#[test]
fn changes_have_the_units_of_their_metric() {
    let worked = |name: &str, samples: u64| {
        let (mut made, process, thread) = Made::app();
        let (task, stack) = (made.task(process, 1000, "app"), made.stack("main > work"));
        for number in 1..=samples {
            made.alloc(thread, 0x1000 * number, 1 << 20, stack);
            made.sample(task, number, stack);
        }
        made.end(process, thread, Ended::Exited(0));
        made.tables.summary = Some(Summary::default());
        made.saved(name)
    };
    let (old, new) = (worked("old.memprof", 2), worked("new.memprof", 5));
    let compared = captures(&old, &new, Spelling::Exact);
    for (metric, tree, header, row, headline) in [
        (Metric::Cpu, false, "time", ["+3", "2", "5", "+3.00 ms"].as_slice(), "+3.00 ms in +3 CPU samples"),
        (Metric::Cpu, true, "time", &["+3", "+3.00 ms", "3"], "2.00 ms before, 5.00 ms after"),
        (Metric::Allocations, false, "bytes", &["+3", "2", "5", "+3.00 MiB"], "+3.00 MiB in +3 allocations"),
        (Metric::Allocations, true, "bytes", &["+3", "+3.00 MiB", "3"], "2.00 MiB before, 5.00 MiB after"),
        (Metric::Bytes, false, "calls", &["+3.00 MiB", "2.00 MiB", "5.00 MiB", "+3"], "in +3 allocations"),
        (Metric::Peak, true, "blocks", &["+3.00 MiB", "+3", "3.00 MiB"], "+3.00 MiB in +3 blocks held"),
    ] {
        let options = DiffOptions { metric, tree, ..DiffOptions::default() };
        let text = shown::diff(&compared, &options);
        let words = |line: &str| {
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let heads = text.lines().map(words).find(|words| words.first().is_some_and(|word| word == "delta"));
        assert!(heads.is_some_and(|heads| heads.iter().any(|head| head == header)), "{metric:?}: {text}");
        let found =
            text.lines().map(words).find(|words| words.last().is_some_and(|word| word.contains("work")));
        assert_eq!(found.unwrap()[..row.len()], *row, "{metric:?}: {text}");
        assert!(text.contains(headline), "{metric:?}: {text}");
        assert_eq!(metric == Metric::Cpu, !text.contains("iB"), "{text}");
    }
}

/// Check that both sides are seen through the same lens, that both say what is left out of them, and that this and what is shown add
/// up to all.
#[test]
fn both_sides_are_seen_through_one_lens() {
    let path = leaky().saved("leaky.memprof");
    const MIB: i64 = 1 << 20;
    let filtered = Lens { filter: Some("work or old".parse().unwrap()), ..Lens::default() };
    let focused = Lens { focus: vec!["work".parse().unwrap()], ..Lens::default() };
    let grouped = Lens { group: Some(Grouping::Module), ..Lens::default() };
    let owned = Lens { group: Some(Grouping::Executable), ..Lens::default() };
    let shown = |function: &str, row| (function.to_owned(), row);
    let (old, leaky) = ([-MIB, -4, MIB, 0, 0, MIB], [MIB, 2, 0, MIB, MIB, 0]);
    for (lens, expected, unseen) in [
        (&filtered, vec![shown("old", old), shown("leaky", leaky)], [100, 100]),
        (&focused, vec![shown("leaky", leaky)], [MIB + 100, 100]),
        (&grouped, vec![shown("app", [0, -2, MIB + 150, MIB + 150, MIB + 50, MIB + 50])], [0, 0]),
        (&owned, vec![shown("app", [0, -2, MIB + 150, MIB + 150, MIB + 50, MIB + 50])], [0, 0]),
    ] {
        let compared = moments_seen(&path, "10ms", "20ms", lens);
        assert_eq!(rows(&compared, &live()), expected, "{lens:?}");
        let document = document(&compared, &live());
        for (side, unseen) in ["before", "after"].into_iter().zip(unseen) {
            let side_unseen = &document[side]["unseen"];
            assert_eq!(side_unseen["live_bytes"].as_i64(), Some(unseen), "{lens:?}: {side_unseen}");
            let seen = document["total"][format!("{side}_bytes")].as_i64().unwrap();
            assert_eq!(seen + unseen, MIB + 150, "{lens:?}");
        }
    }
    let compared = moments_seen(&path, "10ms", "20ms", &filtered);
    let text = shown::diff(&compared, &live());
    assert!(text.contains("  only: work or old; not shown: 100 B before, 100 B after\n"), "{text}");
}

/// Check that a lens sees the stacks and threads of two captures alike, and that the same captures do not differ through any.
#[test]
fn two_captures_are_seen_through_one_lens() {
    let made = |others: usize, bytes: u64| {
        let mut made = Made::new();
        (0..others).for_each(|_| {
            made.process("other");
        });
        let (process, main) = made.process("app");
        let worker = made.thread(process);
        made.tables.threads[worker.index()].name = "worker".to_owned();
        let (load, grow) = (made.stack("main > load"), made.stack("main > load > grow"));
        made.alloc(main, 0x1000, 7, load);
        made.alloc(worker, 0x2000, bytes, grow);
        made
    };
    let old = made(0, 100).saved("old.memprof");
    let new = made(3, 150).saved("new.memprof");
    let worker = Lens { filter: Some("thread:worker".parse().unwrap()), ..Lens::default() };
    let callers = Lens { callers: vec!["load".parse().unwrap()], ..Lens::default() };
    let module = Lens { group: Some(Grouping::Module), ..Lens::default() };
    for (lens, expected) in [
        (&worker, ("grow".to_owned(), [50, 0, 100, 150, 50, 0])),
        (&callers, ("load".to_owned(), [50, 0, 107, 157, 50, 0])),
        (&module, ("app".to_owned(), [50, 0, 107, 157, 50, 0])),
    ] {
        let compared = captures_seen(&old, &new, lens, Spelling::Exact);
        assert_eq!(rows(&compared, &live()), [expected], "{lens:?}");
        assert_eq!(rows(&captures_seen(&new, &new, lens, Spelling::Exact), &live()), [], "{lens:?}");
    }
}

/// Check that a program is found again under another name where it is plain which one it was, with its own functions.
#[test]
fn programs_may_have_other_names() {
    let made = |names: &str, file_name: &str| {
        let mut made = Made::new();
        for (index, name) in names.split(' ').enumerate() {
            let executable = format!("/bin/{name}");
            let row = Process { name: name.to_owned(), executable: executable.clone(), ..Process::default() };
            let (_, thread) = made.process_row(row);
            let frame = made.frame(Some(&executable), &["main"]);
            let stack = made.node(NodeId::ROOT, frame);
            made.alloc(thread, 0x1000 * (index as u64 + 1), 100, stack);
        }
        made.saved(file_name)
    };
    for (old, new, changes) in [
        ("app-1", "app-2", 0),
        ("sh app-1", "sh app-2", 0),
        ("sh app-1 app-1", "sh app-2 app-2", 0),
        ("app-1 tool-1", "app-2 tool-2", 0),
        ("app tool", "tool app", 0),
        // Which is which is not plain.
        ("sh app-1 tool-1", "sh app-2 tool-2", 4),
        ("sh app", "sh", 1),
        ("app", "tool app", 1),
    ] {
        let compared = captures(&made(old, "old.memprof"), &made(new, "new.memprof"), Spelling::Exact);
        assert_eq!(rows(&compared, &live()).len(), changes, "{old}, {new}");
    }
}

/// Samples of which some events were lost, against a recording of everything in which they were not.
fn estimates() -> Compared {
    let mut old = sampled();
    let advice = "use --on-full block".to_owned();
    let lost = vec![Lost { reason: "ring_full".to_owned(), events: 12, advice }];
    old.tables.summary = Some(Summary { lost, ..old.tables.summary.unwrap_or_default() });
    let (mut new, process, thread, stacks) = Made::app_with(["main > a > b", "main > a > c", "main > a > d"]);
    for (address, (stack, size)) in (1_u64..).zip(stacks.into_iter().zip([40 << 10, 21 << 20, 500])) {
        new.alloc(thread, 0x100_0000 * address, size, stack);
    }
    new.end(process, thread, Ended::Exited(0));
    let (old, new) = (old.saved("sampled.memprof"), new.saved("exact.memprof"));
    captures(&old, &new, Spelling::Exact)
}

/// Check that losses are told of whichever capture has them, each under its name.
#[test]
fn losses_of_either_side_are_told() {
    let lossy = |name: &str, events: u64| {
        let mut made = leaky();
        let lost = Lost { reason: "ring_full".to_owned(), events, ..Lost::default() };
        made.tables.summary = Some(Summary { lost: vec![lost], ..Summary::default() });
        made.saved(name)
    };
    let whole = leaky().saved("whole.memprof");
    let (one, other) = (lossy("one.memprof", 3), lossy("other.memprof", 4));
    for (old, new, expected) in
        [(&whole, &whole, [0, 0]), (&one, &whole, [3, 0]), (&whole, &one, [0, 3]), (&one, &other, [3, 4])]
    {
        let compared = captures(old, new, Spelling::Exact);
        let text = shown::diff(&compared, &live());
        for (file, lost) in [old, new].into_iter().zip(expected).filter(|(_, lost)| *lost > 0) {
            let warning = format!("warning: {}: {lost} events lost (ring_full)", file.display());
            assert!(text.contains(&warning), "{warning}: {text}");
        }
        assert_eq!(text.matches("warning").count(), expected.iter().filter(|lost| **lost > 0).count());
        let document = document(&compared, &live());
        assert_eq!([&document["before"], &document["after"]].map(|side| &side["lost_events"]), expected);
    }
}

/// Check the text and the JSON of comparisons, as tables and as trees.
#[test]
fn diffs_are_as_expected() {
    let path = leaky().saved("leaky.memprof");
    let compared = |mut compared: Compared| {
        for side in [&mut compared.before, &mut compared.after] {
            side.source.file = side.source.file.rsplit('/').next().unwrap().to_owned();
        }
        compared
    };
    let style = Style::default();
    for (name, compared) in [
        ("moments", compared(moments(&path, "10ms", "20ms"))),
        ("builds", compared(builds(Spelling::Exact))),
        ("estimates", compared(estimates())),
    ] {
        for tree in [false, true] {
            let options = DiffOptions { tree, ..live() };
            let shape = if tree { "tree" } else { "stacks" };
            check_golden(
                &format!("diff/{name}-{shape}.txt"),
                &shown::written(|out| report::text::diff(out, &compared, &options, &style)),
            );
            check_golden(
                &format!("diff/{name}-{shape}.json"),
                &shown::written(|out| report::json::diff(out, &compared, &options)),
            );
        }
    }
}

/// Check that stacks which are written the same are one row of the text, before and after included where one of them did not
/// change, and stay rows of their own in JSON.
#[test]
fn stacks_that_are_written_the_same_are_one_row() {
    let (mut made, _, thread, [start]) = Made::app_with(["_start"]);
    let [steady, small, large, shrinking] = [(); 4].map(|()| {
        let frame = made.frame(Some("/bin/app"), &["main"]);
        made.node(start, frame)
    });
    made.alloc(thread, 0x1000, 1000, steady);
    made.alloc(thread, 0x2000, 30, shrinking);
    made.time = 10_000_000;
    made.alloc(thread, 0x3000, 100, small);
    made.alloc(thread, 0x4000, 400, large);
    made.free(thread, 0x2000);
    let compared = moments(&made.saved("alike.memprof"), "9ms", "end");
    let text = shown::diff(&compared, &live());
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let table: Vec<String> =
        text.lines().skip_while(|line| !line.contains("delta")).skip(1).map(words).collect();
    assert_eq!(table, ["+470 B 1.01 KiB 1.46 KiB +1 grown main (m.c:14) < _start"], "{text}");
    assert!(text.contains("+500 B in stacks that grew, -30 B in stacks that shrank"), "{text}");
    assert_eq!(rows(&compared, &live()).len(), 3);
}

/// Check that the document of the formats names every field of a comparison and of a timeline.
#[test]
fn every_field_is_documented() {
    let path = leaky().saved("leaky.memprof");
    let compared = estimates();
    let mut documents: Vec<Value> =
        [false, true].map(|tree| document(&compared, &DiffOptions { tree, ..live() })).into();
    let mut analyzer = Analyzer::open(&path).unwrap();
    let (timeline, profile) = analyzer.timeline(&analysis::query::Part::Whole, 5).unwrap();
    let loaded = analyzer.show(profile, Naming::Stored);
    documents.push(shown::document_json(&loaded, &report::views::timeline(&loaded, &timeline)));
    documents.iter().for_each(|document| assert_described("diff", document));
}

/// A build of a program: names of three functions that allocate 1,000, 200 and 30 bytes, and how far their lines moved.
fn build(functions: [&str; 3], lines: u32, path: &str) -> Made {
    let mut made = Made::new();
    // Other strings come first, so that no id is what it is in another build.
    for line in 0..lines {
        made.string(&format!("padding {line}"));
    }
    let (process, thread) = made.process("app");
    for (index, function) in functions.iter().enumerate() {
        let stack = made.stack(&format!("main > {function}"));
        made.alloc(thread, 0x1000 * (index as u64 + 1), [1000, 200, 30][index], stack);
    }
    for module in &mut made.tables.modules {
        *module = Module { path: path.to_owned(), build_id: lines.to_le_bytes().to_vec(), ..module.clone() };
    }
    for (index, symbol) in made.tables.symbols.iter_mut().enumerate().filter(|(index, _)| *index != 1) {
        let names = symbol.iter_mut().flat_map(|symbol| &mut symbol.names);
        names.for_each(|name| name.line = name.line.map(|line| line + lines * u32::from(index > 0)));
    }
    made.end(process, thread, capture::Ended::Exited(0));
    made
}

/// The first function is where it was, the second has moved, has a clone's suffix and grows; the third is replaced.
fn builds(spelling: Spelling) -> Compared {
    let old = build(["same", "moved", "map<int>"], 0, "/build/1/app");
    let mut new = build(["same", "moved.constprop.0", "map<long>"], 7, "/build/2/app");
    let (end, grown) = (new.events.pop().unwrap(), new.stack("main > moved.constprop.0"));
    new.alloc(capture::ThreadId(0), 0x8000, 5000, grown);
    new.events.push(end);
    let [old, new] = [(old, "old.memprof"), (new, "new.memprof")].map(|(made, name)| made.saved(name));
    captures(&old, &new, spelling)
}

/// Check that a capture without names says that this is why nothing of it is matched, and that one with names does not.
#[test]
fn captures_without_names_say_so() {
    let named = build(["same", "moved", "other"], 0, "/build/1/app");
    let mut nameless = build(["same", "moved", "other"], 0, "/build/1/app");
    for frame in 0..nameless.tables.frames.len() {
        if nameless.tables.symbols.get(frame).is_some_and(Option::is_some) {
            nameless.reason(capture::FrameId(frame as u32), "Binary file is missing");
        }
    }
    let [named, nameless] =
        [(named, "named.memprof"), (nameless, "nameless.memprof")].map(|(made, name)| made.saved(name));
    let told = |old: &Path, new: &Path| {
        let options = DiffOptions { metric: Metric::Bytes, ..DiffOptions::default() };
        let compared = captures(old, new, Spelling::default());
        let text = shown::diff(&compared, &options);
        text.lines()
            .filter(|line| line.contains("is in functions without names"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let warnings = told(&named, &nameless);
    assert!(warnings.len() == 1 && warnings[0].contains("/nameless.memprof: 100 % is"), "{warnings:?}");
    assert_eq!(told(&named, &named).len() + told(&nameless, &nameless).len(), 0);
}

/// Check that stacks of two builds are matched by functions and lines, then by functions alone, whatever compilers
/// add to names and wherever the program lies, and that the rest is new or gone.
#[test]
fn builds_are_matched_by_function() {
    let compared = builds(Spelling::Exact);
    let expected = vec![
        ("moved".to_owned(), [5000, 1, 200, 5200, 5000, 0]),
        ("map<long>".to_owned(), [30, 1, 0, 30, 30, 0]),
        ("map<int>".to_owned(), [-30, -1, 30, 0, -30, 0]),
    ];
    assert_eq!(rows(&compared, &live()), expected);
    let matched = document(&compared, &live())["matched"].clone();
    let number = |field: &str| matched[field].as_i64().unwrap();
    assert_eq!((number("same_before_bytes"), number("same_after_bytes")), (1000, 1000));
    assert_eq!((number("alike_before_bytes"), number("alike_after_bytes")), (200, 5200));
    assert_eq!((number("alone_before_bytes"), number("alone_after_bytes")), (30, 30));
    let without = builds(Spelling::WithoutTemplates);
    assert_eq!(rows(&without, &live()).len(), 1);
}

/// Check that functions without names are matched by where they begin in the same build, and by their file in different ones.
#[test]
fn nameless_functions_are_matched_within_one_build() {
    let made = |build_id: &str, starts: [u64; 2], name: &str| {
        let (mut made, process, thread, [main]) = Made::app_with(["main"]);
        for (at, start) in starts.into_iter().enumerate() {
            let frame = made.frame(Some("/bin/app"), &[]);
            made.start(frame, start);
            let stack = made.node(main, frame);
            made.alloc(thread, 0x1000 * (at as u64 + 1), [100, 30][at], stack);
        }
        made.tables.modules.iter_mut().for_each(|module| module.build_id = build_id.as_bytes().to_vec());
        made.end(process, thread, capture::Ended::Exited(0));
        made.saved(name)
    };
    let old = made("one", [0x100, 0x200], "old.memprof");
    let swapped = captures(&old, &made("one", [0x200, 0x100], "new.memprof"), Spelling::Exact);
    let expected =
        vec![("?".to_owned(), [70, 0, 30, 100, 70, 0]), ("?".to_owned(), [-70, 0, 100, 30, -70, 0])];
    assert_eq!(rows(&swapped, &live()), expected);
    let rebuilt = captures(&old, &made("two", [0x300, 0x400], "other.memprof"), Spelling::Exact);
    assert_eq!(rows(&rebuilt, &live()), []);
}

/// Check that two recordings of which nothing changed but addresses, ids and places of files are equal.
#[test]
fn equal_programs_do_not_differ() {
    let functions = ["a", "b", "c"];
    let old = build(functions, 0, "/build/1/app").saved("1.memprof");
    let mut moved = build(functions, 0, "/build/2/app");
    for frame in &mut moved.tables.frames {
        if let capture::Frame::Code { address, module, .. } = frame {
            (*address, *module) = (*address + 0x5000, module.map(|ModuleId(module)| ModuleId(module)));
        }
    }
    let new = moved.saved("2.memprof");
    for metric in Metric::ALL {
        assert_eq!(rows(&captures(&old, &new, Spelling::Exact), &DiffOptions { metric, ..live() }), []);
    }
}

/// Check that blocks which became uncertain are told beside the change, of which they need not be a part, and that a pause is
/// no gap.
#[test]
fn what_became_uncertain_is_told_with_its_reason() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main"]);
    made.alloc(thread, 0x10, 100, stack);
    made.alloc(thread, 0x20, 10, stack);
    made.time = 10_000_000;
    made.event(thread, Action::Pause);
    made.event(thread, Action::Resume);
    made.time = 20_000_000;
    made.free(thread, 0x20);
    let path = made.saved("paused.memprof");
    for (from, to, expected) in [
        (
            "start",
            "15ms",
            "warning: +110 B in +2 blocks uncertain: live across a pause, so the free may have been lost",
        ),
        (
            "5ms",
            "end",
            "warning: +100 B in +1 block uncertain: live across a pause, so the free may have been lost",
        ),
        (
            "15ms",
            "end",
            "warning: -10 B in -1 block uncertain: live across a pause, so the free may have been lost",
        ),
    ] {
        let text = shown::diff(&moments(&path, from, to), &live());
        assert!(text.contains(expected), "{from} to {to}: {text}");
    }
}

/// Check that growth is what call stacks have gained, whatever others have lost, and is not told where errors of samples, lost
/// events or blocks of an unknown fate may be what it is made of.
#[test]
fn growth_is_judged_by_call_stack() {
    let leaky = leaky().saved("leaky.memprof");
    let (mut made, _, thread, stacks) = Made::app_with(["main > a", "main > b"]);
    made.tables.metadata.sample_interval = 64 << 10;
    made.alloc(thread, 0x100_0000, 20 << 20, stacks[0]);
    // One sample, which stands for 64 KiB or for nothing.
    made.alloc(thread, 0x10, 100, stacks[1]);
    let sampled = made.saved("sampled.memprof");
    made.tables.metadata.sample_interval = 0;
    let lost = vec![Lost { events: 1, ..Lost::default() }];
    made.tables.summary = Some(Summary { lost, ..Summary::default() });
    let lossy = made.saved("lossy.memprof");
    let judged = |compared: Compared, metric: Metric, limit: i64| {
        let growth = Growth::of(&compared, metric, limit);
        (growth.grown, growth.sum, growth.outcome())
    };
    const MIB: i64 = 1 << 20;
    for (limit, expected) in [(MIB, Outcome::Kept), (MIB - 1, Outcome::Broken)] {
        assert_eq!(judged(moments(&leaky, "10ms", "20ms"), Metric::Live, limit), (MIB, 0, expected));
    }
    let live = |path: &Path, limit: i64| judged(moments(path, "start", "end"), Metric::Live, limit).2;
    assert_eq!(
        [30 * MIB, 20 * MIB, 19 * MIB].map(|limit| live(&sampled, limit)),
        [Outcome::Kept, Outcome::Untold, Outcome::Broken]
    );
    assert_eq!([30 * MIB, 20 * MIB].map(|limit| live(&lossy, limit)), [Outcome::Untold, Outcome::Broken]);
    let (mut made, _, thread, [stack]) = Made::app_with(["main"]);
    made.alloc(thread, 0x10, 100, stack);
    made.event(thread, Action::Pause);
    made.event(thread, Action::Resume);
    let paused = made.saved("paused.memprof");
    let leaked = |limit| judged(moments(&paused, "start", "end"), Metric::Leaked, limit);
    assert_eq!([leaked(99), leaked(100)], [(0, 0, Outcome::Untold), (0, 0, Outcome::Kept)]);
    let (mut made, _, thread, [stack]) = Made::app_with(["main"]);
    // Its free is not recorded.
    made.alloc(thread, 0x10, 100, stack);
    made.alloc(thread, 0x10, 100, stack);
    let contradictory = made.saved("contradictory.memprof");
    let judged = |metric| judged(moments(&contradictory, "start", "end"), metric, 0);
    assert_eq!(
        [judged(Metric::Live), judged(Metric::Bytes)].map(|(_, _, outcome)| outcome),
        [Outcome::Untold, Outcome::Broken]
    );
}

/// Check that the error of a change between moments of a sampled recording is that of the blocks that differ, whichever moment is
/// given first.
#[test]
fn blocks_that_live_at_both_moments_add_no_error() {
    let (mut made, process, thread, [a]) = Made::app_with(["main > a"]);
    made.tables.metadata.sample_interval = 64 << 10;
    let alloc = |made: &mut Made, block: u64| made.alloc(thread, 0x1000 * (block + 1), 100, a);
    (0..50).for_each(|block| alloc(&mut made, block));
    made.time = 1_000_000_000;
    (0..10).for_each(|block| made.free(thread, 0x1000 * (block + 1)));
    (100..107).for_each(|block| alloc(&mut made, block));
    for block in 200..220 {
        alloc(&mut made, block);
        made.free(thread, 0x1000 * (block + 1));
    }
    made.time = 2_000_000_000;
    (300..305).for_each(|block| alloc(&mut made, block));
    made.end(process, thread, Ended::Exited(0));
    let path = made.saved("sampled.memprof");
    let variance = Sampling::new(64 << 10).unwrap().weight(100).variance;
    for (metric, differing) in [
        (Metric::Live, 17),
        (Metric::Leaked, 17),
        (Metric::Peak, 17),
        (Metric::Bytes, 27),
        (Metric::Allocations, 27),
    ] {
        let error = (f64::from(differing) * variance * 1e4).sqrt();
        for (from, to) in [("900ms", "1900ms"), ("1900ms", "900ms")] {
            let options = DiffOptions { metric, ..DiffOptions::default() };
            let document = document(&moments(&path, from, to), &options);
            for change in [&document["total"], &document["rows"][0]] {
                let found = change["delta_bytes_stderr"].as_i64().unwrap();
                assert!((found as f64 - error).abs() <= 1.0, "{metric:?} {from}: {found}, not {error}");
            }
        }
    }
    let steady = document(&moments(&path, "2100ms", "end"), &live());
    assert_eq!(
        (&steady["total"]["delta_bytes_stderr"], &steady["rows"]),
        (&Value::from(0), &Value::from([(); 0]))
    );
    // At the end processes hold nothing any more.
    let gone = DiffOptions { metric: Metric::Peak, ..DiffOptions::default() };
    let gone = document(&moments(&path, "1900ms", "end"), &gone);
    let found = gone["total"]["delta_bytes_stderr"].as_i64().unwrap();
    assert!((found as f64 - (47.0 * variance * 1e4).sqrt()).abs() <= 1.0, "{found}");
}

/// Check that nodes of a tree of changes are their own part, what is hidden and their children, net and gross.
#[test]
fn trees_of_changes_add_up() {
    let path = leaky().saved("leaky.memprof");
    for compared in [moments(&path, "10ms", "20ms"), builds(Spelling::Exact)] {
        let nodes = document(&compared, &DiffOptions { tree: true, ..live() })["nodes"].clone();
        let nodes = nodes.as_array().unwrap();
        let number = |node: &Value, field: &str| node[field].as_i64().unwrap();
        let mut rest: Vec<i64> =
            nodes.iter().map(|node| number(node, "delta_bytes") - number(node, "self_delta_bytes")).collect();
        for node in nodes {
            assert!(number(node, "gross_bytes") >= number(node, "delta_bytes").abs());
            if let Some(parent) = node["parent"].as_u64() {
                rest[usize::try_from(parent).unwrap()] -= number(node, "delta_bytes");
            }
        }
        assert!(nodes.len() > 3 && rest.iter().all(|&rest| rest == 0), "{rest:?}");
        let delta = Metric::Live.of(&compared.diff.delta());
        assert_eq!(number(&nodes[0], "delta_bytes"), delta.bytes);
    }
}

/// A program of random allocations and frees.
fn random(steps: &[(u8, u8, u16)]) -> Made {
    let (mut made, _, thread, stacks) =
        Made::app_with(["main > a", "main > b > c", "main > b", "main > a > d"]);
    for &(place, stack, size) in steps {
        let address = 0x1000 + u64::from(place % 16) * 64;
        match stack {
            0..=3 => made.alloc(thread, address, u64::from(size), stacks[usize::from(stack)]),
            _ => made.free(thread, address),
        }
    }
    made
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8, u16)>> {
    prop::collection::vec((any::<u8>(), 0..7_u8, any::<u16>()), 0..60)
}

/// The rows with all signs turned, and before and after exchanged.
fn turned(rows: Vec<(String, [i64; 6])>) -> Vec<(String, [i64; 6])> {
    let mut rows: Vec<_> = rows
        .into_iter()
        .map(|(name, [bytes, blocks, before, after, allocated, freed])| {
            (name, [-bytes, -blocks, after, before, -allocated, -freed])
        })
        .collect();
    rows.sort();
    rows
}

fn sorted(mut rows: Vec<(String, [i64; 6])>) -> Vec<(String, [i64; 6])> {
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Check that the difference from B to A is that from A to B with its signs turned, that each row is a
    /// subtraction, and that rows add up to the whole: between moments and between captures.
    #[test]
    fn differences_are_subtractions(one in steps(), two in steps(), from in 0..100u32, to in 0..100u32) {
        let (old, new) = (random(&one).saved("1"), random(&two).saved("2"));
        let percent = |part: u32| format!("{}us", part * 620);
        let pairs = [
            [moments(&old, &percent(from), &percent(to)), moments(&old, &percent(to), &percent(from))],
            [captures(&old, &new, Spelling::Exact), captures(&new, &old, Spelling::Exact)],
        ];
        for [forth, back] in &pairs {
            for metric in Metric::ALL {
                let options = DiffOptions { metric, ..live() };
                let (forth_rows, back_rows) = (rows(forth, &options), rows(back, &options));
                for (name, [delta, _, before, after, ..]) in &forth_rows {
                    prop_assert_eq!(after - before, *delta, "{}", name);
                }
                let sum: i64 = forth_rows.iter().map(|(_, numbers)| numbers[0]).sum();
                prop_assert_eq!(sum, metric.of(&forth.diff.delta()).bytes);
                prop_assert_eq!(turned(forth_rows), sorted(back_rows));
            }
            let mut sum = forth.diff.delta();
            sum += back.diff.delta();
            prop_assert_eq!(sum, Cost::default());
        }
        // Live blocks change by what was allocated less what was freed and what ended without a free.
        let Cost { allocated, freed, .. } = pairs[0][0].diff.delta();
        let live = Metric::Live.of(&pairs[0][0].diff.delta());
        let ended = (allocated - freed).blocks - live.blocks;
        prop_assert!(if from <= to { ended >= 0 } else { ended <= 0 }, "{}", ended);
    }
}
