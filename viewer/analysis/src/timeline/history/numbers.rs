//! Numbers the stacks of processes in the order in which they are met.

use capture::{NodeId, ProcessId};
use hashbrown::HashMap;

const NONE: u32 = u32::MAX;

/// Stacks by number. Unlike [`Sites`](crate::count::sites::Sites) it keeps no sums, so successive lookups touch
/// neighbouring memory.
#[derive(Debug)]
pub(super) struct Numbers {
    /// By node, the process that used this stack last, and its number.
    recent: Vec<(ProcessId, u32)>,
    known: HashMap<(ProcessId, NodeId), u32>,
    met: Vec<(ProcessId, NodeId)>,
}

impl Numbers {
    /// For a capture with this many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self { recent: vec![(ProcessId(0), NONE); nodes.max(1)], known: HashMap::new(), met: Vec::new() }
    }

    /// The number of a stack in a process. A stack that the capture does not define counts as the empty one.
    // Cost: one load when the same process used the stack last.
    #[inline]
    pub(super) fn of(&mut self, process: ProcessId, node: NodeId) -> u32 {
        let node = if node.index() < self.recent.len() { node } else { NodeId::ROOT };
        match self.recent[node.index()] {
            (of, number) if of == process && number != NONE => number,
            _ => self.find_or_add(process, node),
        }
    }

    fn find_or_add(&mut self, process: ProcessId, node: NodeId) -> u32 {
        let next = u32::try_from(self.met.len()).expect("fewer stacks than 2^32");
        let number = *self.known.entry((process, node)).or_insert(next);
        if number == next {
            self.met.push((process, node));
        }
        self.recent[node.index()] = (process, number);
        number
    }

    /// All stacks, by number.
    pub(super) fn into_met(self) -> Vec<(ProcessId, NodeId)> {
        self.met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that processes that share a stack have separate numbers, which are found again in any order, and that a
    /// stack outside of the table counts as the empty one.
    #[test]
    fn shared_stacks_have_a_number_per_process() {
        let mut numbers = Numbers::new(3);
        let (first, second) = ((ProcessId(0), NodeId(2)), (ProcessId(1), NodeId(2)));
        for _ in 0..2 {
            assert_eq!(numbers.of(first.0, first.1), 0);
            assert_eq!(numbers.of(second.0, second.1), 1);
        }
        assert_eq!(numbers.of(ProcessId(1), NodeId(3)), 2);
        assert_eq!(numbers.of(ProcessId(1), NodeId::ROOT), 2);
        assert_eq!(numbers.into_met(), [first, second, (ProcessId(1), NodeId::ROOT)]);
    }
}
