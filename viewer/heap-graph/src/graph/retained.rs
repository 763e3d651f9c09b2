//! What stacks and roots retain, and what keeps their blocks.
//!
//! A stack retains what is reachable only through its blocks together. These often keep each other: those of a list, or
//! of a tree. And several of them may keep what none of them keeps alone: see [`crate::graph::groups`].

use crate::amounts::most_first;
use crate::graph::HeapGraph;
use crate::graph::groups::{Groups, Labels};
use crate::holder::{Holder, RootId};
use crate::pace::Pace;
use analysis::Amount;
use capture::NodeId;
use std::collections::HashMap;

/// Holders that are named for each stack, those that keep most of it.
const NAMED: usize = 3;

/// What is reachable, by what retains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// The total.
    pub reachable: Amount,
    /// The part that no single root keeps.
    pub several: Amount,
    /// Roots, those that retain most first.
    pub roots: Vec<RootRow>,
    /// Stacks of reachable blocks, those that retain most first.
    pub stacks: Vec<RetainedRow>,
}

/// A root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRow {
    /// The root.
    pub root: RootId,
    /// Blocks it refers to, some of which others may refer to as well.
    pub direct: Amount,
    /// What only it keeps.
    pub retained: Amount,
}

/// The reachable blocks of one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedRow {
    /// The stack.
    pub node: NodeId,
    /// The blocks.
    pub own: Amount,
    /// These, and what they keep together. Stacks keep each other, so these numbers add up to more than the total.
    pub retained: Amount,
    /// They may retain more: there are so many stacks that it was not found out what these blocks keep together.
    pub is_least: bool,
    /// Number of them that a root refers to.
    pub direct: i64,
    /// What keeps the topmost of what they retain, with how much of it, the most first.
    pub holders: Vec<(Holder, Amount)>,
    /// Number of further holders.
    pub more_holders: usize,
}

impl Retained {
    pub(super) fn new(graph: &HeapGraph, pace: &Pace<'_>) -> Option<Self> {
        let row = |&node: &NodeId| RetainedRow {
            node,
            own: Amount::ZERO,
            retained: Amount::ZERO,
            is_least: false,
            direct: 0,
            holders: Vec::new(),
            more_holders: 0,
        };
        let mut stacks: Vec<RetainedRow> = graph.stacks().iter().map(row).collect();
        for number in 0..graph.dominators.len() as u32 {
            pace.step()?;
            if let Some(row) = stacks.get_mut(graph.label(number) as usize) {
                row.own += graph.own(number);
            }
        }
        let labels = Labels { count: graph.labels(), of: &|number| graph.label(number) };
        let groups = Groups::new(graph, labels, pace)?;
        for ((label, above), retained) in &groups.retained {
            if let Some(row) = stacks.get_mut(*label as usize) {
                row.is_least = groups.is_least[*label as usize];
                row.retained += *retained;
                row.holders.push((graph.holder(*above), *retained));
            }
        }
        let mut is_direct = vec![false; graph.blocks().len()];
        for (_, blocks) in graph.roots() {
            for &block in blocks {
                pace.step()?;
                let is_known = std::mem::replace(&mut is_direct[block as usize], true);
                stacks[graph.row(block)].direct += i64::from(!is_known);
            }
        }
        stacks.retain(|row| !row.own.is_zero());
        for row in &mut stacks {
            row.holders.sort_unstable_by_key(|&(holder, amount)| (most_first(amount), holder));
            row.more_holders = row.holders.len().saturating_sub(NAMED);
            row.holders.truncate(NAMED);
        }
        stacks.sort_unstable_by_key(|row| (most_first(row.retained), row.node));
        let roots = roots(graph, &groups.retained);
        let reachable = graph.held(0);
        let several = roots.iter().fold(reachable, |several, row| several - row.retained);
        Some(Self { reachable, several, roots, stacks })
    }
}

fn roots(graph: &HeapGraph, retained: &HashMap<(u32, u32), Amount>) -> Vec<RootRow> {
    let (first, everything) = (graph.stacks().len() as u32, graph.label(0));
    let row = |((root, blocks), label): ((RootId, &[u32]), u32)| RootRow {
        root,
        direct: blocks.iter().map(|&block| graph.blocks()[block as usize].amount()).sum::<Amount>(),
        retained: retained.get(&(label, everything)).copied().unwrap_or_default(),
    };
    let mut roots: Vec<RootRow> = graph.roots().zip(first..).map(row).collect();
    roots.sort_unstable_by_key(|row| (most_first(row.retained), most_first(row.direct), row.root));
    roots
}

#[cfg(test)]
mod tests {
    use crate::drawn::{amount, graph, numbered, parts, reached};
    use crate::graph::retained::*;
    use proptest::prelude::*;

    /// Check a list and a block that two roots hold: nothing is counted twice, and holders are named.
    #[test]
    fn topmost_blocks_are_added_up() {
        let node = |holder| Holder::Stack(NodeId(holder));
        // A holds a list of B, C and D; two roots also hold D, which holds E.
        let graph = graph(&[(100, 1), (10, 2), (10, 2), (10, 2), (5, 3)], "0A AB BC CD 0D 1D DE");
        let found = graph.retained();
        let row = |node, own, retained, direct, holders: &[(Holder, Amount)]| {
            let holders = holders.to_vec();
            RetainedRow {
                node: NodeId(node),
                own,
                retained,
                is_least: false,
                direct,
                holders,
                more_holders: 0,
            }
        };
        assert_eq!(
            found.stacks,
            [
                row(1, amount(1, 100), amount(3, 120), 1, &[(Holder::Root(RootId(0)), amount(3, 120))]),
                row(
                    2,
                    amount(3, 30),
                    amount(4, 35),
                    1,
                    &[(node(1), amount(2, 20)), (Holder::Several, amount(2, 15))]
                ),
                row(3, amount(1, 5), amount(1, 5), 0, &[(node(2), amount(1, 5))]),
            ]
        );
        let root = |root, direct, retained| RootRow { root: RootId(root), direct, retained };
        assert_eq!(
            found.roots,
            [root(0, amount(2, 110), amount(3, 120)), root(1, amount(1, 10), Amount::ZERO)]
        );
        assert_eq!((found.reachable, found.several), (amount(5, 135), amount(2, 15)));
    }

    /// Check that of many holders those that keep most are named.
    #[test]
    fn few_holders_are_named() {
        let graph = graph(&[(1, 9), (2, 9), (3, 9), (4, 9), (5, 9)], "0A 1B 2C 3D 4E");
        let row = &graph.retained().stacks[0];
        let named: Vec<_> = row.holders.iter().map(|(holder, amount)| (*holder, amount.bytes)).collect();
        let root = |root, bytes| (Holder::Root(RootId(root)), bytes);
        assert_eq!((named, row.more_holders), (vec![root(4, 5), root(3, 4), root(2, 3)], 2));
    }

    proptest! {
        /// Check sums by stack and by root against what becomes unreachable when blocks and roots are removed.
        #[test]
        fn sums_equal_removal(parts in parts()) {
            let found = numbered(&parts.0, &parts.1, &parts.2).retained();
            let all = reached(&parts, |_| false, None);
            let size = |block: usize| Amount::block(parts.0[block].0);
            let unreachable = |left: &[bool]| {
                let is_gone = |&block: &usize| all[block] && !left[block];
                (0..all.len()).filter(is_gone).map(size).sum::<Amount>()
            };
            for row in &found.stacks {
                let ours: Vec<usize> =
                    (0..all.len()).filter(|&block| all[block] && parts.0[block].1 == row.node.0).collect();
                prop_assert_eq!(row.own, ours.iter().map(|&block| size(block)).sum::<Amount>());
                let without = reached(&parts, |block| ours.contains(&(block as usize)), None);
                prop_assert_eq!(row.retained, unreachable(&without));
                let direct = |block: &&usize| parts.1.iter().any(|&(_, to)| to as usize == **block);
                prop_assert_eq!(row.direct, ours.iter().filter(direct).count() as i64);
                let named = row.holders.iter().map(|(_, amount)| *amount).sum::<Amount>();
                prop_assert_eq!(named == row.retained, row.more_holders == 0);
            }
            prop_assert_eq!(found.stacks.iter().map(|row| row.own).sum::<Amount>(), (0..all.len()).filter(|&block| all[block]).map(size).sum::<Amount>());
            let by_roots = found.roots.iter().map(|row| row.retained).sum::<Amount>();
            prop_assert_eq!(by_roots + found.several, found.reachable);
            for row in &found.roots {
                prop_assert_eq!(row.retained, unreachable(&reached(&parts, |_| false, Some(row.root.0))));
            }
        }
    }
}
