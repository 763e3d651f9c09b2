//! A process that has a slot of an image.

use crate::numbers::{Numbers, Roll};
use std::sync::OnceLock;

/// Which pid it has here is looked up in `/proc`, by whoever needs it first and may wait for that: the watcher, mostly, or the writer,
/// but never the drain thread.
#[derive(Debug)]
pub(crate) struct Occupant {
    /// Its pid as it tells it.
    told: u32,
    /// Since when it was there, in shifted ticks.
    since: u64,
    /// Its pid here, once somebody has looked; `None` in that when it was gone.
    pid: OnceLock<Option<u32>>,
}

impl Occupant {
    /// One that was met at this time.
    pub(crate) fn met(told: u32, since: u64) -> Occupant {
        Occupant { told, since, pid: OnceLock::new() }
    }

    /// One whose pid here is known.
    pub(crate) fn found(told: u32, pid: u32) -> Occupant {
        Occupant { told, since: 0, pid: OnceLock::from(Some(pid)) }
    }

    /// Its pid as it tells it.
    pub(crate) fn told(&self) -> u32 {
        self.told
    }

    /// Its pid here, as far as somebody has looked.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid.get().copied().flatten()
    }

    /// Its pid here; `None` when it is gone. Of several who ask one looks, and the others wait.
    pub(crate) fn find(&self, numbers: &Numbers, roll: &mut Roll) -> Option<u32> {
        *self.pid.get_or_init(|| numbers.find(self.told, self.since, roll))
    }
}
