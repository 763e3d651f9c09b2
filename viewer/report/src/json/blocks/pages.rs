//! `pages --json`: whose blocks lie on which pages.

use super::start::{AmountFields, Start, hex, stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::{FULLNESS, Heap, HighestBlock, PAGE, PageTable, StackPages};
use capture::ProcessId;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

/// Most others listed for each stack, and the number of stacks with such a list: a page costs the square of its
/// stacks.
const SHARERS: usize = 5;
const WITH_SHARERS: usize = 1000;

#[derive(Serialize)]
struct PagesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    page_size: u64,
    page_bytes: i64,
    empty_bytes: i64,
    by_fullness: Vec<FullnessFields>,
    held: AmountFields,
    freed_under_bytes: i64,
    freed_above_bytes: i64,
    heaps: Vec<HeapFields<'a>>,
    stacks: Vec<RowFields<'a>>,
}

#[derive(Serialize)]
struct HeapFields<'a> {
    pid: Option<u32>,
    start: String,
    end: String,
    page_bytes: i64,
    freed_under_bytes: i64,
    freed_above_bytes: i64,
    highest_block: Option<BlockFields<'a>>,
}

#[derive(Serialize)]
struct BlockFields<'a> {
    address: String,
    size: u64,
    stack: Stack<'a>,
}

#[derive(Serialize)]
struct FullnessFields {
    below_percent: u64,
    page_bytes: i64,
}

#[derive(Serialize)]
struct RowFields<'a> {
    pid: Option<u32>,
    stack: Stack<'a>,
    empty_bytes: i64,
    alone_bytes: i64,
    page_bytes: i64,
    held: AmountFields,
    shared_with: Vec<SharedFields>,
}

#[derive(Serialize)]
struct SharedFields {
    stack: usize,
    page_bytes: i64,
}

/// Writes `pages --json`.
///
/// # Errors
/// Those of the writer.
pub fn pages(out: &mut dyn Write, loaded: &Loaded, table: &PageTable) -> io::Result<()> {
    let sharers = table.sharers(WITH_SHARERS, SHARERS).into_iter().chain(std::iter::repeat(Vec::new()));
    let pid = |process: ProcessId| loaded.tables.processes.get(process.index()).map(|process| process.pid);
    let heap = |heap: &Heap| HeapFields {
        pid: pid(heap.process),
        start: hex(heap.start),
        end: hex(heap.end),
        page_bytes: heap.used,
        freed_under_bytes: heap.under,
        freed_above_bytes: heap.above,
        highest_block: heap.highest.map(|HighestBlock { address, size, node }| BlockFields {
            address: hex(address),
            size,
            stack: stack(loaded, node),
        }),
    };
    let row = |(row, sharers): (&StackPages, Vec<(usize, i64)>)| RowFields {
        pid: pid(row.process),
        stack: stack(loaded, row.node),
        empty_bytes: row.empty,
        alone_bytes: row.pages.alone,
        page_bytes: row.pages.total,
        held: row.held.into(),
        shared_with: sharers
            .into_iter()
            .map(|(stack, page_bytes)| SharedFields { stack, page_bytes })
            .collect(),
    };
    let document = PagesDocument {
        start: Start::new(loaded, "pages"),
        page_size: PAGE,
        page_bytes: table.pages,
        empty_bytes: table.empty,
        by_fullness: FULLNESS
            .into_iter()
            // The last class includes full pages.
            .chain([101])
            .zip(table.by_fullness)
            .map(|(below_percent, page_bytes)| FullnessFields { below_percent, page_bytes })
            .collect(),
        held: table.held.into(),
        freed_under_bytes: table.freed().0,
        freed_above_bytes: table.freed().1,
        heaps: table.heaps.iter().map(heap).collect(),
        stacks: table.stacks.iter().zip(sharers).map(row).collect(),
    };
    write_document(out, &document)
}
