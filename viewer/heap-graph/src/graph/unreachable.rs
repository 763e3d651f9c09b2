//! Blocks that have become unreachable.
//!
//! Some of them are unreachable by themselves, the *heads*; others only because the head that held them is. Freeing a
//! head the way the program would have done frees the others as well, so heads are what to look at:
//!
//! ```text
//!  A ──► B ──► C          A is a head and claims B and C
//!  D ◄──► E ──► F         D is a head: on a cycle, the lowest address; it claims E and F
//! ```
//!
//! So there is one head for each group of blocks that refer to each other and that nothing outside of the group
//! refers to. What several heads lead to is claimed by the lowest of them: every unreachable block is claimed once.

use crate::amounts::most_first;
use crate::block::BlockId;
use crate::graph::HeapGraph;
use crate::pace::Pace;
use analysis::Amount;
use capture::NodeId;
use std::collections::{BTreeMap, HashMap};

/// What is unreachable, by its heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreachable {
    /// The total.
    pub total: Amount,
    /// The heads alone.
    pub heads_total: Amount,
    /// Each head, by address.
    pub heads: Vec<UnreachableHead>,
    /// Heads by stack, those that claim most first.
    pub stacks: Vec<UnreachableRow>,
}

/// A block that is unreachable by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreachableHead {
    /// The block.
    pub block: BlockId,
    /// The head, and all that is unreachable with it.
    pub claimed: Amount,
    /// A block that it leads to leads back to it.
    pub is_cycle: bool,
}

/// The heads of one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachableRow {
    /// The stack.
    pub node: NodeId,
    /// The heads.
    pub heads: Amount,
    /// These, and all that is unreachable with them.
    pub claimed: Amount,
    /// Heads that are part of a cycle.
    pub cycles: i64,
    /// What is unreachable with them, by the stacks of these blocks, the most first.
    pub leads_to: Vec<(NodeId, Amount)>,
}

impl Unreachable {
    pub(super) fn new(graph: &HeapGraph, pace: &Pace<'_>) -> Option<Self> {
        let (heads, led) = heads(graph, pace)?;
        let own = |head: &UnreachableHead| graph.blocks()[head.block.index()].amount();
        let mut stacks: BTreeMap<NodeId, UnreachableRow> = BTreeMap::new();
        for head in &heads {
            pace.step()?;
            let node = graph.blocks()[head.block.index()].node;
            let row = stacks.entry(node).or_insert_with(|| UnreachableRow {
                node,
                heads: Amount::ZERO,
                claimed: Amount::ZERO,
                cycles: 0,
                leads_to: Vec::new(),
            });
            row.heads += own(head);
            row.claimed += head.claimed;
            row.cycles += i64::from(head.is_cycle);
        }
        let node = |row: u32| graph.stacks()[row as usize];
        for ((head, of), amount) in led {
            pace.step()?;
            stacks.entry(node(head)).and_modify(|row| row.leads_to.push((node(of), amount)));
        }
        let mut stacks: Vec<UnreachableRow> = stacks.into_values().collect();
        for row in &mut stacks {
            row.leads_to.sort_unstable_by_key(|&(node, amount)| (most_first(amount), node));
        }
        stacks.sort_by_key(|row| (most_first(row.claimed), row.node));
        Some(Self {
            total: heads.iter().map(|head| head.claimed).sum::<Amount>(),
            heads_total: heads.iter().map(own).sum::<Amount>(),
            heads,
            stacks,
        })
    }
}

/// What heads lead to: by their stacks and those of the other blocks.
type Led = HashMap<(u32, u32), Amount>;

/// The heads, by address, and what they lead to.
///
/// Each unreachable block that no earlier one leads to is a candidate. A candidate may lead to another, but only a
/// later one to an earlier one, otherwise the other would not be a candidate. So a candidate that no later one leads
/// to is a head.
fn heads(graph: &HeapGraph, pace: &Pace<'_>) -> Option<(Vec<UnreachableHead>, Led)> {
    let claimed = |blocks: &mut dyn Iterator<Item = u32>, mut led: Option<&mut Led>| {
        let mut flood = UnreachableWalk::new(graph, pace)?;
        let mut heads = Vec::new();
        for block in blocks {
            heads.extend(flood.claim(block, led.as_deref_mut())?);
        }
        Some(heads)
    };
    let blocks = |heads: &[UnreachableHead]| heads.iter().map(|head| head.block.0).collect::<Vec<_>>();
    let candidates = blocks(&claimed(&mut (0..graph.blocks().len() as u32), None)?);
    let heads = blocks(&claimed(&mut candidates.into_iter().rev(), None)?);
    let mut led = Led::new();
    let heads = claimed(&mut heads.into_iter().rev(), Some(&mut led))?;
    Some((heads, led))
}

/// Claims unreachable blocks, each once.
struct UnreachableWalk<'a> {
    graph: &'a HeapGraph,
    pace: &'a Pace<'a>,
    is_claimed: Vec<bool>,
    open: Vec<u32>,
}

impl<'a> UnreachableWalk<'a> {
    fn new(graph: &'a HeapGraph, pace: &'a Pace<'a>) -> Option<Self> {
        // Reachable blocks are claimed by nobody, though unreachable ones may refer to them.
        let is_reachable = |block| pace.step().map(|()| graph.dominators.number(block).is_some());
        let is_claimed = (0..graph.blocks().len() as u32).map(is_reachable).collect::<Option<_>>()?;
        Some(Self { graph, pace, is_claimed, open: Vec::new() })
    }

    /// Claims a block and all it leads to, and notes whether any of these leads back. None when it is already
    /// claimed.
    fn claim(&mut self, block: u32, mut led: Option<&mut Led>) -> Option<Option<UnreachableHead>> {
        self.pace.step()?;
        if std::mem::replace(&mut self.is_claimed[block as usize], true) {
            return Some(None);
        }
        let (mut claimed, mut is_cycle) = (Amount::ZERO, false);
        self.open.push(block);
        while let Some(from) = self.open.pop() {
            self.pace.step()?;
            let amount = self.graph.blocks()[from as usize].amount();
            claimed += amount;
            if let Some(led) = led.as_deref_mut().filter(|_| from != block) {
                let rows = [block, from].map(|block| self.graph.row(block) as u32);
                *led.entry(rows.into()).or_default() += amount;
            }
            for &target in self.graph.links.of(from) {
                is_cycle |= target == block;
                if !std::mem::replace(&mut self.is_claimed[target as usize], true) {
                    self.open.push(target);
                }
            }
        }
        Some(Some(UnreachableHead { block: BlockId(block), claimed, is_cycle }))
    }
}

#[cfg(test)]
mod tests {
    use crate::drawn::{Parts, block, graph, numbered, parts, reached};
    use crate::graph::unreachable::*;
    use proptest::prelude::*;

    fn heads(unreachable: &Unreachable) -> Vec<(BlockId, i64, bool)> {
        unreachable.heads.iter().map(|head| (head.block, head.claimed.bytes, head.is_cycle)).collect()
    }

    /// Check the drawing, and sums by stack.
    #[test]
    fn heads_are_as_drawn() {
        let blocks = [(1, 1), (2, 2), (4, 2), (8, 1), (16, 1), (32, 2), (64, 3)];
        let unreachable = graph(&blocks, "AB BC DE ED EF 0G AG").unreachable();
        assert_eq!(heads(&unreachable), [(block('A'), 7, false), (block('D'), 56, true)]);
        let row = UnreachableRow {
            node: NodeId(1),
            heads: Amount { blocks: 2, bytes: 9 },
            claimed: Amount { blocks: 6, bytes: 63 },
            cycles: 1,
            leads_to: vec![
                (NodeId(2), Amount { blocks: 3, bytes: 38 }),
                (NodeId(1), Amount { blocks: 1, bytes: 16 }),
            ],
        };
        assert_eq!(
            (unreachable.total, unreachable.heads_total, unreachable.stacks),
            (row.claimed, row.heads, vec![row])
        );
    }

    /// Check that the lowest address is no head if a cycle holds it, and that the lower of two heads claims what both
    /// hold.
    #[test]
    fn what_cycles_hold_is_no_head() {
        let sizes = [(1, 1), (2, 1), (4, 1), (8, 1)];
        assert_eq!(heads(&graph(&sizes, "BC CB CA AD").unreachable()), [(block('B'), 15, true)]);
        assert_eq!(
            heads(&graph(&sizes, "AC BC CD").unreachable()),
            [(block('A'), 13, false), (block('B'), 2, false)]
        );
        assert_eq!(heads(&graph(&sizes, "DA AD CB BC BA").unreachable()), [(block('B'), 15, true)]);
        assert_eq!(graph(&sizes, "0A AB BC CD DA").unreachable(), Unreachable::default());
    }

    /// What one unreachable block leads to.
    fn led_to((blocks, _, links): &Parts, from: usize) -> Vec<bool> {
        reached(&(blocks.clone(), vec![(0, from as u32)], links.clone()), |_| false, None)
    }

    proptest! {
        /// Check that each unreachable block is claimed once, by a head that leads to it, and that nothing leads to a
        /// head except its cycle, on which it is the lowest.
        #[test]
        fn each_unreachable_block_has_one_head(parts in parts()) {
            let unreachable = numbered(&parts.0, &parts.1, &parts.2).unreachable();
            let all = reached(&parts, |_| false, None);
            let unreached: Vec<usize> = (0..all.len()).filter(|&block| !all[block]).collect();
            let ways: Vec<Vec<bool>> = (0..all.len()).map(|block| led_to(&parts, block)).collect();
            let mut claimed = vec![false; all.len()];
            for head in &unreachable.heads {
                let own = head.block.index();
                let before = claimed.clone();
                for &block in unreached.iter().filter(|&&block| ways[own][block]) {
                    claimed[block] = true;
                }
                let new = unreached.iter().filter(|&&block| claimed[block] && !before[block]);
                prop_assert_eq!(head.claimed, new.map(|&block| Amount::block(parts.0[block].0)).sum::<Amount>());
                let before = |&&block: &&usize| block != own && ways[block][own];
                for &block in unreached.iter().filter(before) {
                    prop_assert!(ways[own][block] && own < block);
                }
                prop_assert_eq!(head.is_cycle, unreached.iter().any(|block| before(&block)));
            }
            prop_assert!(unreached.iter().all(|&block| claimed[block]));
            prop_assert_eq!(unreachable.total, unreached.iter().map(|&block| Amount::block(parts.0[block].0)).sum::<Amount>());
            prop_assert_eq!(unreachable.total, unreachable.stacks.iter().map(|row| row.claimed).sum::<Amount>());
            for row in &unreachable.stacks {
                prop_assert_eq!(row.heads + row.leads_to.iter().map(|(_, amount)| *amount).sum::<Amount>(), row.claimed);
            }
            let mut by_stack: BTreeMap<NodeId, Amount> = BTreeMap::new();
            let own = unreachable.stacks.iter().map(|row| (row.node, row.heads));
            let led = unreachable.stacks.iter().flat_map(|row| row.leads_to.iter().copied());
            own.chain(led).for_each(|(node, amount)| *by_stack.entry(node).or_default() += amount);
            for (node, amount) in by_stack {
                let of = unreached.iter().filter(|&&block| parts.0[block].1 == node.0);
                prop_assert_eq!(amount, of.map(|&block| Amount::block(parts.0[block].0)).sum::<Amount>());
            }
        }
    }
}
