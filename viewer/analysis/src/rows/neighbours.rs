//! The surroundings of a function: who calls it, and what it calls, over the whole tree.
//!
//! ```text
//!  [Everything]                        of f     callers   main 30, g 5
//!   └─ app ── main ─┬─ f ──┬─ a 10              below     f ─┬─ a 15
//!                   │      └─ f ── b 20                      └─ f ── b 20
//!                   └─ g ── f ── a 5
//! ```
//!
//! If a function calls itself, only the outermost call on each path counts, so nothing is counted twice: the callers
//! and the tree below both add up to the function's total.

use super::tree::Tree;
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::names::table::LabelId;
use std::collections::BTreeMap;

/// Who calls a function, and what it calls.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The functions that call it directly, with what they cost through it; the most expensive first.
    pub callers: Vec<(LabelId, Amount)>,
    /// Everything below it, as one tree with it as the root.
    pub below: Tree,
}

impl Neighbours {
    /// The neighbours of one function of a top-down tree.
    pub fn of(tree: &Tree, label: LabelId, metric: Metric) -> Self {
        let calls = outermost(tree, label);
        let mut callers: BTreeMap<LabelId, Amount> = BTreeMap::new();
        for &call in &calls {
            if let Some(caller) = tree.parent(call) {
                *callers.entry(tree.node(caller).label).or_default() += tree.node(call).total;
            }
        }
        let mut callers: Vec<_> = callers.into_iter().collect();
        callers.sort_by_key(|&(label, amount)| (std::cmp::Reverse(metric.order(amount)), label));
        Self { callers, below: merge(tree, label, calls) }
    }
}

/// The nodes of a function that are not below another node of it.
fn outermost(tree: &Tree, label: LabelId) -> Vec<u32> {
    let mut found = Vec::new();
    let mut walk = vec![Tree::ROOT];
    while let Some(id) = walk.pop() {
        if tree.node(id).label == label {
            found.push(id);
        } else {
            walk.extend(tree.children(id));
        }
    }
    found
}

/// Merges the trees below several nodes of one function.
// Cost: each node below is sorted once among those of its level.
fn merge(tree: &Tree, label: LabelId, calls: Vec<u32>) -> Tree {
    let mut merged = Tree::new();
    merged.nodes[Tree::ROOT as usize].label = label;
    merged.nodes[Tree::ROOT as usize].total = sum(tree, &calls);
    let mut open = vec![(Tree::ROOT, calls)];
    while let Some((into, sources)) = open.pop() {
        let mut below: Vec<u32> = sources.iter().flat_map(|&source| tree.children(source)).collect();
        below.sort_by_key(|&child| tree.node(child).label);
        for same in below.chunk_by(|&a, &b| tree.node(a).label == tree.node(b).label) {
            let id = merged.push(tree.node(same[0]).label, into, sum(tree, same));
            open.push((id, same.to_vec()));
        }
    }
    merged
}

fn sum(tree: &Tree, nodes: &[u32]) -> Amount {
    nodes.iter().map(|&id| tree.node(id).total).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::tree::NONE;
    use proptest::prelude::*;

    const MAIN: LabelId = LabelId(1);
    const F: LabelId = LabelId(2);
    const G: LabelId = LabelId(3);
    const A: LabelId = LabelId(4);
    const B: LabelId = LabelId(5);

    fn bytes(bytes: i64) -> Amount {
        Amount { blocks: 1, bytes }
    }

    /// The tree of the picture above, without its process.
    fn picture() -> Tree {
        let mut tree = Tree::new();
        tree.nodes[0].total = bytes(35);
        let main = tree.push(MAIN, Tree::ROOT, bytes(35));
        let f = tree.push(F, main, bytes(30));
        tree.push(A, f, bytes(10));
        let again = tree.push(F, f, bytes(20));
        tree.push(B, again, bytes(20));
        let g = tree.push(G, main, bytes(5));
        let f = tree.push(F, g, bytes(5));
        tree.push(A, f, bytes(5));
        tree
    }

    /// Check the picture: callers, and what is below, of a function that calls itself.
    #[test]
    fn callers_and_the_tree_below_add_up() {
        let Neighbours { callers, below } = Neighbours::of(&picture(), F, Metric::Peak);
        let callers: Vec<_> = callers.iter().map(|(label, amount)| (*label, amount.bytes)).collect();
        assert_eq!(callers, [(MAIN, 30), (G, 5)]);
        let node = |id: u32| (below.node(id).label, below.node(id).total.bytes);
        assert_eq!(node(Tree::ROOT), (F, 35));
        let mut first: Vec<_> = below.children(Tree::ROOT).map(node).collect();
        first.sort();
        assert_eq!(first, [(F, 20), (A, 15)]);
    }

    /// Check that a function that does not occur has no neighbours, and that everything is below the root.
    #[test]
    fn edges_have_neighbours_too() {
        let nobody = Neighbours::of(&picture(), LabelId(9), Metric::Peak);
        assert!(nobody.callers.is_empty() && nobody.below.is_empty());
        let everything = Neighbours::of(&picture(), LabelId::EVERYTHING, Metric::Peak);
        assert!(everything.callers.is_empty());
        assert_eq!(everything.below.len(), picture().len());
    }

    proptest! {
        /// Check in trees of any shape that the callers and the merged tree both add up to the outermost calls.
        #[test]
        fn sums_are_kept(parents in prop::collection::vec((0..40_u32, 1..6_u32, 0..100_i64), 0..60), label in 1..6_u32) {
            let mut tree = Tree::new();
            for &(parent, label, own) in &parents {
                let parent = parent % u32::try_from(tree.len()).unwrap();
                let mut at = tree.push(LabelId(label), parent, Amount::ZERO);
                while at != NONE {
                    tree.nodes[at as usize].total += bytes(own);
                    at = tree.nodes[at as usize].parent;
                }
            }
            let expected = sum(&tree, &outermost(&tree, LabelId(label)));
            let Neighbours { callers, below } = Neighbours::of(&tree, LabelId(label), Metric::Peak);
            prop_assert_eq!(below.node(Tree::ROOT).total, expected);
            prop_assert_eq!(callers.iter().fold(Amount::ZERO, |sum, (_, amount)| sum + *amount), expected);
        }
    }
}
