//! Where the stacks of a capture lie in a tree of another kind.

use capture::{FrameId, Node, NodeId, Tables};

/// Stands for a stack that has no node yet.
const NONE: u32 = u32::MAX;

/// The node of each stack in a tree that is made of them, for one process at a time.
///
/// The stacks of a capture are a tree already, of addresses. Each of its nodes is mapped once, so making the other tree
/// is linear in the different stacks' nodes, not in traces × depth.
#[derive(Debug)]
pub(crate) struct StackMap<'a> {
    tables: &'a Tables,
    mapped: Vec<u32>,
    touched: Vec<NodeId>,
    path: Vec<(NodeId, Node)>,
}

impl<'a> StackMap<'a> {
    /// A map of no stack.
    pub(crate) fn new(tables: &'a Tables) -> Self {
        let mapped = vec![NONE; tables.nodes.len().max(1)];
        Self { tables, mapped, touched: Vec::new(), path: Vec::new() }
    }

    /// Forgets all stacks and puts the empty one at `root`: for another process.
    pub(crate) fn restart(&mut self, root: u32) {
        for node in self.touched.drain(..) {
            self.mapped[node.index()] = NONE;
        }
        self.map(NodeId::ROOT, root);
    }

    /// The node of a stack: outwards to the nearest caller that has one, and back in. `called` gives the node of a frame
    /// below the node of its caller.
    pub(crate) fn place(&mut self, stack: NodeId, mut called: impl FnMut(u32, FrameId) -> u32) -> u32 {
        let mut path = std::mem::take(&mut self.path);
        path.extend(self.tables.stack(stack).take_while(|(id, _)| self.mapped[id.index()] == NONE));
        // The last caller's caller is mapped: the path ended there, or at the root of all stacks.
        let outer = match path.last() {
            Some(&(id, node)) if node.parent < id => node.parent,
            Some(_) => NodeId::ROOT,
            None => stack,
        };
        let mut at = self.mapped[outer.index()];
        while let Some((id, node)) = path.pop() {
            at = called(at, node.frame);
            self.map(id, at);
        }
        self.path = path;
        at
    }

    fn map(&mut self, stack: NodeId, node: u32) {
        self.mapped[stack.index()] = node;
        self.touched.push(stack);
    }
}
