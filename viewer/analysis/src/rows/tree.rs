//! Call trees.
//!
//! ```text
//!  nodes      0 [Everything]──1 app──2 main──3 a──4 b          an arena: links are indices,
//!                                            └────5 c          children have larger indices than parents
//! ```
//!
//! Every walk is a loop: a stack may be 10,000 frames deep, and a file may claim more.

use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::spread::Spread;
use crate::count::profile::Profile;
use crate::names::table::{LabelId, Names};
use capture::Tables;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// A function in the context of its callers, or, in an inverted tree, of its callees.
#[derive(Clone, Copy, Debug)]
pub struct TreeNode {
    /// The function.
    pub label: LabelId,
    pub(crate) parent: u32,
    pub(crate) first_child: u32,
    pub(crate) next_sibling: u32,
    /// The cost of it and everything below it.
    pub total: Amount,
}

const _: () = assert!(size_of::<TreeNode>() <= 40, "10^7 nodes fit into 400 MB");

/// A tree below one `[Everything]` node, whose total is the capture's.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) nodes: Vec<TreeNode>,
    /// By node, the variances of its total; empty when everything was recorded.
    pub(crate) spreads: Vec<Spread>,
}

impl Tree {
    /// From the processes through their outermost functions down to the allocations.
    pub fn top_down(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Self {
        super::top_down::build(profile, tables, names, metric)
    }

    /// As [`Self::top_down`], plus the node of each row of the profile; the root for rows that cost nothing.
    pub fn placed(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> (Self, Vec<u32>) {
        super::top_down::placed(profile, tables, names, metric)
    }

    /// From the allocating functions through their callers to the process. Nodes whose rank is below `least` are
    /// leaves: what is too small to show is not opened.
    pub fn inverted(profile: &Profile, tables: &Tables, names: &Names, metric: Metric, least: i64) -> Self {
        super::inverted::build(profile, tables, names, metric, least)
    }

    /// From rows in the order of a walk, each with its level and its total: rows of level 0 are right below the root.
    /// A row is at most one level below the one before it.
    pub fn of_walk(
        label: LabelId,
        total: Amount,
        rows: impl Iterator<Item = (usize, LabelId, Amount)>,
    ) -> Self {
        let mut tree = Self::new();
        (tree.nodes[0].label, tree.nodes[0].total) = (label, total);
        // The last row of each level so far, preceded by the root.
        let mut way = vec![Self::ROOT];
        for (level, label, total) in rows {
            way.truncate(level + 1);
            let parent = way.last().copied().unwrap_or(Self::ROOT);
            way.push(tree.push(label, parent, total));
        }
        tree
    }

    pub(crate) fn new() -> Self {
        let mut tree = Self { nodes: Vec::new(), spreads: Vec::new() };
        tree.push(LabelId::EVERYTHING, NONE, Amount::ZERO);
        tree
    }

    pub(crate) fn push(&mut self, label: LabelId, parent: u32, total: Amount) -> u32 {
        let id =
            u32::try_from(self.nodes.len()).ok().filter(|&id| id != NONE).expect("fewer nodes than 2^32");
        let mut node = TreeNode { label, parent, first_child: NONE, next_sibling: NONE, total };
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            node.next_sibling = parent.first_child;
            parent.first_child = id;
        }
        self.nodes.push(node);
        id
    }

    /// Number of the root.
    pub const ROOT: u32 = 0;

    /// A node by its number.
    pub fn node(&self, id: u32) -> &TreeNode {
        &self.nodes[id as usize]
    }

    /// Number of nodes: ids are smaller.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there is nothing below the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The parent; none for the root.
    pub fn parent(&self, id: u32) -> Option<u32> {
        Some(self.node(id).parent).filter(|&parent| parent != NONE)
    }

    /// By node, its parent; the root is its own.
    pub fn parents(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| if node.parent == NONE { Self::ROOT } else { node.parent }).collect()
    }

    /// The children, in no particular order.
    pub fn children(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.node(id).first_child;
        std::iter::from_fn(move || {
            let child = Some(next).filter(|&child| child != NONE)?;
            next = self.node(child).next_sibling;
            Some(child)
        })
    }

    /// The variances of a node's total, zero when everything was recorded.
    pub fn spread(&self, id: u32) -> Spread {
        self.spreads.get(id as usize).copied().unwrap_or_default()
    }

    /// The variances of [`Self::own`].
    pub fn own_spread(&self, id: u32) -> Spread {
        if self.spreads.is_empty() {
            return Spread::ZERO;
        }
        self.children(id).fold(self.spread(id), |rest, child| rest - self.spread(child))
    }

    /// What the node costs apart from its children.
    pub fn own(&self, id: u32) -> Amount {
        self.children(id).fold(self.node(id).total, |rest, child| rest - self.node(child).total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that rows of a walk become children of the rows that they follow, at their levels.
    #[test]
    fn walks_become_trees() {
        let rows = [(0, 1, 70), (1, 2, 50), (2, 3, 20), (1, 4, 20), (0, 5, 30)];
        let amount = |bytes| Amount { blocks: 1, bytes };
        let rows = rows.map(|(level, label, bytes)| (level, LabelId(label), amount(bytes)));
        let tree = Tree::of_walk(LabelId(9), amount(100), rows.into_iter());
        let parents: Vec<_> = (0..6).map(|id| tree.parent(id)).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(1), Some(0)]);
        let own: Vec<i64> = (0..6).map(|id| tree.own(id).bytes).collect();
        assert_eq!((own, tree.node(0).label), (vec![0, 0, 30, 20, 20, 30], LabelId(9)));
    }
}
