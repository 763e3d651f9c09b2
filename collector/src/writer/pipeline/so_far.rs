//! The capture as it is while the recording goes on.

use super::Pipeline;
use crate::base::clock::own_usage;
use crate::drain::image_drain::Counts;
use crate::writer::snapshot::SoFar;
use capture::{Overhead, Summary};

impl Pipeline {
    /// The capture as it would be if it ended now, with these counts of the drain thread.
    pub(crate) fn so_far(&mut self, drained: &Counts) -> Result<SoFar, capture::Error> {
        self.refresh()?;
        let summary = Summary {
            duration_ns: self.timeline.now(),
            lost: self.totals.losses(drained),
            overhead: self.overhead(),
            remarks: vec!["This is a snapshot: the recording went on.".into()],
            ..Summary::default()
        };
        let end = self.writer.end_so_far(&summary)?;
        Ok(SoFar { length: self.writer.length(), end })
    }

    /// What the recording has cost so far.
    pub(crate) fn overhead(&self) -> Overhead {
        let usage = own_usage();
        let totals = self.totals;
        Overhead {
            agent_cpu_ns: self.timeline.clock().duration(totals.agent_ticks),
            collector_cpu_ns: usage.cpu_ns,
            wait_ns: totals.counters.wait_ns,
            collector_peak_rss: usage.peak_rss,
            shared_memory: totals.shared_memory,
            agent_allocations: totals.counters.agent_allocations,
        }
    }
}
