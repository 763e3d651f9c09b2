//! The live blocks of one process, by address.

use super::sites::SiteId;
use crate::base::hash::Seed;
use capture::ThreadId;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde::{Deserialize, Serialize};

/// Most bytes of a block: the address space of a process. A larger size is the capture's error.
pub(crate) const MAX_SIZE: u64 = 1 << 47;

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
    /// What the observer of the pass gets back when the block dies: see [`super::watch::Watch`].
    pub(crate) attached: K,
}

const _: () = assert!(size_of::<Block<()>>() == 32, "two blocks share a cache line");

/// Live blocks by address.
#[derive(Debug)]
pub(crate) struct Heap<K = ()> {
    seed: Seed,
    blocks: HashTable<Block<K>>,
}

impl<K: Copy> Heap<K> {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, blocks: HashTable::new() }
    }

    /// An empty heap with room for this many blocks without growing.
    pub(crate) fn with_room(blocks: usize) -> Self {
        Self { seed: Seed::random(), blocks: HashTable::with_capacity(blocks) }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a block and returns the one that was live at its address, if any.
    // Cost: one probe, usually two cache misses.
    pub(crate) fn insert(&mut self, block: Block<K>) -> Option<Block<K>> {
        let seed = self.seed;
        let entry = self.blocks.entry(
            seed.hash(block.address),
            |other| other.address == block.address,
            |other| seed.hash(other.address),
        );
        match entry {
            Entry::Occupied(mut entry) => Some(std::mem::replace(entry.get_mut(), block)),
            Entry::Vacant(entry) => {
                entry.insert(block);
                None
            }
        }
    }

    /// Removes and returns the block at this address.
    // Cost: one probe, usually two cache misses.
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block<K>> {
        let entry = self.blocks.find_entry(self.seed.hash(address), |block| block.address == address);
        entry.ok().map(|entry| entry.remove().0)
    }

    pub(crate) fn get(&self, address: u64) -> Option<&Block<K>> {
        self.blocks.find(self.seed.hash(address), |block| block.address == address)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block<K>> {
        self.blocks.iter()
    }

    /// Forgets everything and frees the memory.
    pub(crate) fn clear(&mut self) {
        self.blocks = HashTable::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn block(address: u64, size: u64) -> Block {
        Block { address, size, site: SiteId(0), thread: ThreadId(0), gap_edges: 0, forks: 0, attached: () }
    }

    proptest! {
        /// Check that a heap answers as a plain map does.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0..40_u64, any::<bool>(), 0..1000_u64), 0..400)) {
            let mut heap = Heap::new(Seed::random());
            let mut map = HashMap::new();
            for (address, insert, size) in steps {
                if insert {
                    let old = heap.insert(block(address, size)).map(|block| block.size);
                    prop_assert_eq!(old, map.insert(address, size));
                } else {
                    prop_assert_eq!(heap.remove(address).map(|block| block.size), map.remove(&address));
                }
                prop_assert_eq!(heap.get(address).map(|block| block.size), map.get(&address).copied());
                prop_assert_eq!(heap.iter().count(), map.len());
            }
        }
    }
}
