//! Formats with every event, or with sums over time, read the events again.

use analysis::owners;
use capture::{ProcessId, Sample, Sampling};
use engine::{Error, Events, Loaded};

/// The samples that were counted, each with its process. Whatever a growing file has received since is left out.
pub(super) fn counted_samples<'a>(
    loaded: &'a Loaded,
    events: &'a dyn Events,
) -> Result<impl Iterator<Item = (ProcessId, Sample)> + 'a, Error> {
    let (owners, known) = (owners(&loaded.tables), loaded.profile.processes.len());
    let owned = events.samples()?.filter_map(move |sample| {
        let owner = owners.get(sample.task.index()).copied().flatten()?;
        (owner.index() < known).then_some((owner, sample))
    });
    Ok(owned.take(usize::try_from(loaded.profile.total.cpu.blocks).unwrap_or(0)))
}

/// Nanoseconds between two samples, if requested by time; a millisecond if unknown.
pub(super) fn sample_interval(loaded: &Loaded) -> u64 {
    let frequency = loaded.tables.summary.as_ref().map_or(0, |summary| summary.cpu.frequency);
    1_000_000_000_u64.checked_div(frequency.into()).unwrap_or(1_000_000).max(1)
}

/// When the recording ended or its last event happened, whichever is later.
pub(super) fn end(loaded: &Loaded) -> u64 {
    loaded.duration_ns().max(loaded.profile.last_time)
}

/// The bytes that a block counts as: its size, or what a sample of this size stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    sampling: Option<Sampling>,
}

impl Weight {
    pub(super) fn new(loaded: &Loaded) -> Self {
        Self { sampling: loaded.profile.sampling }
    }

    /// The number of blocks that a block of this size counts as.
    pub(super) fn blocks(self, size: u64) -> f64 {
        self.sampling.map_or(1.0, |sampling| sampling.weight(size).blocks)
    }

    pub(super) fn bytes(self, size: u64) -> i64 {
        match self.sampling {
            None => size.cast_signed(),
            // Computed as where sums are made, so that they match.
            Some(sampling) => (sampling.weight(size).blocks * size as f64).round() as i64,
        }
    }
}
