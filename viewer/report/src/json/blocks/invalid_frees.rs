//! `invalid-frees --json`: frees of addresses without a live block.

use super::start::{Start, ThreadFields, hex, recorded_stack, stack, thread};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::{Block, Cause, InvalidFreeRow, Return};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct InvalidFreesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    /// The number of those not listed.
    more: u64,
    frees: Vec<FreeFields<'a>>,
}

#[derive(Serialize)]
struct FreeFields<'a> {
    cause: &'static str,
    address: String,
    time_ns: u64,
    thread: Option<ThreadFields<'a>>,
    stack: Option<Stack<'a>>,
    block: Option<BlockFields<'a>>,
    before: Option<ReturnFields<'a>>,
}

/// The block that began at the address, or contains it.
#[derive(Serialize)]
struct BlockFields<'a> {
    address: String,
    size: u64,
    time_ns: u64,
    thread: Option<ThreadFields<'a>>,
    stack: Stack<'a>,
}

/// How that block had been freed or moved.
#[derive(Serialize)]
struct ReturnFields<'a> {
    time_ns: u64,
    thread: Option<ThreadFields<'a>>,
    stack: Option<Stack<'a>>,
    moved_to: Option<String>,
}

/// Writes `invalid-frees --json`; `more` frees were not examined.
///
/// # Errors
/// Those of the writer.
pub fn invalid_frees(
    out: &mut dyn Write,
    loaded: &Loaded,
    (rows, more): (&[InvalidFreeRow], u64),
) -> io::Result<()> {
    let frees = rows.iter().map(|InvalidFreeRow { at, free, cause }| {
        let (of, before) = match cause {
            Cause::Twice(block, returned) => (Some(block), Some(returned)),
            Cause::Inside(block) => (Some(block), None),
            Cause::Unknown => (None, None),
        };
        FreeFields {
            cause: cause.name(),
            address: hex(free.address),
            time_ns: at.time,
            thread: thread(loaded, free.thread),
            stack: recorded_stack(loaded, free.stack),
            block: of.map(|block| block_fields(loaded, block)),
            before: before.map(|returned| return_fields(loaded, returned)),
        }
    });
    let start = Start::new(loaded, "invalid-frees");
    write_document(out, &InvalidFreesDocument { start, more, frees: frees.collect() })
}

fn block_fields<'a>(loaded: &'a Loaded, block: &Block) -> BlockFields<'a> {
    BlockFields {
        address: hex(block.address),
        size: block.size,
        time_ns: block.at.time,
        thread: thread(loaded, block.thread),
        stack: stack(loaded, block.stack),
    }
}

fn return_fields<'a>(loaded: &'a Loaded, returned: &Return) -> ReturnFields<'a> {
    ReturnFields {
        time_ns: returned.at.time,
        thread: thread(loaded, returned.thread),
        stack: recorded_stack(loaded, returned.stack),
        moved_to: returned.moved_to.map(hex),
    }
}
