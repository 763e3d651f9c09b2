//! The heap graph, and what each block keeps.
//!
//! Vertices are the blocks, then the roots, and finally one vertex that refers to all roots:
//!
//! ```text
//!  0 … blocks                 blocks … + roots         the last
//!  A, B, C, D                 cache, stack of main     everything
//! ```
//!
//! Because roots are vertices, a block that two variables hold differs from one that a single variable holds along
//! two paths. Lasting roots come first, so the search visits everything that they lead to before it visits any
//! passing one.

pub(crate) mod groups;
pub(crate) mod retained;
pub(crate) mod several;
pub(crate) mod tree;
pub(crate) mod unreachable;

use super::block::{BlockId, HeldBlock};
use super::dominators::Dominators;
use super::holder::{Dominator, Holder, Rank, RootId};
use super::links::{Links, LinksBuilder};
use super::pace::Pace;
use super::places::Places;
use crate::graph::retained::Retained;
use crate::graph::several::Several;
use crate::graph::tree::RetainedTree;
use crate::graph::unreachable::Unreachable;
use analysis::Amount;
use capture::NodeId;
use std::collections::HashSet;

/// Why a result without a time limit cannot be missing.
pub(crate) const UNHURRIED: &str = "nobody gives it up";

/// Blocks, and what refers to them.
#[derive(Debug)]
pub struct HeapGraph {
    places: Places,
    /// The distinct stacks of the blocks, in order.
    stacks: Vec<NodeId>,
    /// The index of each block's stack in `stacks`.
    rows: Vec<u32>,
    /// The distinct roots: lasting ones, then passing ones, each in order.
    roots: Vec<RootId>,
    pub(crate) links: Links,
    pub(crate) dominators: Dominators,
    /// What each number of the dominators retains.
    held: Vec<Amount>,
    figures: Figures,
}

/// What a graph was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Blocks of the graph.
    pub blocks: Amount,
    /// Blocks that a root leads to.
    pub reachable: Amount,
    /// Blocks that were left out because they overlap others.
    pub overlapping: Amount,
    /// Distinct roots that refer to blocks.
    pub roots: usize,
    /// Distinct links between blocks, and from roots to blocks.
    pub links: usize,
    /// Pointers that were passed in.
    pub pointers: u64,
    /// Pointers to addresses in no block.
    pub astray: u64,
    /// Pointers in ignored memory, and pointers of an exact root to the middle of a block.
    pub ignored: u64,
    /// Pointers beyond the limit on links.
    pub left_out: u64,
}

impl HeapGraph {
    pub(crate) fn new(
        places: Places,
        mut links: LinksBuilder,
        mut references: Vec<((Rank, RootId), BlockId)>,
        mut figures: Figures,
        pace: &Pace<'_>,
    ) -> Option<Self> {
        let blocks = places.blocks();
        let node = |block: &HeldBlock| pace.step().map(|()| block.node);
        let different = blocks.iter().map(node).collect::<Option<HashSet<NodeId>>>()?;
        let mut stacks: Vec<NodeId> = different.into_iter().collect();
        stacks.sort_unstable();
        let row = |block: &HeldBlock| {
            pace.step().map(|()| stacks.partition_point(|&node| node < block.node) as u32)
        };
        let rows = blocks.iter().map(row).collect::<Option<_>>()?;

        references.sort_unstable();
        let mut roots: Vec<(Rank, RootId)> = references.iter().map(|&(root, _)| root).collect();
        roots.dedup();
        let (first, everything) = (blocks.len() as u32, (blocks.len() + roots.len()) as u32);
        for group in references.chunk_by(|before, reference| before.0 == reference.0) {
            let vertex = first + roots.partition_point(|&root| root < group[0].0) as u32;
            group.iter().for_each(|&(_, block)| links.add(vertex, block.0));
        }
        drop(references);
        (first..everything).for_each(|root| links.add(everything, root));
        let links = links.finish(everything as usize + 1);

        let passing = first + roots.partition_point(|(rank, _)| *rank == Rank::Lasting) as u32;
        let roots: Vec<RootId> = roots.into_iter().map(|(_, root)| root).collect();
        let dominators = Dominators::new(&links, everything, passing, pace)?;
        let amount = |vertex: u32| blocks.get(vertex as usize).map_or(Amount::ZERO, HeldBlock::amount);
        let own = |number: u32| pace.step().map(|()| amount(dominators.vertex(number)));
        let mut held: Vec<Amount> = (0..dominators.len() as u32).map(own).collect::<Option<_>>()?;
        // A dominator has a smaller number than what it dominates.
        for number in (1..held.len()).rev() {
            pace.step()?;
            let below = held[number];
            held[dominators.above(number as u32) as usize] += below;
        }
        figures.blocks = blocks.iter().map(HeldBlock::amount).sum::<Amount>();
        figures.reachable = held[0];
        figures.roots = roots.len();
        figures.links = links.count() - roots.len();
        Some(Self { places, stacks, rows, roots, links, dominators, held, figures })
    }

    /// What the graph was made from.
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// The blocks, ordered by id and thus by address.
    pub fn blocks(&self) -> &[HeldBlock] {
        self.places.blocks()
    }

    /// The block that contains an address.
    pub fn block_at(&self, address: u64) -> Option<BlockId> {
        self.places.find(address)
    }

    /// What would be unreachable without a block: itself and all that it keeps. Zero for a block that is unreachable
    /// already.
    pub fn retained_by(&self, block: BlockId) -> Amount {
        self.number(block).map_or(Amount::ZERO, |number| self.held(number))
    }

    /// What keeps a block. None for an unreachable block.
    pub fn dominator(&self, block: BlockId) -> Option<Dominator> {
        let above = self.dominators.vertex(self.dominators.above(self.number(block)?));
        Some(match (above as usize).checked_sub(self.blocks().len()) {
            None => Dominator::Block(BlockId(above)),
            Some(root) => self.roots.get(root).map_or(Dominator::Several, |&root| Dominator::Root(root)),
        })
    }

    /// Blocks that pointers in this one lead to, by address.
    pub fn pointees(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        let row = if block.index() < self.blocks().len() { self.links.of(block.0) } else { &[] };
        row.iter().map(|&target| BlockId(target))
    }

    /// What stacks and roots retain.
    pub fn retained(&self) -> Retained {
        self.retained_at(&Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    pub fn retained_at(&self, pace: &Pace<'_>) -> Option<Retained> {
        Retained::new(self, pace)
    }

    /// What several roots keep together, by root.
    pub fn several(&self) -> Several {
        self.several_at(&Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    // Cost: that of the dominators if no single root keeps anything, plus at most a second for the roots.
    pub fn several_at(&self, pace: &Pace<'_>) -> Option<Several> {
        Several::new(self, pace)
    }

    /// What has become unreachable.
    pub fn unreachable(&self) -> Unreachable {
        self.unreachable_at(&Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    pub fn unreachable_at(&self, pace: &Pace<'_>) -> Option<Unreachable> {
        Unreachable::new(self, pace)
    }

    /// What keeps what, by stack: without rows that retain less than `least` bytes, and at most `levels` deep.
    pub fn tree(&self, least: i64, levels: usize) -> RetainedTree {
        self.tree_at(least, levels, &Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    pub fn tree_at(&self, least: i64, levels: usize, pace: &Pace<'_>) -> Option<RetainedTree> {
        RetainedTree::new(self, least, levels, pace)
    }

    /// The roots, each with the blocks that it refers to.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (RootId, &[u32])> {
        let first = self.blocks().len() as u32;
        self.roots.iter().zip(first..).map(|(&root, vertex)| (root, self.links.of(vertex)))
    }

    pub(crate) fn stacks(&self) -> &[NodeId] {
        &self.stacks
    }

    /// The index of a block's stack.
    pub(crate) fn row(&self, block: u32) -> usize {
        self.rows[block as usize] as usize
    }

    fn number(&self, block: BlockId) -> Option<u32> {
        self.dominators.number(block.0).filter(|_| block.index() < self.blocks().len())
    }

    /// What a number of the dominators retains.
    pub(crate) fn held(&self, number: u32) -> Amount {
        self.held[number as usize]
    }

    /// The block of a number. Roots have none.
    pub(crate) fn own(&self, number: u32) -> Amount {
        let vertex = self.dominators.vertex(number);
        self.blocks().get(vertex as usize).map_or(Amount::ZERO, HeldBlock::amount)
    }

    /// The label that a number is shown under: stacks come first, then roots, and [`Holder::Several`] last.
    pub(crate) fn label(&self, number: u32) -> u32 {
        let vertex = self.dominators.vertex(number);
        let root = |vertex: u32| vertex - self.blocks().len() as u32 + self.stacks.len() as u32;
        self.rows.get(vertex as usize).copied().unwrap_or_else(|| root(vertex))
    }

    /// Number of labels.
    pub(crate) fn labels(&self) -> usize {
        self.stacks.len() + self.roots.len() + 1
    }

    /// What a label stands for.
    pub(crate) fn holder(&self, label: u32) -> Holder {
        match self.stacks.get(label as usize) {
            Some(&node) => Holder::Stack(node),
            None => match self.roots.get(label as usize - self.stacks.len()) {
                Some(&root) => Holder::Root(root),
                None => Holder::Several,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn::{ROOTS_OF_PARTS, block, graph, numbered, parts, reached};
    use crate::graph::*;
    use proptest::prelude::*;

    /// Check the dominators of blocks that one root holds along one or two paths, that two roots hold, and that none
    /// does.
    #[test]
    fn keepers_are_those_all_ways_lead_through() {
        let blocks = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1)];
        let graph = graph(&blocks, "0A 0B AC BC CD 0E 1E FE FA");
        let dominator = |letter| graph.dominator(block(letter));
        assert_eq!(dominator('A'), Some(Dominator::Root(RootId(0))));
        assert_eq!(dominator('C'), Some(Dominator::Root(RootId(0))), "in two ways");
        assert_eq!(dominator('D'), Some(Dominator::Block(block('C'))));
        assert_eq!(dominator('E'), Some(Dominator::Several));
        assert_eq!(dominator('F'), None);
        let retained = "ABCDEF".chars().map(|letter| graph.retained_by(block(letter)).bytes);
        assert_eq!(retained.collect::<Vec<_>>(), [1, 2, 12, 8, 16, 0]);
        assert_eq!(graph.pointees(block('F')).collect::<Vec<_>>(), [block('A'), block('E')]);
        assert_eq!(graph.figures().reachable, Amount { blocks: 5, bytes: 31 });
    }

    /// Check that a stale word on a stack does not weaken what keeps a block, yet leads to as much as any root.
    #[test]
    fn stacks_keep_what_nothing_else_leads_to() {
        let graph = graph(&[(1, 1), (2, 1), (4, 1), (8, 1), (16, 1)], "0A AB 5B 5C CA CD 6E 5E");
        let dominator = |letter| graph.dominator(block(letter));
        assert_eq!(
            dominator('A'),
            Some(Dominator::Root(RootId(0))),
            "whatever a block says that only a stack leads to"
        );
        assert_eq!(dominator('B'), Some(Dominator::Block(block('A'))), "whatever a stack says");
        assert_eq!(dominator('C'), Some(Dominator::Root(RootId(5))));
        assert_eq!(dominator('D'), Some(Dominator::Block(block('C'))));
        assert_eq!(dominator('E'), Some(Dominator::Several), "of two stacks");
        assert_eq!(graph.retained_by(block('A')).bytes, 3);
        assert_eq!(graph.retained_by(block('C')).bytes, 12);
        assert_eq!(graph.figures().reachable.bytes, 31);
    }

    proptest! {
        /// Check what a block retains, and its dominator, against what becomes unreachable when blocks are removed.
        #[test]
        fn a_block_retains_what_is_gone_without_it(parts in parts()) {
            let graph = numbered(&parts.0, &parts.1, &parts.2);
            let all = reached(&parts, |_| false, None);
            for one in 0..parts.0.len() as u32 {
                let left = reached(&parts, |block| block == one, None);
                let unreachable = |&block: &usize| all[block] && !left[block];
                let expected = (0..all.len()).filter(unreachable).map(|block| Amount::block(parts.0[block].0)).sum::<Amount>();
                prop_assert_eq!(graph.retained_by(BlockId(one)), expected);
                let is_gone = |of: u32| unreachable(&(of as usize));
                match graph.dominator(BlockId(one)) {
                    None => prop_assert!(!all[one as usize]),
                    Some(Dominator::Block(dominator)) => {
                        let left = reached(&parts, |block| block == dominator.0, None);
                        prop_assert!(all[one as usize] && !left[one as usize] && !is_gone(dominator.0));
                    }
                    Some(Dominator::Root(root)) => {
                        prop_assert!(!reached(&parts, |_| false, Some(root.0))[one as usize]);
                    }
                    Some(Dominator::Several) => {
                        for root in ROOTS_OF_PARTS {
                            prop_assert!(reached(&parts, |_| false, Some(root))[one as usize]);
                        }
                    }
                }
            }
        }
    }
}
