//! What was allocated in regions that programs mark, by stack.

use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use crate::count::watch::Birth;
use crate::timeline::regions::{Inside, marks_by_name};
use capture::{Event, NodeId, ProcessId, StringId, Tables};
use std::collections::HashMap;

/// Most region names that are followed, the first ones: each block is counted once for every name with an open
/// region.
const MOST_NAMES: usize = 64;

/// What a stack of a process allocated inside regions of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct During {
    /// The name.
    pub name: StringId,
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// How much.
    pub allocated: Amount,
}

/// Counts allocations in regions.
#[derive(Debug)]
pub(super) struct Regions {
    names: Vec<StringId>,
    inside: Inside,
    sums: HashMap<(u32, ProcessId, NodeId), Amount>,
}

impl Regions {
    pub(super) fn new(tables: &Tables) -> Self {
        let marks = marks_by_name(tables, 0);
        let with_regions = marks.iter().filter(|row| !row.regions.is_empty()).map(|row| row.name);
        let names: Vec<StringId> = with_regions.take(MOST_NAMES).collect();
        Self { inside: Inside::new(tables, &names), names, sums: HashMap::new() }
    }

    // Cost: one comparison where no region is open.
    #[inline]
    pub(super) fn block_born(&mut self, birth: &Birth, block: Amount) {
        if self.inside.is_in_any() {
            for name in self.inside.open() {
                *self.sums.entry((name, birth.process, birth.node)).or_default() += block;
            }
        }
    }

    #[inline]
    pub(super) fn event(&mut self, event: &Event) {
        self.inside.event(event);
    }

    /// The sums in whole blocks, ordered by name, process and stack.
    pub(super) fn finish(self, estimator: &Estimator) -> Vec<During> {
        let mut sums: Vec<_> = self.sums.into_iter().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        let during = |((name, process, node), sum): ((u32, ProcessId, NodeId), Amount)| During {
            name: self.names[name as usize],
            process,
            node,
            allocated: estimator.whole(sum),
        };
        sums.into_iter().map(during).collect()
    }
}
