//! The live blocks of one process, by address.

use super::sites::SiteId;
use capture::{BlockNumber, BlockSlot, BlockTable, Seed, ThreadId, Vacancy};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

/// Most bytes of a block: the address space of a process. A larger size is the capture's error.
pub(crate) const MAX_BLOCK: u64 = 1 << 47;

/// A live block, and what an observer keeps with it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Block<K = ()> {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The stack and process that allocated it.
    pub(crate) site: SiteId,
    pub(crate) thread: ThreadId,
    /// [`ProcessState::gap_edges`](super::process::ProcessState) at its birth: a larger value now means that it lived
    /// through a gap.
    pub(crate) gap_edges: u32,
    /// [`Lineage::forks`](super::lineage::Lineage) at its birth: a larger value now means that a child inherited it.
    pub(crate) forks: u32,
    /// Which of the capture's new blocks it is, from 0; not known after a pass was resumed.
    #[serde(skip)]
    pub(crate) number: BlockNumber,
    /// What the observer of the pass gets back when the block dies: see [`super::watch::Watch`].
    pub(crate) attached: K,
}

/// Live blocks by address.
#[derive(Clone, Debug)]
pub(crate) struct Heap<K = ()> {
    blocks: BlockTable<Stored<K>>,
    /// What had happened to the process when blocks were born, in the order of births.
    epochs: Vec<Epoch>,
    /// With this many of them, those that no block has are given back before there is another one.
    sweep_at: usize,
}

/// [`Block::gap_edges`] and [`Block::forks`] of blocks between which there was neither a gap nor a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    gap_edges: u32,
    forks: u32,
}

/// Fewer epochs than these are kept whether a block has them or not.
const FEW: usize = 1024;

/// A block without its address. A size has fewer than 48 bits, and so has the number of a block.
#[derive(Clone, Copy, Debug)]
struct Stored<K> {
    size: u32,
    number: u32,
    size_high: u16,
    number_high: u16,
    site: SiteId,
    thread: ThreadId,
    epoch: u32,
    attached: K,
}

const _: () = assert!(size_of::<Stored<()>>() == 24, "it is most of what a large heap takes here");

impl<K: Copy> Heap<K> {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { blocks: BlockTable::new(seed), epochs: Vec::new(), sweep_at: FEW }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a block and returns the one that was live at its address, if any.
    #[inline]
    pub(crate) fn insert(&mut self, block: Block<K>) -> Option<Block<K>> {
        let stored = self.stored(block);
        self.blocks.insert(block.address, stored).map(|displaced| self.block(block.address, &displaced))
    }

    /// Room for a block at this address until the heap changes; none if one is there.
    #[inline]
    pub(crate) fn vacancy(&mut self, address: u64) -> Option<Vacancy> {
        self.blocks.vacancy(address)
    }

    /// Adds a block in the room for its address.
    #[inline]
    pub(crate) fn fill(&mut self, vacancy: Vacancy, block: Block<K>) {
        let stored = self.stored(block);
        self.blocks.fill(vacancy, stored);
    }

    /// Removes and returns the block at this address.
    #[inline]
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block<K>> {
        self.blocks.remove(address).map(|stored| self.block(address, &stored))
    }

    #[inline]
    pub(crate) fn get(&self, address: u64) -> Option<Block<K>> {
        self.blocks.get(address).map(|stored| self.block(address, stored))
    }

    /// Where the block at this address is kept until the heap changes.
    #[inline]
    pub(crate) fn slot(&self, address: u64) -> Option<BlockSlot> {
        self.blocks.slot(address)
    }

    /// Who allocated the block that is kept here. Reads the block to its ends, which may be in two cache lines.
    #[inline]
    pub(crate) fn glance(&self, slot: BlockSlot) -> Option<SiteId> {
        let block = self.blocks.at(slot)?;
        black_box((block.size, block.epoch));
        Some(block.site)
    }

    /// Reads where a block will be kept that is added after so many others.
    #[inline]
    pub(crate) fn glance_at_hole(&self, others: usize) {
        black_box(self.blocks.hole(others).map(|block| (block.size, block.epoch)));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Block<K>> {
        self.blocks.iter().map(|(address, stored)| self.block(address, stored))
    }

    /// Forgets everything and frees the memory.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        (self.epochs, self.sweep_at) = (Vec::new(), FEW);
    }

    #[inline]
    fn stored(&mut self, block: Block<K>) -> Stored<K> {
        let Block { address: _, size, site, thread, gap_edges, forks, number: BlockNumber(number), attached } =
            block;
        let epoch = self.epoch(Epoch { gap_edges, forks });
        let (size_high, number_high) = ((size >> 32) as u16, (number >> 32) as u16);
        let (size, number) = (size as u32, number as u32);
        Stored { size, number, size_high, number_high, site, thread, epoch, attached }
    }

    #[inline]
    fn block(&self, address: u64, stored: &Stored<K>) -> Block<K> {
        let &Stored { size, number, size_high, number_high, site, thread, epoch, attached } = stored;
        let joined = |low: u32, high: u16| u64::from(high) << 32 | u64::from(low);
        let (size, number) = (joined(size, size_high), BlockNumber(joined(number, number_high)));
        let Epoch { gap_edges, forks } = self.epochs[epoch as usize];
        Block { address, size, site, thread, gap_edges, forks, number, attached }
    }

    /// The index of an epoch, which is mostly the last one.
    #[inline]
    fn epoch(&mut self, epoch: Epoch) -> u32 {
        if self.epochs.last() != Some(&epoch) {
            self.add_epoch(epoch);
        }
        (self.epochs.len() - 1) as u32
    }

    #[inline(never)]
    fn add_epoch(&mut self, epoch: Epoch) {
        if self.epochs.len() >= self.sweep_at {
            self.sweep();
        }
        self.epochs.push(epoch);
    }

    /// Gives back epochs that no block has.
    fn sweep(&mut self) {
        let mut indices = vec![None; self.epochs.len()];
        let mut kept = Vec::new();
        for block in self.blocks.values_mut() {
            let epoch = block.epoch as usize;
            block.epoch = *indices[epoch].get_or_insert_with(|| {
                kept.push(self.epochs[epoch]);
                (kept.len() - 1) as u32
            });
        }
        self.epochs = kept;
        self.sweep_at = (2 * self.epochs.len()).max(FEW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// A block with something of its own in each field.
    fn block(number: u64, address: u64, gap_edges: u32, forks: u32) -> Block {
        Block {
            address,
            size: number * 0x7fff_ffff % (MAX_BLOCK + 1),
            site: SiteId(number as u32),
            thread: ThreadId(!number as u32),
            gap_edges,
            forks,
            number: BlockNumber(number << 30 | number),
            attached: (),
        }
    }

    proptest! {
        /// Check that blocks are what they were when they were added, whatever happened to the process and to others
        /// meanwhile.
        #[test]
        fn blocks_stay_as_they_were(steps in prop::collection::vec((0_u64..64, 0_u32..3, any::<bool>()), 0..5000)) {
            let mut heap = Heap::new(Seed::random());
            let mut expected = HashMap::new();
            for (number, (place, more, is_free)) in steps.into_iter().enumerate() {
                let (address, number) = (place * 16, number as u64);
                let (found, wanted) = if is_free {
                    (heap.remove(address), expected.remove(&address))
                } else {
                    let block = block(number, address, number as u32 / 2 * more, more);
                    (heap.insert(block), expected.insert(address, block))
                };
                prop_assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
                prop_assert!(heap.epochs.len() <= FEW);
            }
            let mut all: Vec<Block> = heap.iter().collect();
            all.sort_unstable_by_key(|block| block.address);
            let mut wanted: Vec<Block> = expected.into_values().collect();
            wanted.sort_unstable_by_key(|block| block.address);
            prop_assert_eq!(format!("{all:?}"), format!("{wanted:?}"));
        }
    }
}
