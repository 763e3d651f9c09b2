//! Maps the stacks of a capture to nodes of another tree.

use capture::{FrameId, Node, NodeId, Tables};

/// A stack without a node so far.
const NONE: u32 = u32::MAX;

/// The node of each stack in a tree built from them, for one process at a time.
///
/// The stacks of a capture already form a tree, of addresses. Each of its nodes is mapped once, so building the other
/// tree is linear in the distinct stacks' nodes, not in traces × depth.
#[derive(Debug)]
pub struct StackMap<'a> {
    tables: &'a Tables,
    mapped: Vec<u32>,
    touched: Vec<NodeId>,
    path: Vec<(NodeId, Node)>,
}

impl<'a> StackMap<'a> {
    /// A map without any stack.
    pub fn new(tables: &'a Tables) -> Self {
        let mapped = vec![NONE; tables.nodes.len().max(1)];
        Self { tables, mapped, touched: Vec::new(), path: Vec::new() }
    }

    /// Forgets all stacks and maps the empty one to `root`: for the next process.
    pub fn restart(&mut self, root: u32) {
        for node in self.touched.drain(..) {
            self.mapped[node.index()] = NONE;
        }
        self.map(NodeId::ROOT, root);
    }

    /// The node of a stack: goes out to the nearest mapped caller, and back in. `called` returns the node of a frame
    /// below its caller's node.
    pub fn place(&mut self, stack: NodeId, mut called: impl FnMut(u32, FrameId) -> u32) -> u32 {
        let mut path = std::mem::take(&mut self.path);
        path.extend(self.tables.stack(stack).take_while(|(id, _)| self.mapped[id.index()] == NONE));
        // The caller of the last node on the path is mapped: the walk ended there, or at the root of all stacks.
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
