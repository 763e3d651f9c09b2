//! A block that was live when memory was scanned.

use analysis::Amount;
use capture::{NodeId, ThreadId};

/// A live block of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBlock {
    /// Its address.
    pub address: u64,
    /// Bytes requested. An empty block still has a unique address, so it is looked up as if it had one byte.
    pub size: u64,
    /// The stack that allocated it.
    pub node: NodeId,
    /// The thread that allocated it.
    pub thread: ThreadId,
}

/// A block of a graph: blocks are numbered by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// Its index in an array of blocks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl HeldBlock {
    /// The address of its last byte.
    pub(super) fn last(&self) -> u64 {
        self.address.saturating_add(self.size.max(1) - 1)
    }

    /// The amount it counts as.
    pub(super) fn amount(&self) -> Amount {
        Amount::block(self.size)
    }
}
