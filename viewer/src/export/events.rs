//! Formats that hold every event, or sums over time, read the events once more.

use crate::analysis::{Load, Watch};
use crate::loaded::Loaded;
use crate::open::{Error, refuse_aggregated};
use capture::{Event, Sampling};

/// The events of a capture, as often as a format needs them.
pub trait Events {
    /// Hands all of them to `visit` in merged order.
    ///
    /// # Errors
    /// Those of the file that they come from.
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error>;
}

/// Events in memory, for tests.
impl Events for Vec<Event> {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        self.iter().for_each(visit);
        Ok(())
    }
}

/// Shows the life of every block to an observer, and gives it back. What a growing file has got since it was counted is
/// left out.
pub(crate) fn observe<W: Watch>(loaded: &Loaded, events: &dyn Events, watch: W) -> Result<W, Error> {
    refuse_aggregated(&loaded.tables, &loaded.source, "a format with the life of every block")?;
    let mut load = Load::watched(&loaded.tables, watch);
    let mut left = loaded.profile.events;
    events.each(&mut |event| {
        if left > 0 {
            left -= 1;
            load.event(event);
        }
    })?;
    Ok(load.finish_watched().1)
}

/// When the recording ended, or its last event happened, whichever is later.
pub(super) fn end(loaded: &Loaded) -> u64 {
    loaded.duration_ns().max(loaded.profile.last_time)
}

/// The bytes that a block counts: its size, or what a sample of this size stands for.
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
            // As where they are summed up, so that sums are equal.
            Some(sampling) => (sampling.weight(size).blocks * size as f64).round() as i64,
        }
    }
}
