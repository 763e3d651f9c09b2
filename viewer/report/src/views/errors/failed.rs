//! Calls that should have returned memory and returned none.
//!
//! ```text
//! operator new of 1.00 TiB failed after 27.9 ms in app (4082), thread 4082: out of memory (ENOMEM)
//!   the process held 3.91 KiB in 12 blocks
//!     make_table  table.cpp:6
//!     main  table.cpp:13
//! ```

use crate::table::{Column, Row, Table, Value, columns, phrase};
use crate::views::thread_number;
use analysis::{Failure, Reason, call_of, process_name};
use capture::{ProcessId, ThreadId};
use engine::Loaded;

/// Most threads that a row names.
const THREADS: usize = 3;

/// The most recent failure first.
pub(super) fn table(loaded: &Loaded) -> Table {
    let is_known = |thread: &ThreadId| thread.index() < loaded.tables.threads.len();
    let overflow = |(count, size): (u64, u64)| {
        Value::Record(vec![("count", Value::count(count)), ("size", Value::bytes(size))])
    };
    let process = |id: ProcessId| loaded.tables.processes.get(id.index()).map(process_name);
    let threads = |row: &Failure| row.threads.iter().copied().filter(is_known).map(Value::Thread).collect();
    let (columns, cells) = columns![|row: &Failure|
        Column::field("call") => call_of(&loaded.tables, row.node),
        Column::field("error") => Value::known(row.reason.name()),
        Column::field("calls") => Value::count(row.calls),
        Column::field("bytes") => Value::bytes(row.bytes),
        Column::field("smallest") => Value::known(row.sizes.map(|(least, _)| Value::bytes(least))),
        Column::field("largest") => Value::known(row.sizes.map(|(_, most)| Value::bytes(most))),
        Column::field("overflow") => Value::known(row.factors.map(overflow)),
        Column::field("alignment") => match row.alignment {
            0 => Value::Unknown,
            alignment => Value::bytes(alignment),
        },
        Column::field("first_ns") => Value::Time(row.first.time),
        Column::field("last_ns") => Value::Time(row.last.time),
        Column::field("held_first") => row.held_first,
        Column::field("held_last") => row.held_last,
        Column::field("pid") => Value::Process(row.process),
        Column::field("process") => Value::known(process(row.process)),
        Column::field("threads") => Value::List(threads(row)),
        Column::field("stack") => Value::Stack(row.node),
    ];
    let rows = loaded.failures().into_iter().map(|row| {
        let frames = Row::new([], Value::Frames(row.node));
        Row::new(cells(row), what(loaded, row)).below([Row::new([], held(row)), frames])
    });
    Table::new("failed", columns, "").spaced().rows(rows)
}

/// The number of such calls and their sizes, for a summary; none if there were none.
pub(crate) fn failed_in_all(loaded: &Loaded) -> Option<Value> {
    let failures = &loaded.profile.failures;
    let (invalid, refused): (Vec<&Failure>, Vec<&Failure>) =
        failures.iter().partition(|one| one.reason == Reason::Alignment);
    let calls = |rows: &[&Failure]| rows.iter().fold(0_u64, |sum, one| sum.saturating_add(one.calls));
    let numbers = (calls(&refused), calls(&invalid));
    let largest = refused.iter().filter_map(|one| Some((one, one.sizes?.1)));
    // Sizes that are negative as signed numbers are usually mistakes, and so are products that overflow.
    let largest = largest.max_by_key(|(_, size)| (i64::try_from(*size).is_ok(), *size));
    let largest =
        largest.map_or(Value::Empty, |(one, size)| phrase![", the largest of ", asked_for(one, size)]);
    let refused = phrase![Value::counted(numbers.0, "allocation"), largest];
    let invalid = phrase![Value::counted(numbers.1, "call"), " with an invalid alignment"];
    match numbers {
        (0, 0) => None,
        (_, 0) => Some(refused),
        (0, _) => Some(invalid),
        _ => Some(phrase![refused, "; ", invalid]),
    }
}

/// What the list lacks, if it does.
pub(super) fn notes(loaded: &Loaded) -> [(bool, &'static str); 3] {
    [
        (
            !loaded.tables.metadata.tells_failed_calls(),
            "failed allocations are not recorded: an earlier version made the capture, or it was imported",
        ),
        (
            loaded.profile.sampling.is_some(),
            "the capture is sampled: of failed calls for less than 128 KiB, only some are recorded",
        ),
        (
            loaded.profile.snapshots.is_some(),
            "the capture is aggregated: times and held memory are those of snapshots; threads and individual sizes are not kept",
        ),
    ]
}

/// What the process held when calls failed.
fn held(row: &Failure) -> Value {
    match row.calls {
        1 => phrase!["the process held ", row.held_first],
        _ => phrase![
            "the process held ",
            row.held_first,
            " at the first failure, ",
            row.held_last,
            " at the last"
        ],
    }
}

/// Who asked for how much, and when.
fn what(loaded: &Loaded, row: &Failure) -> Value {
    let call = call_of(&loaded.tables, row.node);
    let calls = Value::counted(row.calls, "call");
    let what = match (row.calls, row.sizes) {
        (1, _) => phrase![call, " of ", asked_for(row, row.bytes)],
        (_, Some((least, most))) if least == most => {
            phrase![calls, " to ", call, " for ", asked_for(row, most)]
        }
        (_, Some((least, most))) => {
            phrase![calls, " to ", call, " for ", Value::bytes(least), " to ", asked_for(row, most)]
        }
        (_, None) => phrase![calls, " to ", call, " for ", Value::bytes(row.bytes), " in total"],
    };
    let when = match row.calls {
        1 => phrase![Value::Duration(row.first.time)],
        _ => phrase![Value::Duration(row.first.time), " to ", Value::Duration(row.last.time)],
    };
    let process = match loaded.tables.processes.get(row.process.index()) {
        Some(_) => phrase![" in ", Value::Process(row.process)],
        None => Value::Empty,
    };
    phrase![what, " failed after ", when, process, threads(loaded, row), reason(row)]
}

fn threads(loaded: &Loaded, row: &Failure) -> Value {
    let named = row.threads.iter().take(THREADS).map(|thread| phrase![", ", thread_number(loaded, *thread)]);
    let more = row.threads.len().saturating_sub(THREADS);
    let more = (more > 0).then(|| phrase![" and ", Value::counted(more as u64, "other")]);
    Value::Phrase(named.chain(more).collect())
}

fn reason(row: &Failure) -> Value {
    let what = match row.reason {
        Reason::Unknown => return Value::Empty,
        Reason::NoMemory => "out of memory".into(),
        Reason::Locked => "over the limit of locked memory".into(),
        Reason::Alignment => phrase!["invalid alignment ", Value::count(row.alignment)],
        Reason::Overflow => "size overflow".into(),
    };
    phrase![": ", what, " (", row.reason.name().unwrap_or_default(), ")"]
}

/// The size of a request: of a product that overflows, the last count and size.
pub(crate) fn asked_for(row: &Failure, size: u64) -> Value {
    match row.factors {
        Some((number, each)) if size == u64::MAX => {
            phrase![Value::count(number), " × ", Value::count(each), " B"]
        }
        _ => Value::bytes(size),
    }
}
