//! Finds the hits of a search in the order of rows, without a list of all rows.

use super::labelled::Labelled;
use super::visible_tree::VisibleTree;
use analysis::Tree;

/// Which nodes are hits, or have a hit below them.
pub(crate) struct Hits {
    is_hit: Vec<bool>,
    leads_to_one: Vec<bool>,
}

impl Hits {
    /// The nodes whose label is marked in `named`.
    pub(crate) fn of(tree: &Tree, named: &[bool]) -> Self {
        let ids = 0..u32::try_from(tree.len()).unwrap_or(u32::MAX);
        let is_hit: Vec<bool> = ids.clone().map(|id| named[tree.node(id).label.index()]).collect();
        let mut leads_to_one = is_hit.clone();
        // Children come after their parents.
        for id in ids.rev().filter(|id| *id != Tree::ROOT) {
            if leads_to_one[id as usize]
                && let Some(parent) = tree.parent(id)
            {
                leads_to_one[parent as usize] = true;
            }
        }
        Self { is_hit, leads_to_one }
    }

    /// The next hit after a node, as if all rows were open; after the last one the first.
    pub(crate) fn after<V: Labelled>(&self, visible: &VisibleTree<'_, V>, from: u32) -> Option<u32> {
        if let Some(below) = self.first_among(visible, visible.children(from).iter().copied()) {
            return Some(below);
        }
        let mut at = from;
        while let Some(parent) = visible.tree.parent(at) {
            let siblings = visible.children(parent);
            let later = siblings.iter().copied().skip_while(|&id| id != at).skip(1);
            if let Some(found) = self.first_among(visible, later) {
                return Some(found);
            }
            at = parent;
        }
        self.first_among(visible, std::iter::once(Tree::ROOT))
    }

    /// The first hit in the first of several trees that has one.
    fn first_among<V: Labelled>(
        &self,
        visible: &VisibleTree<'_, V>,
        mut trees: impl Iterator<Item = u32>,
    ) -> Option<u32> {
        let mut at = trees.find(|&id| self.leads_to_one[id as usize])?;
        while !self.is_hit[at as usize] {
            at = visible.children(at).iter().copied().find(|&id| self.leads_to_one[id as usize])?;
        }
        Some(at)
    }
}
