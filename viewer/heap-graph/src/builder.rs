//! Builds the graph of blocks and the pointers between them.

use super::block::{BlockId, HeldBlock};
use super::holder::{Rank, RootId, Source};
use super::links::LinksBuilder;
use super::pace::Pace;
use super::places::Places;
use crate::graph::{Figures, HeapGraph, UNHURRIED};

/// Takes the pointers of a process one by one.
///
/// They may come in any order; address order is cheapest.
///
/// ```
/// use capture::{NodeId, ThreadId};
/// use heap_graph::{GraphBuilder, HeldBlock, Rank, RootId, Source};
///
/// let block = |address, node| HeldBlock { address, size: 32, node: NodeId(node), thread: ThreadId(0) };
/// let mut builder = GraphBuilder::new(vec![block(0x1000, 1), block(0x1040, 2)]);
/// builder.pointer(0x10, 0x1000, |_| Source::Root { root: RootId(0), rank: Rank::Lasting, exact: false });
/// builder.pointer(0x1008, 0x1050, |_| unreachable!("it lies in a block"));
/// let graph = builder.finish();
/// assert_eq!(graph.retained().roots[0].retained.bytes, 64);
/// ```
#[derive(Debug)]
pub struct GraphBuilder {
    places: Places,
    links: LinksBuilder,
    references: Vec<((Rank, RootId), BlockId)>,
    /// The block that contained the last pointer.
    near: BlockId,
    figures: Figures,
}

impl GraphBuilder {
    /// For these live blocks, in any order.
    pub fn new(blocks: Vec<HeldBlock>) -> Self {
        let places = Places::new(blocks);
        let figures = Figures { overlapping: places.overlapping, ..Figures::default() };
        Self { places, links: LinksBuilder::default(), references: Vec::new(), near: BlockId(0), figures }
    }

    /// Adds a pointer to `to` that is stored at `from`. If `from` is in no block, `source` tells what that memory is.
    // Cost: one lookup, of `to`, while pointers are in the same block.
    pub fn pointer(&mut self, from: u64, to: u64, source: impl FnOnce(u64) -> Source) {
        self.figures.pointers += 1;
        let holder = match self.places.contains(self.near, from) {
            true => Some(self.near),
            false => self.places.find(from),
        };
        let Some(target) = self.places.find(to) else {
            self.figures.astray += 1;
            return;
        };
        if let Some(holder) = holder {
            self.near = holder;
            if self.links.len() < LinksBuilder::MOST {
                self.links.add(holder.0, target.0);
            } else {
                self.figures.left_out += 1;
            }
            return;
        }
        self.refer(source(from), target, to);
    }

    /// Adds a pointer to `to` from a place in use, which may be inside a block, as the stacks of coroutines are.
    pub fn pointer_in_use(&mut self, source: Source, to: u64) {
        self.figures.pointers += 1;
        match self.places.find(to) {
            Some(target) => self.refer(source, target, to),
            None => self.figures.astray += 1,
        }
    }

    fn refer(&mut self, source: Source, target: BlockId, to: u64) {
        match source {
            Source::Ignored => self.figures.ignored += 1,
            Source::Root { exact: true, .. } if self.places.blocks()[target.index()].address != to => {
                self.figures.ignored += 1;
            }
            Source::Root { .. } if self.references.len() >= LinksBuilder::MOST => self.figures.left_out += 1,
            Source::Root { root, rank, .. } => self.references.push(((rank, root), target)),
        }
    }

    /// Finishes the graph.
    pub fn finish(self) -> HeapGraph {
        self.finish_at(&Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    // Cost: up to a microsecond for each block, of which there may be millions.
    pub fn finish_at(self, pace: &Pace<'_>) -> Option<HeapGraph> {
        HeapGraph::new(self.places, self.links, self.references, self.figures, pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Amount;
    use capture::{NodeId, ThreadId};
    use proptest::prelude::*;
    use std::cell::Cell;

    fn held(address: u64, size: u64) -> HeldBlock {
        HeldBlock { address, size, node: NodeId(1), thread: ThreadId(0) }
    }

    /// Check that an exact root holds only what it points to the start of, that ignored memory holds nothing, and
    /// that everything is counted.
    #[test]
    fn sources_say_what_counts() {
        let mut builder = GraphBuilder::new(vec![held(0x1000, 16), held(0x2000, 16), held(0x3000, 8)]);
        let root = |exact| move |_| Source::Root { root: RootId(7), rank: Rank::Lasting, exact };
        builder.pointer(0x10, 0x1008, root(true));
        builder.pointer(0x18, 0x2000, root(true));
        builder.pointer(0x20, 0x1000, |_| Source::Ignored);
        builder.pointer(0x28, 0x3004, root(false));
        builder.pointer(0x30, 0x3008, root(false));
        let graph = builder.finish();
        let dominators = [0, 1, 2].map(|block| graph.dominator(BlockId(block)));
        let root = Some(super::super::Dominator::Root(RootId(7)));
        assert_eq!(dominators, [None, root, root]);
        assert_eq!(
            graph.figures(),
            Figures {
                blocks: Amount { blocks: 3, bytes: 40 },
                reachable: Amount { blocks: 2, bytes: 24 },
                roots: 1,
                links: 2,
                pointers: 5,
                astray: 1,
                ignored: 2,
                ..Figures::default()
            }
        );
    }

    /// Check that building a graph, and each query of it, is given up at the first check after nobody waits for it,
    /// and that there are as many checks as the work on blocks warrants.
    #[test]
    fn graphs_are_given_up() {
        const BLOCKS: u64 = 50_000;
        let builder = || {
            let mut builder = GraphBuilder::new((1..=BLOCKS).map(|block| held(block << 12, 16)).collect());
            for block in 1..BLOCKS / 2 {
                builder.pointer(block << 12, (block + 1) << 12, |_| unreachable!("it lies in a block"));
            }
            for root in 1..=2 {
                let of = Source::Root { root: RootId(root), rank: Rank::Lasting, exact: false };
                builder.pointer(u64::from(root), u64::from(root) << 12, |_| of);
            }
            builder
        };
        type Work<'a> = &'a dyn Fn(&HeapGraph, &Pace<'_>) -> Option<()>;
        let works: [(u64, Work<'_>); 5] = [
            (6 * BLOCKS, &|_, pace| builder().finish_at(pace).map(drop)),
            (2 * BLOCKS, &|graph, pace| graph.retained_at(pace).map(drop)),
            (BLOCKS / 2, &|graph, pace| graph.several_at(pace).map(drop)),
            (3 * BLOCKS, &|graph, pace| graph.unreachable_at(pace).map(drop)),
            (BLOCKS, &|graph, pace| graph.tree_at(0, 9, pace).map(drop)),
        ];
        for (steps, work) in works {
            let asked = Cell::new(0);
            // Whether all is done if every check from `last` on says no, and the number of checks.
            let done = |last: u64| {
                // What one query computes is cached for the next, which would check less often.
                let graph = builder().finish();
                asked.set(0);
                let is_wanted = || asked.replace(asked.get() + 1) < last;
                (work(&graph, &Pace::while_wanted(&is_wanted)).is_some(), asked.get())
            };
            let (is_done, questions) = done(u64::MAX);
            assert!(is_done && questions > steps >> 14, "{questions} for {steps}");
            (0..questions).for_each(|last| assert_eq!(done(last), (false, last + 1)));
        }
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0..64_u64, u64::MAX - 64..=u64::MAX, any::<u64>()]
    }

    proptest! {
        /// Check that anything may be claimed about memory: the result does not depend on the order, and nothing
        /// panics.
        #[test]
        fn anything_makes_a_graph(
            blocks in prop::collection::vec((number(), number(), any::<u32>()), 0..20),
            pointers in prop::collection::vec((number(), number(), 0..4_u32), 0..60),
        ) {
            let blocks: Vec<_> = blocks
                .into_iter()
                .map(|(address, size, node)| HeldBlock { address, size, node: NodeId(node), thread: ThreadId(node) })
                .collect();
            let graph = |turned: bool| {
                let mut blocks = blocks.clone();
                let mut pointers = pointers.clone();
                if turned {
                    blocks.reverse();
                    pointers.reverse();
                }
                let mut builder = GraphBuilder::new(blocks);
                for (from, to, kind) in pointers {
                    builder.pointer(from, to, |_| match kind {
                        0 => Source::Ignored,
                        kind => Source::Root {
                            root: RootId(kind.wrapping_mul(u32::MAX / 2)),
                            rank: if kind == 3 { Rank::Passing } else { Rank::Lasting },
                            exact: kind == 2,
                        },
                    });
                }
                builder.finish()
            };
            let (graph, turned) = (graph(false), graph(true));
            prop_assert_eq!(graph.figures(), turned.figures());
            prop_assert_eq!(graph.retained(), turned.retained());
            prop_assert_eq!(graph.unreachable(), turned.unreachable());
            prop_assert_eq!(graph.tree(0, usize::MAX), turned.tree(0, usize::MAX));
            let figures = graph.figures();
            prop_assert_eq!(figures.reachable + graph.unreachable().total, figures.blocks);
            for block in (0..30).chain([u32::MAX]).map(BlockId) {
                prop_assert_eq!(graph.dominator(block).is_none(), graph.retained_by(block).is_zero());
                prop_assert!(graph.pointees(block).all(|to| to != block));
            }
        }
    }
}
