//! Finds the block that contains an address.
//!
//! Blocks lie densely in a few regions (the heap after the program, arenas, mappings) that are far from each other.
//! Each region is divided into about as many cells as it has blocks, so that a lookup takes one access to a cell and
//! one to a block:
//!
//! ```text
//!  blocks     0     1  2        3     4              5
//!  memory    |■■■   ■■ ■■|      ■■■■■■■■■■|         |■■■■■■■■|
//!  cells      0     1    3      3     4     5        5        6      the first block that begins there or later
//!            └ region ───────────────────────┘       └ region ┘
//! ```

use super::block::{BlockId, HeldBlock};
use analysis::Amount;
use std::cmp::Reverse;

/// Blocks that begin farther apart than this are in separate regions.
const GAP: u64 = 1 << 20;

/// Most blocks that get a number.
const MOST: usize = 1 << 30;

/// Blocks by address.
#[derive(Debug)]
pub(super) struct Places {
    /// Without overlaps.
    blocks: Vec<HeldBlock>,
    regions: Vec<Region>,
    cells: Vec<u32>,
    /// Blocks that were left out because they overlap others.
    pub(super) overlapping: Amount,
}

#[derive(Debug)]
struct Region {
    /// Address of its first block.
    first: u64,
    /// Address of its last block.
    last: u64,
    /// A cell has 2^shift bytes.
    shift: u32,
    /// Index of its first cell among all cells.
    cells: usize,
}

impl Places {
    /// Takes blocks in any order. Of overlapping blocks, which no allocator hands out, the one with the lowest
    /// address stays; of those with the same address, the largest.
    pub(super) fn new(mut blocks: Vec<HeldBlock>) -> Self {
        blocks.sort_unstable_by_key(|block| (block.address, Reverse(block.size), block.node, block.thread));
        let (mut overlapping, mut last, mut kept) = (Amount::ZERO, None, 0);
        blocks.retain(|block| {
            let is_free = last.is_none_or(|last| block.address > last) && kept < MOST;
            if is_free {
                last = Some(block.last());
                kept += 1;
            } else {
                overlapping += block.amount();
            }
            is_free
        });
        let mut places = Self { blocks, regions: Vec::new(), cells: Vec::new(), overlapping };
        places.index();
        places
    }

    fn index(&mut self) {
        let mut begin = 0;
        for region in self.blocks.chunk_by(|before, block| block.address - before.address <= GAP) {
            let end = begin + region.len();
            let (first, last) = (region[0].address, region[region.len() - 1].address);
            let mut shift = 0;
            while (last - first) >> shift >= region.len() as u64 {
                shift += 1;
            }
            self.regions.push(Region { first, last, shift, cells: self.cells.len() });
            let mut next = begin;
            for cell in 0..=(last - first) >> shift {
                while (self.blocks[next].address - first) >> shift < cell {
                    next += 1;
                }
                self.cells.push(id(next));
            }
            self.cells.push(id(end));
            begin = end;
        }
    }

    /// The blocks, by address.
    pub(super) fn blocks(&self) -> &[HeldBlock] {
        &self.blocks
    }

    /// The block that contains this address. One past its end is outside.
    // Cost: a search of the few regions, then usually one cache miss for the cell and one for the block.
    pub(super) fn find(&self, address: u64) -> Option<BlockId> {
        let region = self.regions.partition_point(|region| region.first <= address).checked_sub(1)?;
        let region = &self.regions[region];
        let cell = region.cells + ((address.min(region.last) - region.first) >> region.shift) as usize;
        let (begin, end) = (self.cells[cell] as usize, self.cells[cell + 1] as usize);
        let before = self.blocks[begin..end].partition_point(|block| block.address <= address);
        let found = BlockId(id((begin + before).checked_sub(1)?));
        self.contains(found, address).then_some(found)
    }

    /// True when this block contains the address.
    pub(super) fn contains(&self, block: BlockId, address: u64) -> bool {
        self.blocks
            .get(block.index())
            .is_some_and(|block| block.address <= address && address <= block.last())
    }
}

fn id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{NodeId, ThreadId};
    use proptest::prelude::*;

    fn places(blocks: &[(u64, u64)]) -> Places {
        let block = |&(address, size)| HeldBlock { address, size, node: NodeId(1), thread: ThreadId(0) };
        Places::new(blocks.iter().map(block).collect())
    }

    /// Check that pointers into a block are found up to its last byte, and that a block of size 0 has one.
    #[test]
    fn interior_pointers_are_found() {
        let places = places(&[(0x1000, 16), (0x7000_0000_0000, 1 << 30), (0x1010, 0), (0x1020, 8)]);
        for (address, expected) in [
            (0, None),
            (0x0fff, None),
            (0x1000, Some(0)),
            (0x100f, Some(0)),
            (0x1010, Some(1)),
            (0x1011, None),
            (0x1027, Some(2)),
            (0x1028, None),
            (0x6fff_ffff_ffff, None),
            (0x7000_3fff_ffff, Some(3)),
            (0x7000_4000_0000, None),
            (u64::MAX, None),
        ] {
            assert_eq!(places.find(address), expected.map(BlockId), "{address:#x}");
        }
    }

    /// Check that of overlapping blocks the first stays, of those at one address the largest, and that the others are
    /// counted.
    #[test]
    fn overlapping_blocks_are_left_out() {
        let places = places(&[(150, 100), (100, 8), (100, 64), (163, 10), (164, 1)]);
        let kept: Vec<_> = places.blocks().iter().map(|block| (block.address, block.size)).collect();
        assert_eq!(kept, [(100, 64), (164, 1)]);
        assert_eq!(places.overlapping, Amount { blocks: 3, bytes: 118 });
    }

    /// Check that nothing is found outside of blocks, and that blocks at the very end of the address space are.
    #[test]
    fn edges_of_memory_are_found() {
        assert_eq!(places(&[]).find(5), None);
        let places = places(&[(u64::MAX, u64::MAX), (0, 0)]);
        assert_eq!(places.find(u64::MAX), Some(BlockId(1)));
        assert_eq!(places.find(0), Some(BlockId(0)));
        assert_eq!(places.find(1), None);
    }

    fn address() -> impl Strategy<Value = u64> {
        let (base, far) = (prop::sample::select(vec![0, 1 << 20, 0x7fff_0000, u64::MAX - 4000]), 0..4000_u64);
        prop_oneof![(base, far).prop_map(|(base, far)| base + far), any::<u64>()]
    }

    proptest! {
        /// Check lookups against a linear search.
        #[test]
        fn lookups_equal_a_search(
            blocks in prop::collection::vec((address(), prop_oneof![0..200_u64, any::<u64>()]), 0..60),
            asked in prop::collection::vec(address(), 0..60),
        ) {
            let places = places(&blocks);
            let edges = blocks.iter().flat_map(|&(address, size)| {
                [address, address.saturating_add(size), address.saturating_add(size).saturating_sub(1)]
            });
            for address in asked.iter().copied().chain(edges) {
                let found = places.blocks().iter().position(|block| {
                    block.address <= address && address - block.address < block.size.max(1)
                });
                prop_assert_eq!(places.find(address).map(BlockId::index), found, "{:#x}", address);
            }
            for pair in places.blocks().windows(2) {
                prop_assert!(pair[0].last() < pair[1].address);
            }
            prop_assert_eq!(places.blocks().len() as i64 + places.overlapping.blocks, blocks.len() as i64);
        }
    }
}
