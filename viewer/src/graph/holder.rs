//! Where pointers lie, and who holds a block.

use super::block::BlockId;
use capture::NodeId;

/// A root: a variable, the stack of a thread, a register. What it is called is the caller's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootId(pub u32);

/// What memory is that lies in no live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It holds what it points to.
    Root {
        /// As part of this.
        root: RootId,
        /// Whether what others lead to is kept by it, too.
        rank: Rank,
        /// Only pointers to the very start of a block count. Of the data of an allocator: glibc's bins point at headers of free
        /// chunks, which lie in the last usable bytes of the block before them.
        exact: bool,
    },
    /// Pointers in it hold nothing: memory that is free, where old ones lie.
    Ignored,
}

/// How much it says that a root refers to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rank {
    /// Whoever stored it there wants to find it again: a variable, memory of the program's own.
    Lasting,
    /// It may be there because nothing else has come to its place: the stack and the registers of a thread, where words stay when they
    /// are of no use any more. So what a root that lasts leads to is kept by such roots alone.
    Passing,
}

/// What keeps the blocks of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A root: each way to them begins there.
    Root(RootId),
    /// Several roots, or several blocks that different roots hold: no single one of them keeps these.
    Several,
    /// Blocks of this stack: each way to them leads through one.
    Stack(NodeId),
}

/// What keeps one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// A root.
    Root(RootId),
    /// Several roots, each in its own way.
    Several,
    /// This block, which is the nearest of those that every way leads through.
    Block(BlockId),
}
