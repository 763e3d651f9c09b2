//! Continues from a saved state.

use super::Load;
use crate::count::peak::Peak;
use crate::count::process::Row;
use crate::count::saved::{Counters, Saved, Saving};
use crate::count::watch::Watch;
use capture::Tables;

impl<W: Watch<Attached = ()>> Load<'_, W> {
    /// A pass that begins at a saved state; none if that is of another capture. Its peak is not known: it is for
    /// moments and ranges.
    pub fn resume(tables: &Tables, saved: Saved, watch: W) -> Option<Self> {
        if !saved.fits(tables) {
            return None;
        }
        let Saved { counters, sites, processes, threads } = saved;
        let mut load = Self::watched(tables, watch);
        load.sites = sites.resume(tables, load.estimator.is_sampled());
        (load.processes, load.threads) = (processes, threads);
        for (state, row) in load.processes.iter_mut().zip(&tables.processes) {
            state.row = Row::of(row);
        }
        load.peak = Peak::resume(counters.held);
        load.pools.rest();
        Counters {
            events: load.events,
            now: load.now,
            stray_events: load.stray_events,
            last_time: load.last_time,
            own_pages: load.own_pages,
            ..
        } = counters;
        Some(load)
    }

    /// The state after the last event.
    pub fn saving(&self) -> Saving<'_> {
        let counters = Counters {
            events: self.events,
            now: self.now,
            stray_events: self.stray_events,
            last_time: self.last_time,
            own_pages: self.own_pages,
            held: self.peak.held(),
        };
        Saving { counters, sites: &self.sites, processes: &self.processes, threads: &self.threads }
    }

    pub(crate) fn live_blocks(&self) -> u64 {
        self.processes.iter().map(|process| process.heap.len() as u64).sum()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.sites.len() as u64
    }
}
