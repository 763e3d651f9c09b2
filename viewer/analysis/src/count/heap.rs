//! The live blocks of one process, by address.

use super::sites::SiteId;
use capture::{BlockNumber, BlockSlot, BlockTable, Seed, ThreadId, Vacancy};
use serde::{Deserialize, Serialize};

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
pub(crate) struct Heap<K = ()>(BlockTable<Stored<K>>);

/// A block without its address.
#[derive(Clone, Copy, Debug)]
struct Stored<K> {
    size: u64,
    number: BlockNumber,
    site: SiteId,
    thread: ThreadId,
    gap_edges: u32,
    forks: u32,
    attached: K,
}

const _: () = assert!(size_of::<Stored<()>>() == 32, "two blocks share a cache line");

impl<K: Copy> Stored<K> {
    #[inline]
    fn of(block: Block<K>) -> Self {
        let Block { address: _, size, site, thread, gap_edges, forks, number, attached } = block;
        Self { size, number, site, thread, gap_edges, forks, attached }
    }

    #[inline]
    fn at(self, address: u64) -> Block<K> {
        let Self { size, number, site, thread, gap_edges, forks, attached } = self;
        Block { address, size, site, thread, gap_edges, forks, number, attached }
    }
}

impl<K: Copy> Heap<K> {
    pub(crate) fn new(seed: Seed) -> Self {
        Self(BlockTable::new(seed))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a block and returns the one that was live at its address, if any.
    #[inline]
    pub(crate) fn insert(&mut self, block: Block<K>) -> Option<Block<K>> {
        self.0.insert(block.address, Stored::of(block)).map(|displaced| displaced.at(block.address))
    }

    /// Room for a block at this address until the heap changes; none if one is there.
    #[inline]
    pub(crate) fn vacancy(&mut self, address: u64) -> Option<Vacancy> {
        self.0.vacancy(address)
    }

    /// Adds a block in the room for its address.
    #[inline]
    pub(crate) fn fill(&mut self, vacancy: Vacancy, block: Block<K>) {
        self.0.fill(vacancy, Stored::of(block));
    }

    /// Removes and returns the block at this address.
    #[inline]
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block<K>> {
        self.0.remove(address).map(|block| block.at(address))
    }

    #[inline]
    pub(crate) fn get(&self, address: u64) -> Option<Block<K>> {
        self.0.get(address).map(|block| block.at(address))
    }

    /// Where the block at this address is kept until the heap changes.
    #[inline]
    pub(crate) fn slot(&self, address: u64) -> Option<BlockSlot> {
        self.0.slot(address)
    }

    /// Who allocated the block that is kept here.
    #[inline]
    pub(crate) fn site(&self, slot: BlockSlot) -> Option<SiteId> {
        self.0.at(slot).map(|block| block.site)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Block<K>> {
        self.0.iter().map(|(address, block)| block.at(address))
    }

    /// Forgets everything and frees the memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
