//! Where pointers are stored, and what holds a block.

use super::block::BlockId;
use capture::NodeId;

/// A root: a variable, the stack of a thread, a register. The caller assigns names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootId(pub u32);

/// What kind of memory lies outside of live blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It holds what it points to.
    Root {
        /// The root that it is part of.
        root: RootId,
        /// Whether it also keeps what other roots lead to.
        rank: Rank,
        /// Only pointers to the very start of a block count. This is for an allocator's own data: glibc's bins point
        /// at headers of free chunks, which overlap the last usable bytes of the block before them.
        exact: bool,
    },
    /// Pointers in it hold nothing: free memory with stale pointers.
    Ignored,
}

/// How reliable a root is as a reason for keeping a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rank {
    /// The pointer was stored to be used again: a variable, memory of the program's own.
    Lasting,
    /// The pointer may be stale: on the stack or in the registers of a thread, words stay until they are overwritten.
    /// So what a lasting root leads to is kept by lasting roots alone.
    Passing,
}

/// What keeps the blocks of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A root: each path to them begins there.
    Root(RootId),
    /// Several roots, or several blocks that different roots hold: no single one of them keeps these.
    Several,
    /// Blocks of this stack: each path to them leads through one.
    Stack(NodeId),
}

/// What keeps one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dominator {
    /// A root.
    Root(RootId),
    /// Several roots, each along its own path.
    Several,
    /// This block, the nearest of those that every path leads through.
    Block(BlockId),
}
