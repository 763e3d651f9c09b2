//! A call tree as a list: nesting would require a recursive reader, and stacks may be 10,000 deep.

use super::report::FunctionErrors;
use super::stack::{Who, who};
use analysis::{Cutoff, Metric, Shown, Tree};
use engine::Loaded;
use serde::Serialize;

/// A node. `parent` is the index of its parent, which is always earlier in the list.
#[derive(Serialize)]
pub(super) struct NodeFields<'a> {
    parent: Option<usize>,
    #[serde(flatten)]
    who: Who<'a>,
    total_blocks: i64,
    total_bytes: i64,
    self_blocks: i64,
    self_bytes: i64,
    #[serde(flatten)]
    errors: Option<FunctionErrors>,
    hidden_nodes: usize,
    hidden_blocks: i64,
    hidden_bytes: i64,
}

/// The nodes that are large enough, each after its parent and in order of rank.
pub(super) fn nodes<'a>(
    loaded: &'a Loaded,
    tree: &Tree,
    metric: Metric,
    cutoff: Cutoff,
) -> Vec<NodeFields<'a>> {
    let mut fields = Vec::new();
    let mut walk = vec![(Tree::ROOT, None)];
    while let Some((id, parent)) = walk.pop() {
        let shown = Shown::of(tree, id, &loaded.names, metric, cutoff);
        let node = tree.node(id);
        let own = tree.own(id);
        let place = fields.len();
        fields.push(NodeFields {
            parent,
            who: who(&loaded.tables, &loaded.names, node.label),
            total_blocks: node.total.blocks,
            total_bytes: node.total.bytes,
            self_blocks: own.blocks,
            self_bytes: own.bytes,
            errors: FunctionErrors::new(loaded, tree.spread(id), tree.own_spread(id)),
            hidden_nodes: shown.hidden,
            hidden_blocks: shown.hidden_total.blocks,
            hidden_bytes: shown.hidden_total.bytes,
        });
        walk.extend(shown.children.iter().rev().map(|&child| (child, Some(place))));
    }
    fields
}
