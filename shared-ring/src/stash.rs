//! The stack stash: every stack once, as a path of nodes from the root.
//!
//! A node is one word: its parent's id above, the pc id of its frame below. A stack is the id of its innermost
//! node. Nothing announces a new node: the collector reads it from its own mapping when a record names it.

use crate::intern::{Batch, InternTable, Pieces};

/// Table of nodes.
pub type Stash<'a, P> = InternTable<'a, P, 1>;

/// The empty stack.
pub const ROOT: u32 = 0;

/// A node: a frame and the stack that it was called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id of the caller's stack, [`ROOT`] at the outermost frame.
    pub parent: u32,
    /// Id of the frame in the pc table, or a pseudo frame.
    pub pc: u32,
}

impl Node {
    /// The word in memory.
    #[inline(always)]
    pub fn to_word(self) -> u64 {
        u64::from(self.parent) << 32 | u64::from(self.pc)
    }

    /// From the word in memory.
    pub fn from_word(word: u64) -> Self {
        Self { parent: (word >> 32) as u32, pc: word as u32 }
    }
}

impl<P: Pieces> Stash<'_, P> {
    /// The id of the stack `node`; `None` when the stash is full.
    #[inline]
    pub fn stack(&self, node: Node, batch: &mut Batch) -> Option<u32> {
        self.intern([node.to_word()], node.parent, batch)
    }

    /// The node of an id, `None` when it is outside of the table or was never filled in.
    pub fn node(&self, id: u32) -> Option<Node> {
        self.key(id).map(|[word]| Node::from_word(word)).filter(|node| node.pc != 0)
    }
}
