//! Whose blocks kept which pages at the peak, and what lay free in heaps, as in `pages`.

use super::Writer;
use super::lists::WIDTH_OF_A_STACK;
use analysis::allocator_library;
use analysis::lifetimes::{FULLNESS, Heap, PAGE, StackPages};
use capture::{NodeId, ProcessId};
use report::text::{Style, stack_line};
use serde::Serialize;

/// Most rows that a page shows; `pages` shows all.
const MOST_STACKS: usize = 50;
const MOST_HEAPS: usize = 10;

#[derive(Serialize)]
pub(super) struct PagesFields {
    page_size: u64,
    page_bytes: i64,
    held_bytes: i64,
    empty_bytes: i64,
    /// Bytes of pages by fullness: upper bound in percent, and bytes.
    by_fullness: Vec<(u64, i64)>,
    freed_under_bytes: i64,
    freed_above_bytes: i64,
    /// The allocator, if not libc's: when it gives memory back is unknown.
    library: Option<&'static str>,
    heaps: Vec<HeapFields>,
    heaps_left_out: usize,
    stacks: Vec<StackFields>,
    stacks_left_out: usize,
}

#[derive(Serialize)]
struct HeapFields {
    pid: u32,
    under: i64,
    above: i64,
    pages: i64,
    /// The size of the highest block and its stack; none when all were freed.
    block: Option<u64>,
    stack: Option<u32>,
}

#[derive(Serialize)]
struct StackFields {
    pid: u32,
    empty: i64,
    alone: i64,
    pages: i64,
    held: i64,
    blocks: i64,
    stack: u32,
}

impl Writer<'_> {
    /// None when single blocks are not known.
    pub(super) fn pages(&mut self) -> Option<PagesFields> {
        let pages = &self.parts.memory?.pages;
        let loaded = self.parts.loaded;
        let style = Style { color: false, width: Some(WIDTH_OF_A_STACK) };
        let texts = &mut self.texts;
        let mut text = |node: NodeId| texts.number(&stack_line(loaded, node, &style, 0));
        let pid = |id: ProcessId| loaded.tables.processes.get(id.index()).map_or(0, |process| process.pid);
        let heap = |heap: &Heap| HeapFields {
            pid: pid(heap.process),
            under: heap.under,
            above: heap.above,
            pages: heap.used,
            block: heap.highest.map(|block| block.size),
            stack: heap.highest.map(|block| text(block.node)),
        };
        let with_some = || pages.heaps.iter().filter(|heap| heap.under + heap.above > 0);
        let heaps: Vec<HeapFields> = with_some().take(MOST_HEAPS).map(heap).collect();
        let stack = |row: &StackPages| StackFields {
            pid: pid(row.process),
            empty: row.empty,
            alone: row.pages.alone,
            pages: row.pages.total,
            held: row.held.bytes,
            blocks: row.held.blocks,
            stack: text(row.node),
        };
        let stacks: Vec<StackFields> = pages.stacks.iter().take(MOST_STACKS).map(stack).collect();
        // The last class includes full pages.
        let bounds = FULLNESS.into_iter().chain([101]);
        let (freed_under_bytes, freed_above_bytes) = pages.freed();
        Some(PagesFields {
            page_size: PAGE,
            page_bytes: pages.pages,
            held_bytes: pages.held.bytes,
            empty_bytes: pages.empty,
            by_fullness: bounds.zip(pages.by_fullness).collect(),
            freed_under_bytes,
            freed_above_bytes,
            library: allocator_library(&loaded.tables),
            heaps_left_out: with_some().count() - heaps.len(),
            heaps,
            stacks_left_out: pages.stacks.len() - stacks.len(),
            stacks,
        })
    }
}
