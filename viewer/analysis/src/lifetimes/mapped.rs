//! Who maps memory apart from the allocators: pools, caches, files, and what an interpreter has for its objects.

use crate::count::watch::{Birth, Instant, Life, Mapping, Watch};
use capture::{NodeId, ProcessId};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Observes a pass for what each stack maps.
#[derive(Debug, Default)]
pub struct Mapped(HashMap<(ProcessId, NodeId), MappedRow>);

/// What a stack maps in a process. This is address space: whether the pages are in memory is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedRow {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// The most bytes that it had mapped at once.
    pub peak: i64,
    /// Bytes that it has mapped at the end of the part, or that its process had when it ended.
    pub held: i64,
    /// Bytes that it mapped in all.
    pub mapped: i64,
    /// Number of times that it mapped some.
    pub calls: u64,
}

impl Mapped {
    /// The stacks, those that had most at once first.
    pub fn finish(self) -> Vec<MappedRow> {
        let mut rows: Vec<MappedRow> = self.0.into_values().filter(|row| row.peak > 0).collect();
        rows.sort_by_key(|row| (Reverse((row.peak, row.mapped)), row.process, row.node));
        rows
    }
}

impl Watch for Mapped {
    type Attached = ();

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn mapped(&mut self, _: Instant, mapping: &Mapping) {
        let Mapping { process, node, change, is_before } = *mapping;
        let none = MappedRow { process, node, peak: 0, held: 0, mapped: 0, calls: 0 };
        let row = self.0.entry((process, node)).or_insert(none);
        row.held = row.held.saturating_add(change);
        if is_before {
            row.peak = row.held;
            return;
        }
        row.peak = row.peak.max(row.held);
        if change > 0 {
            row.mapped = row.mapped.saturating_add(change);
            row.calls += 1;
        }
    }
}
