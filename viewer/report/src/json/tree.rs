//! A call tree as a list: nesting would require a recursive reader, and stacks may be 10,000 deep.

use super::document::Fields;
use crate::table::{self, Value};
use analysis::{Cutoff, Metric, Shown, Tree};
use engine::Loaded;
use serde::{Serialize, Serializer};

/// A document that ends with nodes.
#[derive(Serialize)]
pub(super) struct WithNodes<'a, N> {
    #[serde(flatten)]
    pub(super) fields: Fields<'a>,
    pub(super) nodes: N,
}

/// The nodes that are large enough, each after its parent and in order of rank. `parent` is the index of a node's
/// parent, which is always earlier in the list.
pub(super) struct Nodes<'a, F> {
    pub(super) loaded: &'a Loaded,
    pub(super) tree: &'a Tree,
    pub(super) metric: Metric,
    pub(super) cutoff: Cutoff,
    /// The numbers of a node.
    pub(super) numbers: F,
}

impl<F: Fn(u32, &Shown) -> table::Fields> Serialize for Nodes<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { loaded, tree, metric, cutoff, .. } = self;
        let mut walk = vec![(Tree::ROOT, None)];
        serializer.collect_seq((0_u64..).map_while(|place| {
            let (id, parent) = walk.pop()?;
            let shown = Shown::of(tree, id, &loaded.names, metric, cutoff);
            walk.extend(shown.children.iter().rev().map(|&child| (child, Some(place))));
            let mut fields =
                vec![("parent", Value::known(parent.map(Value::Id))), ("", Value::Who(tree.node(id).label))];
            fields.extend((self.numbers)(id, &shown));
            Some(Fields { loaded, fields })
        }))
    }
}
