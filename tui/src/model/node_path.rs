//! The path to a node, by what tells siblings apart: it is valid in another tree, too.

use super::labelled::Labelled;
use analysis::Tree;

/// The marks from the root to a node.
pub(crate) fn marks<V: Labelled>(shown: &V, tree: &Tree, id: u32) -> Vec<String> {
    let path = std::iter::successors(Some(id), |&id| tree.parent(id));
    let mut marks: Vec<String> = path.map(|id| shown.mark(tree.node(id).label).into_owned()).collect();
    marks.reverse();
    marks
}

/// The node that a path leads to, or the last one on it that exists.
pub(crate) fn follow<V: Labelled>(shown: &V, tree: &Tree, path: &[String]) -> u32 {
    let mut at = Tree::ROOT;
    for mark in path.iter().skip(1) {
        let is_it = |id: &u32| shown.mark(tree.node(*id).label) == *mark;
        let Some(next) = tree.children(at).find(is_it) else { break };
        at = next;
    }
    at
}
