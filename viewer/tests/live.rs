//! A capture that is looked at while it grows.

use crate::shown::written;
use crate::support::Made;
use crate::support::golden::check_golden;
use analysis::Amount;
use capture::{Counter, CounterKind, Process, Reader, Writer};
use engine::Naming;
use engine::live::{By, Change, Live, Order, Reading};
use report::text::Style;
use serde_json::Value;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
const MILLION: u64 = 1_000_000;

/// A capture that is being written, and who looks at it.
struct Growing {
    made: Made,
    writer: Writer,
    live: Live,
    written: usize,
    _folder: tempfile::TempDir,
}

impl Growing {
    fn new(made: Made, pid: u32) -> Growing {
        let folder = tempfile::tempdir().unwrap();
        let file: &Path = &folder.path().join("growing.memprof");
        let mut writer = made.begin(file);
        writer.flush().unwrap();
        let live = Live::new(Reader::open(file).unwrap(), pid, Naming::Stored).unwrap();
        Growing { made, writer, live, written: 0, _folder: folder }
    }

    /// Writes so many more events, and looks at a time.
    fn look(&mut self, events: usize, time: u64) -> Reading {
        for event in &self.made.events[self.written..self.written + events] {
            self.writer.event(*event).unwrap();
        }
        self.written += events;
        self.writer.flush().unwrap();
        self.live.refresh().unwrap();
        self.live.look(time);
        self.live.reading((By::Stacks, Order::Held), 10, true)
    }
}

/// A process that had lived before it was recorded: it holds by one stack and churns by another; a child that it has forked
/// holds by the first, too; a third process has nothing to do with it.
fn busy() -> Made {
    let mut made = Made::new();
    let row = Process { name: "app".to_owned(), attached: true, ..Process::default() };
    let (process, thread) = made.process_row(row);
    let (hold, churn) = (made.stack("main > run > hold"), made.stack("main > run > churn"));
    made.alloc(thread, 0x1000, 3 * MILLION, hold);
    made.free(thread, 0x7777);
    for _ in 0..2 {
        made.alloc(thread, 0x2000, 50, churn);
        made.free(thread, 0x2000);
    }
    let (_, child) = made.fork(process);
    made.alloc(child, 0x3000, 2 * MILLION, hold);
    let (_, stranger) = made.process("stranger");
    made.alloc(stranger, 0x1000, 900, churn);
    made.free(thread, 0x1000);
    made.alloc(thread, 0x1000, MILLION, hold);
    made
}

/// Check that a reading has what is held, what changed since the last one and since the beginning, and what is done in a
/// second, of the process and its children.
#[test]
fn readings_have_changes_and_rates() {
    let mut growing = Growing::new(busy(), 1000);
    let first = growing.look(7, SECOND);
    assert_eq!((&*first.process, first.pid, first.unknown_frees), ("app", 1000, 1));
    assert_eq!(first.total.now.held, Amount { blocks: 1, bytes: 3_000_000 });
    assert_eq!(first.total.since, first.total.now);
    assert_eq!(first.rate(&first.total), Amount { blocks: 3, bytes: 3_000_100 });
    assert_eq!(first.total.since.temporary, Amount { blocks: 2, bytes: 100 });

    growing.live.reset();
    let second = growing.look(4, 3 * SECOND);
    assert_eq!(second.total.now.held, Amount { blocks: 2, bytes: 5_000_000 });
    assert_eq!(second.total.step.held, Amount { blocks: 1, bytes: 2_000_000 });
    assert_eq!(second.total.since.held, second.total.step.held);
    assert_eq!((second.step_ns, second.since_ns, second.time_ns), (2 * SECOND, 2 * SECOND, 3 * SECOND));
    assert_eq!(second.rate(&second.total), Amount { blocks: 1, bytes: 1_000_000 });
    // One row of both processes; what nobody holds and nobody allocates is no row.
    assert_eq!(second.rows.len(), 1);

    let third = growing.look(2, 4 * SECOND);
    assert_eq!(third.total.step.held, Amount { blocks: 0, bytes: -2_000_000 });
    assert_eq!(third.per_second(third.total.step.freed.blocks), 1);
    assert!(!third.is_over);
}

/// Check that each order puts another row first, and that what a limit leaves out is summed up.
#[test]
fn rows_come_in_the_order_that_is_wanted() {
    let mut growing = Growing::new(busy(), 1000);
    let first = growing.look(7, SECOND);
    let name = |reading: &Reading| {
        let line = report::text::stack_line(&reading.loaded, reading.rows[0].node, &Style::default(), 0);
        line.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(name(&first), "hold");
    for (order, expected) in
        [(Order::Held, "hold"), (Order::Growth, "hold"), (Order::Rate, "hold"), (Order::Calls, "churn")]
    {
        let reading = growing.live.reading((By::Stacks, order), 1, true);
        assert_eq!(name(&reading), expected, "{order:?}");
        assert_eq!(reading.hidden.0, 1);
        let mut sum = reading.rows[0].change;
        sum += reading.hidden.1;
        assert_eq!(sum, reading.total);
    }
}

/// Check that functions have what they allocate themselves and with all that they call, of the whole process whatever is
/// shown of them, sorted by either.
#[test]
fn functions_have_self_and_total() {
    let mut growing = Growing::new(busy(), 1000);
    growing.look(7, SECOND);
    growing.live.reset();
    growing.look(4, 3 * SECOND);
    let names = |reading: &Reading| {
        let name =
            |function: &engine::live::Function| reading.loaded.names.label(function.label).name.clone();
        reading.functions.iter().map(name).collect::<Vec<_>>()
    };
    let reading = growing.live.reading((By::Total, Order::Held), 10, true);
    // Of those that have the same the name decides; what nobody holds and nobody allocates is of no function.
    assert_eq!(names(&reading), ["hold", "main", "run"]);
    assert!(reading.rows.is_empty() && reading.hidden == (0, Change::default()));
    for function in &reading.functions {
        assert_eq!(function.total, reading.total);
    }
    assert_eq!(reading.functions[0].own, reading.total);
    assert_eq!(reading.functions[1].own, Change::default());
    growing.live.look(4 * SECOND);
    let reading = growing.live.reading((By::Own, Order::Held), 1, true);
    assert_eq!((names(&reading), reading.hidden.0), (vec!["hold".to_owned()], 2));
    assert_eq!(reading.functions[0].total.now.held, Amount { blocks: 2, bytes: 5_000_000 });
    assert_eq!(reading.functions[0].total.step.held, Amount::ZERO);
}

/// Check that chunks which were read are not needed again: the file behind them may be emptied.
#[test]
fn what_was_read_can_be_given_back() {
    let mut growing = Growing::new(busy(), 1000);
    growing.look(7, SECOND);
    let read = growing.live.refresh().unwrap();
    let file = growing._folder.path().join("growing.memprof");
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    let zeros = vec![0; usize::try_from(read).unwrap()];
    std::os::unix::fs::FileExt::write_all_at(&file, &zeros, 0).unwrap();
    let second = growing.look(6, 2 * SECOND);
    assert_eq!(second.total.now.held, Amount { blocks: 2, bytes: 3_000_000 });
}

fn views(reading: &Reading) -> [String; 3] {
    let style = |width| Style { color: false, width };
    let [wide, narrow] =
        [None, Some(80)].map(|width| written(|out| report::text::top(out, reading, &style(width))));
    [wide, narrow, written(|out| report::json::top(out, reading))]
}

/// Check what people and programs see of a reading, and that each field of the document is described.
#[test]
fn readings_look_as_expected() {
    let mut growing = Growing::new(busy(), 1000);
    growing.look(7, SECOND);
    for (kind, value) in [(CounterKind::Rss, 6 << 20), (CounterKind::Threads, 3)] {
        let process = Some(capture::ProcessId(0));
        growing.writer.counter(Counter { time: 0, process, kind, instance: 0, value }).unwrap();
    }
    let reading = growing.look(6, 4 * SECOND);
    let [wide, narrow, json] = views(&reading);
    assert_eq!(json.lines().count(), 1);
    let by_function = growing.live.reading((By::Own, Order::Calls), 1, true);
    let [wide_functions, narrow_functions, functions] = views(&by_function);
    check_golden("top.txt", &format!("{wide}{narrow}{wide_functions}{narrow_functions}"));
    let document: Value = serde_json::from_str(&json).unwrap();
    let functions: Value = serde_json::from_str(&functions).unwrap();
    let pretty = |document: &Value| serde_json::to_string_pretty(document).unwrap();
    check_golden("top.json", &format!("{}\n{}", pretty(&document), pretty(&functions)));
    let described = include_str!("../JSON.md");
    let about = described.split_once("## `top --json`").expect("there is a part about it").1;
    let objects = [
        &document,
        &document["total"],
        &document["rows"][0],
        &document["hidden"],
        &functions,
        &functions["functions"][0],
    ];
    for field in objects.into_iter().flat_map(|object| object.as_object().unwrap().keys()) {
        assert!(about.contains(&format!("`{field}`")), "{field}");
    }
}
