//! Blocks of pools.

use super::ProfileBuilder;
use crate::count::estimate::Estimator;
use crate::count::heap::Block;
use crate::count::pools::PoolEvents;
use crate::count::profile::PoolProfile;
use crate::count::sites::{SiteId, Sites};
use crate::count::watch::Watch;
use capture::Seed;
use capture::{Action, BlockNumber, Event, ProcessId};

impl<W: Watch> ProfileBuilder<'_, W> {
    /// A pass over the blocks of a pool, by [`ProfileBuilder::pool_event`]. Each counts as one, even in a sampled recording:
    /// programs report all of them.
    #[must_use]
    pub fn of_pools(mut self) -> Self {
        self.sampling = None;
        self.estimator = Estimator::new(None);
        self.sites = Sites::new(Seed::random(), self.sites.nodes(), false);
        // Programs do not report where they free.
        self.counts_frees = false;
        self
    }

    /// Counts what the next event means for a pool. Its position is the one among all events.
    pub fn pool_event(&mut self, pool: &PoolEvents, event: &Event) {
        self.advance(event);
        for event in pool.translate(event) {
            self.count(&event);
        }
        if W::LOOKS {
            let at = self.instant();
            self.watch.event(at, event);
        }
    }

    /// The programs' own heaps, as if all processes ended now.
    pub fn pools_so_far(&self) -> Vec<PoolProfile> {
        self.pools.as_if_over(|process, born| {
            let state = &self.processes[process.index()];
            state.open_gaps > 0 || born != state.gap_edges
        })
    }

    /// Follows what a program reports about its pools, separately from the heap in which their blocks lie.
    pub(super) fn note_pool(&mut self, process: ProcessId, event: &Event) {
        let now = self.instant();
        let state = &self.processes[process.index()];
        let (gap_edges, forks) = (state.gap_edges, 0);
        let block = |address, size| {
            let (site, thread) = (SiteId(0), event.thread);
            Block {
                address,
                size,
                site,
                thread,
                gap_edges,
                forks,
                number: BlockNumber::default(),
                attached: (),
            }
        };
        match event.action {
            Action::PoolAlloc { pool, address, size, .. } => {
                self.pools.add(process, pool, block(address, size), now);
            }
            Action::PoolFree { pool, address } => self.pools.remove(process, pool, address),
            Action::PoolRealloc { pool, old, address, size, .. } if old == address => {
                self.pools.remove(process, pool, old);
                self.pools.add(process, pool, block(address, size), now);
            }
            Action::PoolRealloc { pool, old, address, size, .. } => {
                // As with `realloc`: both blocks exist while the content is copied.
                self.pools.add(process, pool, block(address, size), now);
                self.pools.remove(process, pool, old);
            }
            _ => {}
        }
    }
}
