//! Numbers the stacks and roots of a scan in the order in which they are first referred to.

use capture::NodeId;
use heap_graph::{Holder, RootId};
use std::collections::HashMap;

/// What has a number so far.
#[derive(Default)]
pub(super) struct Numbering {
    pub(super) stacks: Vec<NodeId>,
    pub(super) roots: Vec<RootId>,
    known: HashMap<Holder, i64>,
}

impl Numbering {
    /// Stacks are numbered −1, −2 and so on, roots 1, 2 and so on; 0 is [`Holder::Several`].
    pub(super) fn holder(&mut self, holder: Holder) -> i64 {
        let Self { stacks, roots, known } = self;
        *known.entry(holder).or_insert_with(|| match holder {
            Holder::Several => 0,
            Holder::Stack(node) => {
                stacks.push(node);
                -(stacks.len() as i64)
            }
            Holder::Root(root) => {
                roots.push(root);
                roots.len() as i64
            }
        })
    }

    /// The number of a stack, from 0.
    pub(super) fn stack(&mut self, node: NodeId) -> i64 {
        -1 - self.holder(Holder::Stack(node))
    }
}
