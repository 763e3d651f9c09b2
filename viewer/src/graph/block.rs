//! A block that was live when memory was looked at.

use crate::analysis::Amount;
use capture::{NodeId, ThreadId};

/// A live block of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBlock {
    /// Where it begins.
    pub address: u64,
    /// Bytes that were asked for. A block of none still has an address of its own, so it is found as if it had one byte.
    pub size: u64,
    /// With which stack it was allocated.
    pub node: NodeId,
    /// By whom.
    pub thread: ThreadId,
}

/// Which block of a graph: they are numbered by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// Its place in an array of blocks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl HeldBlock {
    /// Its last byte.
    pub(super) fn last(&self) -> u64 {
        self.address.saturating_add(self.size.max(1) - 1)
    }

    /// What it counts for.
    pub(super) fn amount(&self) -> Amount {
        Amount::block(self.size)
    }
}
