//! Whether stacks reach the root.

use crate::base::named::named;
use crate::count::profile::Profile;
use capture::{Frame, Node, NodeId, Tables};

named! {
    /// How a stack ends on its outer side.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StackState {
        /// The root was reached.
        #[default]
        Complete = "complete",
        /// The depth limit cut the outer frames off.
        Truncated = "truncated",
        /// Unwinding failed, or there is no stack at all.
        Incomplete = "incomplete",
    }
}

/// How many stacks are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateShare {
    /// Distinct stacks that allocated.
    pub distinct: u64,
    /// Of these, those that reach the root.
    pub complete: u64,
    /// Those that the depth limit truncated.
    pub truncated: u64,
    /// Those that ended earlier for another reason.
    pub incomplete: u64,
    /// Allocations of complete stacks.
    pub complete_allocations: i64,
    /// Allocations of all stacks.
    pub allocations: i64,
}

/// The state of every stack, by [`NodeId`]. One pass, because parents come before their children.
pub fn stack_states(tables: &Tables) -> Vec<StackState> {
    let mut states = vec![StackState::Incomplete; tables.nodes.len().max(1)];
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        states[index] = outermost(tables, node).unwrap_or_else(|| states[parent(index, node)]);
    }
    states
}

/// Counts the stacks that allocated by state.
pub fn state_share(profile: &Profile, states: &[StackState]) -> StateShare {
    let mut share = StateShare::default();
    let mut seen = vec![false; states.len()];
    // Rows with samples only have not allocated.
    for site in profile.sites.iter().filter(|site| !site.cost.allocated.is_zero()) {
        let index = site.node.index().min(states.len() - 1);
        let state = states[index];
        share.allocations += site.cost.allocated.blocks;
        if state == StackState::Complete {
            share.complete_allocations += site.cost.allocated.blocks;
        }
        if std::mem::replace(&mut seen[index], true) {
            continue;
        }
        share.distinct += 1;
        match state {
            StackState::Complete => share.complete += 1,
            StackState::Truncated => share.truncated += 1,
            StackState::Incomplete => share.incomplete += 1,
        }
    }
    share
}

/// The parent's index, 0 if it does not precede the child.
fn parent(index: usize, node: &Node) -> usize {
    Some(node.parent.index()).filter(|&parent| parent < index).unwrap_or(0)
}

/// The state that an outermost frame gives its stack; none for a frame with a caller. A call kind alone is a stack
/// without frames.
fn outermost(tables: &Tables, node: &Node) -> Option<StackState> {
    match tables.frames.get(node.frame.index()) {
        Some(Frame::Pseudo(capture::Pseudo::Truncated)) => Some(StackState::Truncated),
        Some(Frame::Pseudo(pseudo)) if !pseudo.is_call() => Some(StackState::Incomplete),
        Some(Frame::Code { .. }) if node.parent == NodeId::ROOT => Some(StackState::Complete),
        _ => None,
    }
}
