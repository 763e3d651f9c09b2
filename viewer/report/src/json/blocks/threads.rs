//! `threads --json`: which threads allocate and which free.

use super::start::{AmountFields, Start, ThreadFields, recorded_stack, stack, thread};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::Amount;
use analysis::lifetimes::ThreadTable;
use capture::ThreadId;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct ThreadsDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    threads: Vec<ThreadRowFields<'a>>,
    pairs: Vec<PairFields<'a>>,
    crossing: Vec<CrossFields<'a>>,
}

#[derive(Serialize)]
struct ThreadRowFields<'a> {
    thread: Option<ThreadFields<'a>>,
    allocated: AmountFields,
    temporary: AmountFields,
    freed: AmountFields,
    freed_of_others: AmountFields,
    left: AmountFields,
}

#[derive(Serialize)]
struct PairFields<'a> {
    from: Option<ThreadFields<'a>>,
    to: Option<ThreadFields<'a>>,
    #[serde(flatten)]
    amount: AmountFields,
}

#[derive(Serialize)]
struct CrossFields<'a> {
    #[serde(flatten)]
    pair: PairFields<'a>,
    allocated_by: Stack<'a>,
    freed_by: Option<Stack<'a>>,
}

/// Writes `threads --json`.
///
/// # Errors
/// Those of the writer.
pub fn threads(out: &mut dyn Write, loaded: &Loaded, table: &ThreadTable) -> io::Result<()> {
    let pair = |from, to: Option<ThreadId>, amount: Amount| PairFields {
        from: thread(loaded, from),
        to: to.and_then(|to| thread(loaded, to)),
        amount: amount.into(),
    };
    let threads = table.threads.iter().map(|row| ThreadRowFields {
        thread: thread(loaded, row.thread),
        allocated: row.allocated.into(),
        temporary: row.temporary.into(),
        freed: row.freed.into(),
        freed_of_others: row.foreign.into(),
        left: row.left.into(),
    });
    let crossing = table.crossing.iter().map(|row| CrossFields {
        pair: pair(row.from, Some(row.to), row.amount),
        allocated_by: stack(loaded, row.allocated_by),
        freed_by: recorded_stack(loaded, row.freed_by),
    });
    let document = ThreadsDocument {
        start: Start::new(loaded, "threads"),
        threads: threads.collect(),
        pairs: table.pairs.iter().map(|row| pair(row.from, row.to, row.amount)).collect(),
        crossing: crossing.collect(),
    };
    write_document(out, &document)
}
