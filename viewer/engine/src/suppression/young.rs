//! Blocks that were allocated shortly before the end.

use analysis::{Amount, Birth, Death, End, Left, Life, Spread, Tallies, Watch};
use capture::{Ended, NodeId, ProcessId, Tables, ThreadId};
use std::collections::HashMap;

/// Observes a pass for blocks still allocated at the end and younger than a limit.
pub(crate) struct YoungBlockFilter {
    limit_ns: u64,
    /// When the part of the recording ends: events may have ended long before.
    end: u64,
    /// When each process ended, for which the same holds.
    ends: Vec<u64>,
    by_threads: bool,
    leaks: Tallies<Site>,
}

/// Process, thread if rows are told apart by threads, and stack.
type Site = (ProcessId, Option<ThreadId>, NodeId);

/// Young blocks by stack.
pub(crate) struct YoungLeaks {
    leaks: HashMap<Site, (Amount, Spread)>,
}

impl YoungBlockFilter {
    /// For a part of a recording that ends at this time.
    pub(crate) fn new(limit_ns: u64, by_threads: bool, end: u64, tables: &Tables) -> Self {
        let ends = tables.processes.iter().map(|row| row.end.as_ref().map_or(0, |end| end.time)).collect();
        Self { limit_ns, end, ends, by_threads, leaks: Tallies::new(tables) }
    }

    pub(crate) fn finish(self) -> YoungLeaks {
        let young = self.leaks.into_sums().map(|(site, tally)| (site, (tally.amount(), tally.spread())));
        YoungLeaks { leaks: young.collect() }
    }
}

impl YoungLeaks {
    /// The part of the leaked amount that is too young, at most all of it, since estimates are rounded; and its
    /// variances.
    pub(super) fn of(&self, site: Site, leaked: Amount) -> (Amount, Spread) {
        let (young, spread) = self.leaks.get(&site).copied().unwrap_or_default();
        (Amount { blocks: young.blocks.min(leaked.blocks), bytes: young.bytes.min(leaked.bytes) }, spread)
    }
}

impl Watch for YoungBlockFilter {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let End::Left { left: Left::Leaked, ended, .. } = death.end else { return };
        let end = match ended {
            Ended::Running => self.end,
            _ => self.ends.get(life.process.index()).map_or(0, |end| *end).min(self.end).max(death.at.time),
        };
        if end.saturating_sub(life.attached) < self.limit_ns {
            let site = (life.process, Some(life.thread).filter(|_| self.by_threads), life.node);
            self.leaks.add(site, life.size);
        }
    }
}
