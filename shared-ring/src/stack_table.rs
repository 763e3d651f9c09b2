//! The stack table: every stack is stored once, as a path of nodes from the root.
//!
//! A node is one word: its parent's id in the upper half, the pc id of its frame in the lower. A stack is the id of
//! its innermost node. Nothing announces a new node: the collector reads it from its own mapping when a record names
//! it.
//!
//! A node's place in the index is determined by a hash of the whole path, not of the node's own word. The hashes of a
//! path's nodes follow from its pc ids alone, so a processor can look up all nodes of a new stack at once; otherwise
//! each look-up would wait for the id that the one before it finds.

use crate::intern::{Batch, Commit, Finder, InternTable};

/// Table of nodes.
pub type StackTable<'a, P> = InternTable<'a, P, 1>;

/// The empty stack.
pub const ROOT: u32 = 0;

/// A node: a frame and the stack that it was called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id of the caller's stack, [`ROOT`] at the outermost frame.
    pub parent: u32,
    /// Id of the frame in the pc table, or of a pseudo frame.
    pub pc: u32,
}

impl Node {
    /// From the word in memory.
    pub fn from_word(word: u64) -> Self {
        Self { parent: (word >> 32) as u32, pc: word as u32 }
    }
}

/// A stack that may get further frames. Id and hash are two words: in one, the hash of the next frame would wait for
/// this one's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Id of the stack.
    pub id: u32,
    /// Hash of the pc ids of all its frames.
    pub hash: u32,
}

impl Path {
    /// The empty stack.
    pub const ROOT: Self = Self { id: ROOT, hash: 0 };

    /// The word of the node that extends this stack by one frame.
    #[inline(always)]
    const fn node(self, pc: u32) -> u64 {
        (self.id as u64) << 32 | pc as u64
    }

    /// This stack with one more frame, the innermost, if it is easily found.
    #[inline(always)]
    pub fn find(self, pc: u32, finder: &Finder<'_, 1>) -> Option<Self> {
        let hash = self.longer(pc);
        Some(Self { id: finder.find([self.node(pc)], u64::from(hash))?, hash })
    }

    /// This stack with one more frame, but with the old id. It is about to be looked up, so what that needs is
    /// prefetched.
    #[inline(always)]
    pub fn announce(self, pc: u32, finder: &Finder<'_, 1>) -> Self {
        let hash = self.longer(pc);
        finder.announce(u64::from(hash));
        Self { hash, ..self }
    }

    /// The hash of this path with one more frame. It depends only on the pc ids of the path.
    #[inline(always)]
    const fn longer(self, pc: u32) -> u32 {
        // The product's upper half: its low bits depend on the whole hash and most of the id.
        ((self.hash as u64 ^ (pc as u64) << 24).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }
}

impl<P: Commit> StackTable<'_, P> {
    /// The stack `path` with one more frame, the innermost; `None` when the stack table is full.
    #[inline]
    pub fn extend(&self, path: Path, pc: u32, batch: &mut Batch) -> Option<Path> {
        let hash = path.longer(pc);
        Some(Path { id: self.intern([path.node(pc)], u64::from(hash), path.id, batch)?, hash })
    }

    /// The node of an id; `None` when the id is outside of the table or was never filled in.
    pub fn node(&self, id: u32) -> Option<Node> {
        self.key(id).map(|[word]| Node::from_word(word)).filter(|node| node.pc != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Check that an announced path is the one that is then looked up.
    #[test]
    fn announced_paths_are_looked_for() {
        let (path, finder) = (Path { id: 3, hash: 0x1234 }, Finder::default());
        assert_eq!(path.announce(5, &finder), Path { id: 3, hash: path.longer(5) });
    }

    /// Check that the paths of a program, many with the same few frames in another order, hardly ever share the low
    /// bits of their hashes.
    #[test]
    fn paths_spread() {
        let (mut hashes, mut paths) = (HashSet::new(), vec![Path::ROOT]);
        for depth in 0..4 {
            let longer = |path: &Path| {
                let path = *path;
                (64..72).map(move |pc| Path { id: depth, hash: path.longer(pc * 16) })
            };
            paths = paths.iter().flat_map(longer).collect();
            hashes.extend(paths.iter().map(|path| path.hash & 0xffff));
        }
        // 4,680 balls into 65,536 urns leave about 163 in one that has another.
        assert!(hashes.len() > 4680 - 250, "{}", hashes.len());
    }
}
