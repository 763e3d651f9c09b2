//! Every export is well formed, and its sums are those of the profile.

mod perfetto;
pub(crate) mod protobuf;
mod sums;
mod syscap;

use self::sums::{massif_held, sums};
use crate::support::Made;
use crate::support::fixtures::{reported, rich, sampled, small, worked};
use crate::support::golden::check_golden;
use analysis::Metric;
use analysis::query::{Part, Query};
use capture::{
    Action, Counter, CounterKind, Ended, Event, Lost, MarkKind, NodeId, Process, ProcessId, Sample, Summary,
    TaskId,
};
use engine::lens::Lens;
use engine::{Analyzer, Error, Events, Grouping, Loaded, Naming};
use export::{ExportOptions, Format};
use proptest::prelude::*;
use serde_json::Value;

/// A capture, counted, its events and its samples.
struct Case {
    loaded: Loaded,
    events: Vec<Event>,
    samples: Vec<Sample>,
}

impl Case {
    fn new(made: Made, file: &str) -> Case {
        Case { events: made.events.clone(), samples: made.samples.clone(), loaded: made.loaded(file) }
    }
}

impl Events for Case {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        self.events.each(visit)
    }

    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error> {
        Ok(Box::new(self.samples.iter().copied()))
    }
}

fn exported(case: &Case, format: Format, metric: Metric) -> Vec<u8> {
    let mut out = Vec::new();
    let options = ExportOptions { metric, ..ExportOptions::new(format) };
    export::export(&mut out, &case.loaded, case, &options).unwrap();
    out
}

/// The document as text, for formats that are none what a reader finds in them.
fn text(format: Format, document: Vec<u8>) -> String {
    match format {
        Format::Pprof => protobuf::text(&document),
        Format::Syscap => syscap::text(&document),
        Format::Perfetto => perfetto::Trace::decode(&document).text(),
        _ => String::from_utf8(document).expect("text is UTF-8"),
    }
}

/// Checks the sums of all metrics that a format holds against the profile.
fn check_sums(case: &Case, format: Format) {
    let metrics: &[Metric] = if format.holds_one_metric() { &Metric::ALL } else { &[Metric::Peak] };
    for &metric in metrics {
        let document = exported(case, format, metric);
        for (held, sum) in sums(format, metric, &document) {
            let expected = held.rank(held.of(&case.loaded.profile.total));
            assert_eq!(sum, expected, "{} by {}, exported by {}", format.name(), held.name(), metric.name());
        }
    }
}

fn fixtures() -> [(&'static str, Made); 5] {
    [
        ("empty", Made::new()),
        ("small", small()),
        ("sampled", sampled()),
        ("rich", rich()),
        ("worked", worked()),
    ]
}

/// Check that the sums of every format are those of the profile, in captures that hold all there is or nothing, and that
/// each format has something to sum.
#[test]
fn sums_are_those_of_the_profile() {
    for (name, made) in fixtures() {
        let case = Case::new(made, "app.memprof");
        for format in Format::ALL {
            check_sums(&case, format);
            let metrics = sums(format, Metric::Peak, &exported(&case, format, Metric::Peak));
            assert!(!metrics.is_empty(), "{name}: {} has sums", format.name());
        }
    }
}

/// Check that formats by stack have what is seen through a lens, each stack once, and that its sums are what is left.
#[test]
fn what_is_seen_is_exported() {
    let made = rich();
    let path = made.saved("app.memprof");
    let pattern = |name: &str| vec![name.parse().unwrap()];
    let lenses = [
        Lens { filter: Some("fill* or parse or thread:5001".parse().unwrap()), ..Lens::default() },
        Lens { focus: pattern("main"), fold: pattern("grow"), ..Lens::default() },
        Lens { callers: pattern("parse"), transparent: pattern("_start"), ..Lens::default() },
        Lens { group: Some(Grouping::Module), ..Lens::default() },
        Lens { group: Some(Grouping::Thread), ..Lens::default() },
    ];
    for lens in lenses {
        let loaded = Analyzer::open(&path).unwrap().seen(&Query::default(), &lens, Naming::Stored).unwrap();
        assert!(loaded.profile.total.peak.bytes > 0, "{lens:?}");
        let mut rows: Vec<_> = loaded.profile.sites.iter().map(|site| (site.process, site.node)).collect();
        rows.sort_unstable();
        assert!(rows.windows(2).all(|pair| pair[0] != pair[1]), "{lens:?}: {rows:?}");
        let case = Case { loaded, events: Vec::new(), samples: Vec::new() };
        for format in Format::ALL.into_iter().filter(|format| !format.holds_events()) {
            check_sums(&case, format);
        }
    }
}

/// Check that formats with room for a text say which part of the capture their numbers are about, and why these are estimates or
/// too low.
#[test]
fn numbers_come_with_their_caveats() {
    let mut made = sampled();
    let lost = Lost { reason: "the ring was full".to_owned(), events: 7, advice: String::new() };
    made.tables.summary.as_mut().unwrap().lost.push(lost);
    let path = made.saved("app.memprof");
    let query = Query { part: Part::At("5ms".parse().unwrap()), ..Query::default() };
    let lens = Lens { filter: Some("main and not quit".parse().unwrap()), ..Lens::default() };
    let seen = |query, lens| {
        let loaded = Analyzer::open(&path).unwrap().seen(query, lens, Naming::Stored).unwrap();
        Case { loaded, events: made.events.clone(), samples: Vec::new() }
    };
    let (part, whole) = (seen(&query, &lens), seen(&Query::default(), &Lens::default()));
    let numbers = ["sampled, one per 64.0 KiB: numbers are estimates", "7 events lost (the ring was full)"];
    for format in [Format::Pprof, Format::Callgrind, Format::Dot, Format::Flamegraph, Format::Speedscope] {
        let text = text(format, exported(&part, format, Metric::Live));
        for what in ["app.memprof at 5.00 ms", "only: main and not quit"].iter().chain(&numbers) {
            assert!(text.contains(what), "{} says {what}: {text}", format.name());
        }
    }
    for format in [Format::Massif, Format::Firefox] {
        let text = text(format, exported(&whole, format, Metric::Peak));
        assert!(numbers.iter().all(|what| text.contains(what)), "{}: {text}", format.name());
    }
}

/// Check that formats which hold every event hold those of a heap of the program's own, where that was counted.
#[test]
fn heaps_of_programs_are_exported() {
    let made = reported();
    let (events, samples) = (made.events.clone(), Vec::new());
    let loaded = made.loaded_of_pool("arena", "app.memprof");
    let allocated = loaded.profile.total.allocated;
    assert_eq!((allocated.blocks, allocated.bytes), (4, 1230));
    let case = Case { loaded, events, samples };
    for format in Format::ALL.into_iter().filter(|format| format.holds_events()) {
        check_sums(&case, format);
    }
}

/// Check that what massif's file ends with is what was not freed: by the only process, whether it has ended or goes on.
#[test]
fn massif_ends_with_what_was_left() {
    let (mut running, _, thread, [stack]) = Made::app_with(["main > grow"]);
    running.alloc(thread, 0x1000, 100, stack);
    running.alloc(thread, 0x2000, 30, stack);
    running.free(thread, 0x1000);
    running.tables.summary = Some(Summary { duration_ns: 20_000_000, ..Summary::default() });
    for (name, made) in [("ended", small()), ("sampled", sampled()), ("running", running)] {
        let case = Case::new(made, "app.memprof");
        let text = text(Format::Massif, exported(&case, Format::Massif, Metric::Peak));
        let live = Metric::Live.rank(Metric::Live.of(&case.loaded.profile.total));
        assert_eq!(massif_held(&text).last(), Some(&live), "{name}");
    }
}

/// Check that of processes which end one after the other massif's file ends with what the last one left, and that what the others
/// left is gone when they are.
#[test]
fn massif_shows_ended_processes_no_longer() {
    let mut made = Made::new();
    let (shell, first) = made.process("sh");
    let stack = made.stack("main > grow");
    made.alloc(first, 0x1000, 7, stack);
    let (app, second) = made.process("app");
    made.alloc(second, 0x1000, 100, stack);
    made.end(app, second, Ended::Exited(0));
    made.time += 10_000_000;
    made.end(shell, first, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: made.time + 3_000_000, ..Summary::default() });
    let document = exported(&Case::new(made, "app.memprof"), Format::Massif, Metric::Peak);
    let held = massif_held(&text(Format::Massif, document));
    // Nothing, the shell's block, that of the child beside at the peak, and from its end on the shell's alone.
    assert_eq!(held, [&[0, 0, 7, 7, 107, 107][..], &[7; 15]].concat());
}

/// Check that heaptrack's file has what was resident of all processes together, at its time, and nothing of those that have ended.
#[test]
fn heaptrack_has_resident_memory() {
    let (mut made, app, one) = Made::app();
    let (other, _) = made.process("other");
    let stack = made.stack("main > grow");
    let look = |made: &mut Made, process, bytes| {
        made.time += 1_000_000;
        made.counter(Some(process), CounterKind::Rss, bytes);
    };
    look(&mut made, app, 300 << 12);
    made.alloc(one, 0x1000, 100, stack);
    look(&mut made, other, 1);
    made.end(app, one, Ended::Exited(0));
    look(&mut made, other, 3 << 12);
    made.tables.summary = Some(Summary { duration_ns: made.time, ..Summary::default() });
    let document = exported(&Case::new(made, "app.memprof"), Format::Heaptrack, Metric::Peak);
    let text = text(Format::Heaptrack, document);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(['c', 'R', '+'])).collect();
    assert_eq!(lines, ["c 3", "R 12c", "c 4", "+ 0", "c 5", "R 12d", "c 6", "R 1", "c 7", "R 3"]);
    assert!(text.contains("\nI 1000 0\n"), "{text}");
}

/// Check each format against the file that it was when somebody looked at it.
#[test]
fn documents_are_as_expected() {
    for (name, made) in fixtures() {
        let case = Case::new(made, "app.memprof");
        for format in Format::ALL {
            let document = exported(&case, format, Metric::Peak);
            let text = text(format, document);
            // Who wrote it is not what is looked at.
            let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
            check_golden(&format!("{name}/export.{}", format.name()), &text);
        }
    }
}

/// Check that the name of a function is found in every format, whatever is in it, and that it breaks none.
#[test]
fn strange_names_survive() {
    let long = format!("std::map<{}>::operator[]", "std::pair<int, char>, ".repeat(500));
    let names = [
        "two\nlines",
        "semi;colon",
        "quo\"te'd",
        "back\\slash",
        "<tag>&amp;",
        "(1) numbered",
        "größe",
        &long,
    ];
    for name in names {
        let (mut made, _, thread) = Made::app();
        let stack = made.stack(&format!("main > {name}"));
        made.alloc(thread, 0x1000, 100, stack);
        let case = Case::new(made, name);
        for format in Format::ALL {
            check_sums(&case, format);
            // The part of the name that no format has to write otherwise.
            let plain =
                name.split(|c: char| "\n;\"'\\<>&".contains(c)).max_by_key(|part| part.len()).unwrap();
            let document = exported(&case, format, Metric::Bytes);
            let text = text(format, document);
            assert!(text.contains(plain), "{}: {name}", format.name());
        }
    }
}

/// Check that pprof and callgrind, whose readers add up what stands below a function, have exactly the stacks' frames.
#[test]
fn inlined_functions_are_lines_of_one_location() {
    let (mut made, _, thread, [start]) = Made::app_with(["_start"]);
    let frame = made.frame(Some("/bin/app"), &["push", "grow", "parse"]);
    let stack = made.node(start, frame);
    made.alloc(thread, 0x1000, 100, stack);
    let profile = protobuf::Profile::decode(&exported(&Case::new(made, "a"), Format::Pprof, Metric::Peak));
    let [sample] = &profile.samples[..] else { panic!("one stack: {:?}", profile.samples) };
    let names: Vec<Vec<String>> = sample.locations.iter().map(|id| profile.functions_at(*id)).collect();
    assert_eq!(names, [vec!["push", "grow", "parse"], vec!["_start"]]);
}

/// Check that the mapping of the main program comes first, whoever has the first stack: readers go by that. Of a program that
/// executed another one it is the other one, and of a child it is its parent's.
#[test]
fn the_main_program_is_mapped_first() {
    let mut made = Made::new();
    for (image, file) in [(0, "/bin/env"), (0, "/bin/child"), (1, "/bin/app")] {
        let parent = (file != "/bin/env").then_some(ProcessId(0));
        let executable = file.to_owned();
        let (_, thread) = made.process_row(Process { parent, image, executable, ..Process::default() });
        let mut stack = NodeId::ROOT;
        for module in [file, "/lib/libc.so.6"] {
            let frame = made.frame(Some(module), &["f"]);
            stack = made.node(stack, frame);
        }
        made.alloc(thread, 0x1000, 8, stack);
    }
    let profile = protobuf::Profile::decode(&exported(&Case::new(made, "a"), Format::Pprof, Metric::Peak));
    assert_eq!(profile.files, ["/bin/app", "/lib/libc.so.6", "/bin/env", "/bin/child"]);
}

/// Check that of more blocks than the Firefox Profiler can show the sums are left, all allocations of a process before all frees,
/// and that no process begins earlier for it.
#[test]
fn many_blocks_are_summed_up_for_firefox() {
    for sample_interval in [0, 1000] {
        let (mut made, _, thread, [often, once]) = Made::app_with(["main > often", "main > once"]);
        made.tables.metadata.sample_interval = sample_interval;
        for _ in 0..530_000 {
            made.alloc(thread, 0x1000, 100, often);
            made.free(thread, 0x1000);
        }
        made.alloc(thread, 0x2000, 7, once);
        let (_, late) = made.process("late");
        made.event(late, Action::Resume);
        made.alloc(late, 0x1000, 1, once);
        let case = Case::new(made, "app.memprof");
        let document = exported(&case, Format::Firefox, Metric::Peak);
        assert!(document.len() < 100_000, "{} bytes", document.len());
        check_sums(&case, Format::Firefox);
        let document: Value = serde_json::from_slice(&document).unwrap();
        let began = |thread: usize| document["threads"][thread]["registerTime"].as_f64().unwrap();
        assert_eq!((began(0), began(1)), (1.0, 1_060_003.0));
        assert_eq!(document["threads"][0]["nativeAllocations"]["length"], 3);
    }
}

/// Check that samples of many blocks are shown one by one, each at its time, as long as they are few themselves.
#[test]
fn few_samples_of_many_blocks_are_shown_by_firefox() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main > grow"]);
    made.tables.metadata.sample_interval = 1 << 20;
    (0..100).for_each(|block| made.alloc(thread, 0x1000 * (block + 1), 16, stack));
    let case = Case::new(made, "app.memprof");
    assert!(case.loaded.profile.total.allocated.blocks > 1_000_000);
    let document: Value = serde_json::from_slice(&exported(&case, Format::Firefox, Metric::Peak)).unwrap();
    let times = document["threads"][0]["nativeAllocations"]["time"].as_array().unwrap();
    assert_eq!((times.len(), times[99].as_f64()), (100, Some(101.0)));
}

/// Check that times in the Firefox Profiler's table do not go back where those of events do, whose order is the truth.
#[test]
fn times_do_not_go_back_for_firefox() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main > grow"]);
    made.alloc(thread, 0x1000, 100, stack);
    made.free(thread, 0x1000);
    made.events[2].time -= 1_500_000;
    check_sums(&Case::new(made, "app.memprof"), Format::Firefox);
}

/// Check that of more samples than the Firefox Profiler can show the sums are left, by thread and stack.
#[test]
fn many_samples_are_summed_up_for_firefox() {
    let (mut made, app, _) = Made::app();
    let tasks = [made.task(app, 1000, "app"), made.task(app, 1001, "helper")];
    let stacks = [made.stack("main > often"), made.stack("main > twice")];
    for number in 0..600_000_u64 {
        made.time += 1_000_000;
        made.sample(tasks[usize::from(number % 3 == 0)], 0, stacks[usize::from(number % 5 == 0)]);
    }
    made.tables.summary = Some(Summary { duration_ns: made.time + 1_000_000, ..Summary::default() });
    let case = Case::new(made, "app.memprof");
    let document = exported(&case, Format::Firefox, Metric::Peak);
    assert!(document.len() < 1_000_000, "{} bytes", document.len());
    check_sums(&case, Format::Firefox);
    let document: Value = serde_json::from_slice(&document).unwrap();
    for (thread, expected) in [(0, 400_000), (1, 200_000)] {
        let samples = &document["threads"][thread]["samples"];
        // Two stacks in each of a thousand slices, a beginning and an end.
        assert_eq!(samples["length"], 2002);
        let worked = samples["threadCPUDelta"].as_array().unwrap().iter();
        let worked: u64 = worked.map(|time| time.as_u64().unwrap()).sum();
        assert!((expected * 999..=expected * 1000).contains(&worked), "{worked} us");
    }
}

/// A capture with these functions on its stacks: the outermost of each block, the next one, and the size.
fn capture_of(blocks: Vec<(String, String, u64, bool)>) -> Case {
    let (mut made, _, thread) = Made::app();
    for (number, (outer, inner, size, is_freed)) in blocks.into_iter().enumerate() {
        let (outer, inner) = (made.frame(Some("/bin/app"), &[&outer]), made.frame(None, &[&inner, &outer]));
        let outer = made.node(NodeId::ROOT, outer);
        let stack = made.node(outer, inner);
        let address = 0x1000 * (number as u64 + 1);
        made.alloc(thread, address, size, stack);
        if is_freed {
            made.free(thread, address);
        }
    }
    Case::new(made, "app.memprof")
}

/// A capture with these samples (task, time, stack, nanoseconds of work) and readings of counters (kind, time, value) beside an
/// allocation and a mark.
fn capture_beside(samples: Vec<(u32, u64, bool, u64)>, readings: Vec<(CounterKind, u64, u64)>) -> Case {
    let (mut made, app, thread) = Made::app();
    let tasks = [made.task(app, 1000, "app"), made.task(app, 1001, "")];
    let stacks = [NodeId::ROOT, made.stack("main > work")];
    made.alloc(thread, 0x1000, 100, stacks[1]);
    made.mark(thread, MarkKind::Instant, "middle");
    made.free(thread, 0x1000);
    made.samples.extend(samples.into_iter().map(|(task, time, stack, weight)| Sample {
        time,
        // The last of three is nobody's.
        task: tasks.get(task as usize).copied().unwrap_or(TaskId(task)),
        cpu: task,
        stack: stacks[usize::from(stack)],
        weight,
    }));
    made.counters.extend(readings.into_iter().map(|(kind, time, value)| {
        let process = (kind != CounterKind::CpuBusy).then_some(app);
        Counter { time, process, kind, instance: 0, value }
    }));
    Case::new(made, "app.memprof")
}

/// Times within a recording, and such as only a hostile file has.
fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..10_000_000_u64, 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Check that whatever stands beside events, in whatever order, formats with samples have all of them, and their frames and
    /// columns are in order.
    #[test]
    fn anything_beside_events_can_be_read_back(
        samples in prop::collection::vec((0..3_u32, any_time(), any::<bool>(), any::<u64>()), 0..40),
        readings in prop::collection::vec((prop::sample::select(CounterKind::ALL), any_time(), any::<u64>()), 0..40),
    ) {
        let case = capture_beside(samples, readings);
        for format in [Format::Firefox, Format::Heaptrack, Format::Syscap] {
            check_sums(&case, format);
        }
        text(Format::Syscap, exported(&case, Format::Syscap, Metric::Peak));
    }

    /// Check that with any names and sizes every format can be read back, and its sums are right.
    #[test]
    fn any_names_can_be_read_back(
        blocks in prop::collection::vec((".{1,9}", any::<String>(), prop_oneof![Just(0), 2..1_u64 << 40], any::<bool>()), 0..12),
    ) {
        let case = capture_of(blocks);
        for format in Format::ALL {
            check_sums(&case, format);
        }
    }
}
