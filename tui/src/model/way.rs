//! The way to a node, by names: it means the same in another tree.

use crate::work::View;
use viewer::analysis::Tree;

/// The names from the root to a node.
pub(crate) fn names(view: &View, tree: &Tree, id: u32) -> Vec<String> {
    let way = std::iter::successors(Some(id), |&id| tree.parent(id));
    let mut names: Vec<String> =
        way.map(|id| view.loaded.names.label(tree.node(id).label).name.clone()).collect();
    names.reverse();
    names
}

/// The node that names lead to, or the last one on the way that is there.
pub(crate) fn follow(view: &View, tree: &Tree, way: &[String]) -> u32 {
    let mut at = Tree::ROOT;
    for name in way.iter().skip(1) {
        let is_it = |id: &u32| view.loaded.names.label(tree.node(*id).label).name == *name;
        let Some(next) = tree.children(at).find(is_it) else { break };
        at = next;
    }
    at
}
