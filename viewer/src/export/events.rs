//! Formats with every event, or with sums over time, read the events again.

use crate::analysis::{Load, PoolEvents, Watch, owners};
use crate::loaded::Loaded;
use crate::open::{Error, refuse_aggregated};
use capture::{Event, ProcessId, Sample, Sampling};

/// The events of a capture and the data recorded with them, as often as a format needs them.
pub trait Events {
    /// Passes all of them to `visit` in merged order.
    ///
    /// # Errors
    /// Those of the file that they come from.
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error>;

    /// The CPU samples one by one, in file order: by time, except for samples that arrived late.
    ///
    /// # Errors
    /// Those of the file that they come from.
    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error>;
}

/// Events in memory, without samples.
impl Events for Vec<Event> {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        self.iter().for_each(visit);
        Ok(())
    }

    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error> {
        Ok(Box::new(std::iter::empty()))
    }
}

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

/// Shows the life of every block of the counted heap to an observer, and returns it. Whatever a growing file has
/// received since it was counted is left out.
pub(crate) fn observe<W: Watch>(loaded: &Loaded, events: &dyn Events, watch: W) -> Result<W, Error> {
    refuse_aggregated(&loaded.tables, &loaded.source, "lifetimes of individual blocks")?;
    let mut load = Load::watched(&loaded.tables, watch);
    let of_pool = loaded.heap.map(PoolEvents::of);
    if of_pool.is_some() {
        load = load.of_pools();
    }
    let mut left = loaded.profile.events;
    events.each(&mut |event| {
        if left > 0 {
            left -= 1;
            match &of_pool {
                Some(pool) => load.pool_event(pool, event),
                None => load.event(event),
            }
        }
    })?;
    Ok(load.finish_watched().1)
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

    pub(super) fn bytes(self, size: u64) -> i64 {
        match self.sampling {
            None => size.cast_signed(),
            // Computed as where sums are made, so that they match.
            Some(sampling) => (sampling.weight(size).blocks * size as f64).round() as i64,
        }
    }
}
