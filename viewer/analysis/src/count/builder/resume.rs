//! Continues from a saved state.

use super::ProfileBuilder;
use crate::count::checkpoint::{Checkpoint, Counters, Saving};
use crate::count::peak::Peak;
use crate::count::process::Row;
use crate::count::watch::Watch;
use capture::Tables;

impl<W: Watch<Attached = ()>> ProfileBuilder<'_, W> {
    /// A pass that begins at a saved state; none if that is of another capture. Its peak is not known: it is for
    /// moments and ranges.
    pub fn resume(tables: &Tables, saved: Checkpoint, watch: W) -> Option<Self> {
        if !saved.fits(tables) {
            return None;
        }
        let Checkpoint { counters, sites, processes, threads } = saved;
        let mut builder = Self::watched(tables, watch);
        builder.sites = sites.resume(tables, builder.estimator.is_sampled());
        (builder.processes, builder.threads) = (processes, threads);
        for (state, row) in builder.processes.iter_mut().zip(&tables.processes) {
            state.row = Row::of(row);
        }
        builder.peak = Peak::resume(counters.held);
        builder.pools.rest();
        Counters {
            events: builder.events,
            now: builder.now,
            stray_events: builder.stray_events,
            last_time: builder.last_time,
            own_pages: builder.own_pages,
            ..
        } = counters;
        Some(builder)
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
