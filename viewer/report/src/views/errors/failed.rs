//! Calls that should have returned memory and returned none.
//!
//! ```text
//! operator new of 1.00 TiB failed after 27.9 ms in app (4082), thread 4082: out of memory (ENOMEM)
//!   the process held 3.91 KiB in 12 blocks
//!     make_table  table.cpp:6
//!     main  table.cpp:13
//! ```

use crate::table::{Column, Row, Table, Value, phrase};
use crate::views::thread_number;
use analysis::{Failure, Reason, call_of, process_name};
use engine::Loaded;

/// Most threads that a row names.
const THREADS: usize = 3;

/// The most recent failure first.
pub(super) fn table(loaded: &Loaded) -> Table {
    let columns = [
        "call",
        "error",
        "calls",
        "bytes",
        "smallest",
        "largest",
        "overflow",
        "alignment",
        "first_ns",
        "last_ns",
        "held_first",
        "held_last",
        "pid",
        "process",
        "threads",
        "stack",
    ];
    let rows = loaded.failures().into_iter().map(|row| self::row(loaded, row));
    Table::new("failed", columns.map(Column::field), "").spaced().rows(rows)
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

fn row(loaded: &Loaded, row: &Failure) -> Row {
    let process = loaded.tables.processes.get(row.process.index());
    let overflow = |(count, size): (u64, u64)| {
        Value::Record(vec![("count", Value::count(count)), ("size", Value::bytes(size))])
    };
    let cells = [
        call_of(&loaded.tables, row.node).into(),
        Value::known(row.reason.name()),
        Value::count(row.calls),
        Value::bytes(row.bytes),
        row.sizes.map_or(Value::Unknown, |(least, _)| Value::bytes(least)),
        row.sizes.map_or(Value::Unknown, |(_, most)| Value::bytes(most)),
        row.factors.map_or(Value::Unknown, overflow),
        if row.alignment == 0 { Value::Unknown } else { Value::bytes(row.alignment) },
        Value::Time(row.first.time),
        Value::Time(row.last.time),
        row.held_first.into(),
        row.held_last.into(),
        Value::Process(row.process),
        Value::known(process.map(process_name)),
        Value::List(
            row.threads
                .iter()
                .copied()
                .filter(|thread| thread.index() < loaded.tables.threads.len())
                .map(Value::Thread)
                .collect(),
        ),
        Value::Stack(row.node),
    ];
    let held = match row.calls {
        1 => phrase!["the process held ", row.held_first],
        _ => phrase![
            "the process held ",
            row.held_first,
            " at the first failure, ",
            row.held_last,
            " at the last"
        ],
    };
    Row::new(cells, what(loaded, row)).below([Row::new([], held), Row::new([], Value::Frames(row.node))])
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
