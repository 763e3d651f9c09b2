//! Frees of addresses without a live block, and what had become of the block.
//!
//! ```text
//! 0x55d0c3a012c0 freed twice, after 27.9 ms by app (4082), thread 4082
//!     close_conn  conn.c:6
//!     main  conn.c:13
//!   first freed after 27.8 ms by thread 4082
//!     close_conn  conn.c:6
//!     main  conn.c:11
//!   a block of 3.91 KiB, allocated after 27.7 ms by thread 4082
//!     make_buffer  conn.c:5
//!     main  conn.c:10
//! ```

use crate::table::{Column, Row, Table, Value, phrase};
use crate::views::thread_number;
use analysis::InvalidFree;
use analysis::lifetimes::{Block, Cause, InvalidFreeRow, Return};
use capture::NodeId;
use engine::Loaded;

/// The frees, oldest first; `more` were not examined.
pub(super) fn table(loaded: &Loaded, rows: &[InvalidFreeRow], more: u64) -> Table {
    let columns = ["cause", "address", "time_ns", "thread", "stack", "block", "before"].map(Column::field);
    let rows = rows.iter().map(|free| row(loaded, free));
    let table = Table::new("invalid_frees", columns, "").spaced().rows(rows);
    Table { noun: "more invalid free", more, ..table }
}

/// What is not checked, or not known, if anything.
pub(super) fn notes(loaded: &Loaded, rows: &[InvalidFreeRow]) -> [(bool, &'static str); 4] {
    let lacks_stacks = rows.iter().any(|row| row.free.stack == NodeId::ROOT) && !loaded.has_free_stacks();
    [
        (
            loaded.tables.metadata.aggregate().is_some(),
            "the capture is aggregated: frees of individual blocks are not kept, and invalid ones not listed",
        ),
        (
            loaded.profile.sampling.is_some(),
            "the capture is sampled: frees of blocks that are not samples are not recorded",
        ),
        (
            loaded.tables.processes.iter().any(|process| process.attached),
            "in processes older than the recording, unknown blocks are taken for blocks allocated before it",
        ),
        (lacks_stacks, "where they were freed is not recorded: run --free-stacks does that"),
    ]
}

fn row(loaded: &Loaded, InvalidFreeRow { at, free, cause }: &InvalidFreeRow) -> Row {
    let InvalidFree { process, thread, address, stack } = *free;
    let (block, before) = match cause {
        Cause::Twice(block, returned) => (Some(block), Some(returned)),
        Cause::Inside(block) => (Some(block), None),
        Cause::Unknown => (None, None),
    };
    let cells = [
        cause.name().into(),
        Value::Address(address),
        Value::Time(at.time),
        Value::Thread(thread),
        Value::Stack(stack).recorded(),
        block.map_or(Value::Unknown, record_of_block),
        before.map_or(Value::Unknown, record_of_return),
    ];
    let what = match cause {
        Cause::Twice(_, Return { moved_to: None, .. }) => " freed twice",
        Cause::Twice(_, Return { moved_to: Some(_), .. }) => " freed after realloc moved it",
        Cause::Inside(_) => " freed, but points inside a block",
        Cause::Unknown => " freed, but never allocated",
    };
    let by = match loaded.tables.processes.get(process.index()) {
        Some(_) => phrase![Value::Process(process), ", ", thread_number(loaded, thread)],
        None => thread_number(loaded, thread),
    };
    let name = phrase![Value::Address(address), what, ", after ", Value::Duration(at.time), " by ", by];
    let mut below: Vec<Value> = frames(stack).into_iter().collect();
    match cause {
        Cause::Twice(_, returned) => {
            let how =
                returned.moved_to.map_or("first freed".into(), |to| phrase!["moved to ", Value::Address(to)]);
            let (when, by) = (Value::Duration(returned.at.time), thread_number(loaded, returned.thread));
            below.push(phrase![how, " after ", when, " by ", by]);
            below.extend(frames(returned.stack));
        }
        Cause::Inside(block) => {
            let offset = Value::counted(address.saturating_sub(block.address), "byte");
            below.push(phrase![offset, " past ", Value::Address(block.address), ", the start of the block"]);
        }
        Cause::Unknown => below
            .push("no recorded call of this process returned it, and it was not inside a live block".into()),
    }
    if let Some(block) = block {
        let (when, by) = (Value::Duration(block.at.time), thread_number(loaded, block.thread));
        below.push(phrase!["a block of ", Value::bytes(block.size), ", allocated after ", when, " by ", by]);
        below.push(Value::Frames(block.stack));
    }
    Row::new(cells, name).below(below.into_iter().map(|line| Row::new([], line)))
}

/// The lines of a stack, if one was recorded.
fn frames(stack: NodeId) -> Option<Value> {
    (stack != NodeId::ROOT).then_some(Value::Frames(stack))
}

fn record_of_block(block: &Block) -> Value {
    Value::Record(vec![
        ("address", Value::Address(block.address)),
        ("size", Value::bytes(block.size)),
        ("time_ns", Value::Time(block.at.time)),
        ("thread", Value::Thread(block.thread)),
        ("stack", Value::Stack(block.stack)),
    ])
}

fn record_of_return(returned: &Return) -> Value {
    Value::Record(vec![
        ("time_ns", Value::Time(returned.at.time)),
        ("thread", Value::Thread(returned.thread)),
        ("stack", Value::Stack(returned.stack).recorded()),
        ("moved_to", returned.moved_to.map_or(Value::Unknown, Value::Address)),
    ])
}
