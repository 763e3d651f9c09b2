//! What lies free in an allocator's heaps, and the highest block of each: only memory above it is given back
//! automatically.
//!
//! ```text
//!  pages    |■■ ■|   |   |■  |   |   | ■ |   |   |         ■ blocks
//!             used  under      under  used  above
//!                                      └ the highest block
//! ```
//!
//! glibc gives back what lies above the highest block of a heap once that exceeds a threshold, but what lies under it
//! only in `malloc_trim`. Nothing reports where heaps are: those of threads' arenas begin at multiples of 64 MiB; any
//! other is taken to end where nothing has been for a long stretch.

use super::freed::Freed;
use super::pages::{PAGE, signed};
use capture::{NodeId, ProcessId};
use std::cmp::Reverse;
use std::ops::Range;

/// Least number of pages between two heaps. Within one, blocks have been nearly everywhere.
const APART: u64 = (1 << 20) / PAGE;
/// Heaps of arenas begin at multiples of this many pages, and have no more (`HEAP_MAX_SIZE` on 64-bit systems).
const ARENA: u64 = (64 << 20) / PAGE;

/// Memory that an allocator cuts blocks from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heap {
    /// The process.
    pub process: ProcessId,
    /// Its first known address: the beginning of the first page that has, or had, a block.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Bytes of pages with a block.
    pub used: i64,
    /// Bytes of pages below the highest block whose blocks were all freed.
    pub under: i64,
    /// The same above the highest block. The allocator has mostly given these back.
    pub above: i64,
    /// The highest block; none when all were freed.
    pub highest: Option<HighestBlock>,
}

/// The block below which nothing is given back automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighestBlock {
    /// Its address.
    pub address: u64,
    /// Its size.
    pub size: u64,
    /// The stack that allocated it.
    pub node: NodeId,
}

/// Pages with or without blocks.
#[derive(Clone, Debug)]
pub(super) struct PageRun {
    pub(super) process: ProcessId,
    pub(super) pages: Range<u64>,
    /// The highest block that is at least partly on them.
    pub(super) highest: Option<HighestBlock>,
}

/// The heaps made up of pages with blocks and of pages whose blocks were freed, which are disjoint. Heaps with most
/// pages under their highest block come first.
pub(super) fn heaps(used: impl Iterator<Item = PageRun>, freed: &Freed) -> Vec<Heap> {
    let mut stretches: Vec<PageRun> = used.collect();
    for (process, pages) in freed.iter() {
        // Heaps of arenas may be adjacent.
        let mut start = pages.start;
        while start < pages.end {
            let end = (start / ARENA + 1).saturating_mul(ARENA).min(pages.end);
            stretches.push(PageRun { process, pages: start..end, highest: None });
            start = end;
        }
    }
    stretches.sort_by_key(|stretch| (stretch.process, stretch.pages.start, stretch.pages.end));
    let mut heaps: Vec<Heap> = Vec::new();
    for stretch in &stretches {
        let (start, end) = (stretch.pages.start.saturating_mul(PAGE), stretch.pages.end.saturating_mul(PAGE));
        let is_new = heaps.last().is_none_or(|last| last.process != stretch.process || is_apart(last, start));
        if is_new {
            let (used, under, above, highest) = (0, 0, 0, None);
            heaps.push(Heap { process: stretch.process, start, end: start, used, under, above, highest });
        }
        let Some(heap) = heaps.last_mut() else { continue };
        // Several stacks may have blocks on a page.
        let bytes = signed(end.saturating_sub(start.max(heap.end)));
        heap.end = heap.end.max(end);
        match stretch.highest {
            None => heap.above += bytes,
            Some(highest) => {
                heap.used = heap.used.saturating_add(bytes);
                heap.under += std::mem::take(&mut heap.above);
                if heap.highest.is_none_or(|known| known.address < highest.address) {
                    heap.highest = Some(highest);
                }
            }
        }
    }
    heaps.sort_by_key(|heap| (Reverse((heap.under, heap.above)), heap.process, heap.start));
    heaps
}

fn is_apart(heap: &Heap, start: u64) -> bool {
    let arena = ARENA * PAGE;
    let is_next_arena = heap.start.is_multiple_of(arena) && start.is_multiple_of(arena) && start >= heap.end;
    is_next_arena || start.saturating_sub(heap.end) > APART * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn used(pages: Range<u64>) -> PageRun {
        let highest = HighestBlock { address: (pages.end - 1) * PAGE + 32, size: 9, node: NodeId(1) };
        PageRun { process: ProcessId(0), pages, highest: Some(highest) }
    }

    /// Freed pages, except those in use.
    fn freed(pages: &[Range<u64>], used: &[PageRun]) -> Freed {
        let mut freed = Freed::default();
        // Blocks of a page each, none of which looks like a separately mapped one.
        pages.iter().cloned().flatten().for_each(|page| freed.note(ProcessId(0), page * PAGE + 16, 100));
        used.iter().for_each(|stretch| freed.take(ProcessId(0), stretch.pages.clone()));
        freed
    }

    /// Check the drawing, that distant memory is another heap, and that adjacent arenas are two heaps.
    #[test]
    fn heaps_are_as_drawn() {
        const MAIN: u64 = 0x5555_5555;
        let arena = 7 * ARENA;
        let blocks = [
            used(MAIN..MAIN + 1),
            used(MAIN + 3..MAIN + 4),
            used(MAIN + 6..MAIN + 7),
            used(arena..arena + 1),
        ];
        let pages = [MAIN..MAIN + 9, arena + 1..arena + ARENA + 5];
        let found = heaps(blocks.iter().cloned(), &freed(&pages, &blocks));
        let in_pages = |heap: &Heap| {
            let pages = [heap.used, heap.under, heap.above].map(|bytes| bytes / PAGE.cast_signed());
            (heap.start / PAGE, heap.end / PAGE, pages, heap.highest.map(|highest| highest.address / PAGE))
        };
        assert_eq!(
            found.iter().map(in_pages).collect::<Vec<_>>(),
            [
                (MAIN, MAIN + 9, [3, 4, 2], Some(MAIN + 6)),
                (arena, arena + ARENA, [1, 0, ARENA.cast_signed() - 1], Some(arena)),
                (arena + ARENA, arena + ARENA + 5, [0, 0, 5], None),
            ]
        );
    }

    proptest! {
        /// Check that each page is counted once, against a page-by-page count.
        #[test]
        fn each_page_is_counted_once(
            begin in prop::sample::select(vec![5000_u64, 3 * ARENA - 40, 3 * ARENA]),
            runs in prop::collection::vec((0..20_u64, 1..12_u64, any::<bool>()), 0..40),
            far in 0..40_usize,
        ) {
            let (mut page, mut kinds) = (begin, BTreeMap::new());
            let (mut blocks, mut pages) = (Vec::new(), Vec::new());
            for (at, &(gap, length, is_used)) in runs.iter().enumerate() {
                page += gap + if at == far { 2 * APART } else { 0 };
                match is_used {
                    // Twice, as if two stacks had it.
                    true => blocks.extend([used(page..page + length), used(page..page + length)]),
                    false => pages.push(page..page + length),
                }
                kinds.extend((page..page + length).map(|page| (page, is_used)));
                page += length;
            }
            let (mut expected, mut last) = (Vec::<[i64; 3]>::new(), None::<u64>);
            let mut first = 0;
            for (&page, &is_used) in &kinds {
                let is_new = last.is_none_or(|last| {
                    page - last > APART + 1 || first % ARENA == 0 && page % ARENA == 0
                });
                if is_new {
                    first = page;
                    expected.push([0; 3]);
                }
                last = Some(page);
                let [in_use, under, above] = expected.last_mut().unwrap();
                if is_used {
                    *in_use += 1;
                    *under += std::mem::take(above);
                } else {
                    *above += 1;
                }
            }
            // A run of blocks is in one heap, as the allocator's chunks are.
            prop_assume!(blocks.iter().all(|run: &PageRun| {
                first == 0 || (run.pages.start + 1..run.pages.end).all(|page| page % ARENA != 0)
            }));
            let mut found = heaps(blocks.iter().cloned(), &freed(&pages, &blocks));
            found.sort_by_key(|heap| heap.start);
            let found: Vec<[i64; 3]> = found
                .iter()
                .map(|heap| [heap.used, heap.under, heap.above].map(|bytes| bytes / PAGE.cast_signed()))
                .collect();
            prop_assert_eq!(found, expected);
        }

        /// Check that blocks of any size at any address neither panic nor take long.
        #[test]
        fn odd_blocks_do_no_harm(blocks in prop::collection::vec(any::<(u64, u64, bool)>(), 0..20)) {
            let mut freed = Freed::default();
            for (address, size, cuts) in blocks {
                freed.note(ProcessId(0), address, if cuts { size % (33 << 20) } else { size });
            }
            prop_assert!(heaps(std::iter::empty(), &freed).iter().all(|heap| heap.start < heap.end));
        }
    }
}
