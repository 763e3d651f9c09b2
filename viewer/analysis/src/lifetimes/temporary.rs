//! Short-lived allocations.
//!
//! There are two definitions, since each misses what the other sees:
//!
//! - *immediate*: freed by the thread that allocated it before that thread's next allocation. It needs no clock, and
//!   is what every other view calls temporary.
//! - *brief*: freed within a given time, by any thread, whatever happened in between.
//!
//! A `realloc` counts as neither: the block goes on as another.

use crate::base::cost::Amount;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Death, End, Life, Watch};
use capture::{NodeId, Tables};
use std::cmp::Reverse;

/// Observes a pass for temporary allocations.
#[derive(Debug)]
pub struct Temporary {
    limit_ns: u64,
    rows: Tallies<NodeId, 3>,
}

/// How much of a stack's allocations was temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporaryRow {
    /// The stack.
    pub node: NodeId,
    /// All its allocations.
    pub allocated: Amount,
    /// Those freed before the next allocation of their thread.
    pub immediate: Amount,
    /// Those freed within the given time.
    pub brief: Amount,
}

impl Temporary {
    /// Blocks that were freed in less than `limit_ns` nanoseconds are brief.
    pub fn new(limit_ns: u64, tables: &Tables) -> Self {
        Self { limit_ns, rows: Tallies::new(tables) }
    }

    /// The stacks with any temporary allocations, those with most immediate ones first.
    pub fn finish(self) -> Vec<TemporaryRow> {
        let rows = self.rows.finish().map(|(node, [allocated, immediate, brief])| TemporaryRow {
            node,
            allocated,
            immediate,
            brief,
        });
        let mut rows: Vec<TemporaryRow> = rows.collect();
        let rank = |row: &TemporaryRow| {
            (row.immediate.blocks, row.brief.blocks, row.immediate.bytes, row.brief.bytes)
        };
        rows.sort_by_key(|row| (Reverse(rank(row)), row.node));
        rows
    }
}

impl Watch for Temporary {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        self.rows.of(birth.node)[0].add(birth.size);
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let End::Freed { is_temporary, .. } = death.end else { return };
        let is_brief = death.at.time.saturating_sub(life.attached) < self.limit_ns;
        let [_, immediate, brief] = self.rows.of(life.node);
        if is_temporary {
            immediate.add(life.size);
        }
        if is_brief {
            brief.add(life.size);
        }
    }
}
