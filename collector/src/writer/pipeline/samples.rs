//! Input from the sampler and the counters.

use super::Pipeline;
use crate::cpu::{self, GRACE};
use crate::tables::unnamed::CodeFrame;
use capture::{Counter, Error, TIME_UNIT_NS};
use shared_ring::record::TIME_SHIFT;
use std::time::Instant;

impl Pipeline {
    /// Takes in samples of the processors.
    pub(crate) fn sampled(&mut self, batch: cpu::Batch) -> Result<(), Error> {
        let Pipeline { samples, timeline, writer, addresses, .. } = self;
        samples.take(batch, timeline.clock(), writer, addresses)
    }

    /// Frames of the kernel, which have names but no lines.
    pub(crate) fn kernel_frames(&mut self) -> Vec<CodeFrame> {
        std::mem::take(&mut self.samples.kernel_frames)
    }

    /// Takes in readings of counters.
    pub(crate) fn counted(&mut self, counters: &[Counter]) -> Result<(), Error> {
        for counter in
            counters.iter().filter_map(|counter| self.timeline.counter(counter)).collect::<Vec<_>>()
        {
            self.note_counter(&counter);
            self.writer.counter(counter)?;
        }
        Ok(())
    }

    /// Assigns the samples of processes about which nothing more will be reported, and forgets those processes.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        let Pipeline { samples, processes, timeline, writer, .. } = self;
        let Some(gone) = Instant::now().checked_sub(GRACE) else { return Ok(()) };
        if timeline.is_awaiting() {
            samples.forget(gone);
            return Ok(());
        }
        // By then the sampler's view of these images has ended, too, or nobody has reported that.
        let ended = gone.checked_sub(GRACE).filter(|ended| processes.are_many(*ended));
        if ended.is_some() || samples.are_due(gone) {
            samples.settle(gone, processes, timeline.clock(), writer)?;
        }
        if let Some(ended) = ended {
            processes.forget(ended);
        }
        Ok(())
    }

    /// Assigns the remaining samples; returns what the capture says about them.
    pub(crate) fn finish_samples(&mut self, mut sampled: cpu::Sampled) -> Result<cpu::Sampled, Error> {
        let summary = &mut sampled.cpu;
        let Pipeline { samples, processes, timeline, writer, addresses, .. } = self;
        samples.finish(processes, timeline.clock(), writer)?;
        for (module, told) in samples.jit_reports() {
            addresses.made.entry(module).or_insert(told);
        }
        summary.samples = samples.samples();
        (sampled.faults.faults, sampled.faults.without_stack) = samples.faults();
        sampled.without_agent = samples.without_agent();
        sampled.nameless = samples.nameless();
        if !summary.event.is_empty() || sampled.faults.is_recorded {
            // Ticks of the sampler, the effect of converting at another moment, and the rounding of event times.
            let clock = timeline.clock();
            let ticks = clock.duration(summary.clock_error_ns + (1 << TIME_SHIFT));
            summary.clock_error_ns = ticks + clock.bend_ns() + TIME_UNIT_NS;
        }
        Ok(sampled)
    }
}
