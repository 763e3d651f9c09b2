//! The rows of a profile: one per stack and process.

use super::cost::{Amount, Cost};
use super::hash::Seed;
use capture::{NodeId, ProcessId};
use hashbrown::HashTable;

/// Position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SiteId(pub(super) u32);

const NONE: u32 = u32::MAX;

/// One stack of one process while events are being counted.
#[derive(Clone, Debug)]
pub(super) struct SiteState {
    pub(super) process: ProcessId,
    /// Stands in the list of [`super::peak::Peak`].
    pub(super) dirty: bool,
    pub(super) node: NodeId,
    /// Live at this moment.
    pub(super) held: Amount,
    pub(super) cost: Cost,
}

/// All rows, found by stack and process.
///
/// ```text
///  recent[node] ──► row of the process that used this stack last      one load, nearly always right
///  index        ──► row of (process, node)                            when processes share the stack
/// ```
#[derive(Debug)]
pub(super) struct Sites {
    seed: Seed,
    recent: Vec<u32>,
    index: HashTable<u32>,
    rows: Vec<SiteState>,
}

impl Sites {
    /// For a capture with this many nodes.
    pub(super) fn new(seed: Seed, nodes: usize) -> Self {
        Self { seed, recent: vec![NONE; nodes.max(1)], index: HashTable::new(), rows: Vec::new() }
    }

    /// The row of a stack in a process. A stack that the capture does not define counts as the empty stack.
    // Cost: two loads when the same process used the stack last.
    pub(super) fn of(&mut self, process: ProcessId, node: NodeId) -> SiteId {
        let node = if node.index() < self.recent.len() { node } else { NodeId::ROOT };
        let recent = self.recent[node.index()];
        if recent != NONE && self.rows[recent as usize].process == process {
            return SiteId(recent);
        }
        let row = self.find_or_add(process, node);
        self.recent[node.index()] = row;
        SiteId(row)
    }

    #[cold]
    fn find_or_add(&mut self, process: ProcessId, node: NodeId) -> u32 {
        let Self { seed, index, rows, .. } = self;
        let hash = seed.pair(process.0, node.0);
        let found = index.find(hash, |&row| {
            let row = &rows[row as usize];
            row.process == process && row.node == node
        });
        if let Some(&row) = found {
            return row;
        }
        let row = u32::try_from(rows.len()).expect("fewer rows than events of one file");
        rows.push(SiteState { process, node, dirty: false, held: Amount::ZERO, cost: Cost::default() });
        index.insert_unique(hash, row, |&row| {
            let row = &rows[row as usize];
            seed.pair(row.process.0, row.node.0)
        });
        row
    }

    pub(super) fn get_mut(&mut self, site: SiteId) -> &mut SiteState {
        &mut self.rows[site.0 as usize]
    }

    pub(super) fn into_rows(self) -> Vec<SiteState> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that processes that share a stack keep rows of their own, found again in any order.
    #[test]
    fn shared_stacks_have_a_row_per_process() {
        let mut sites = Sites::new(Seed::random(), 3);
        let first = sites.of(ProcessId(0), NodeId(2));
        let second = sites.of(ProcessId(1), NodeId(2));
        assert_ne!(first, second);
        for _ in 0..2 {
            assert_eq!(sites.of(ProcessId(0), NodeId(2)), first);
            assert_eq!(sites.of(ProcessId(1), NodeId(2)), second);
        }
    }

    /// Check that a stack outside of the table counts as the empty stack.
    #[test]
    fn undefined_stack_is_the_empty_one() {
        let mut sites = Sites::new(Seed::random(), 3);
        assert_eq!(sites.of(ProcessId(0), NodeId(3)), sites.of(ProcessId(0), NodeId::ROOT));
    }
}
