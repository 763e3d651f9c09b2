//! A process that occupies a slot of an image.

use crate::numbers::{Numbers, Roll};
use std::sync::OnceLock;

/// Its pid in our namespace is looked up in `/proc` by whichever thread needs it first and may wait: usually the
/// watcher, sometimes the writer, never the drain thread.
#[derive(Debug)]
pub(crate) struct Occupant {
    /// The pid it tells.
    told: u32,
    /// Since when it has existed, in shifted ticks.
    since: u64,
    /// Its pid in our namespace, once looked up; `Some(None)` if it was gone.
    pid: OnceLock<Option<u32>>,
}

impl Occupant {
    /// A process that was met at this time.
    pub(crate) fn met(told: u32, since: u64) -> Occupant {
        Occupant { told, since, pid: OnceLock::new() }
    }

    /// A process whose pid in our namespace is known.
    pub(crate) fn found(told: u32, pid: u32) -> Occupant {
        Occupant { told, since: 0, pid: OnceLock::from(Some(pid)) }
    }

    /// The pid it tells.
    pub(crate) fn told(&self) -> u32 {
        self.told
    }

    /// Its pid in our namespace, if it was looked up.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid.get().copied().flatten()
    }

    /// Its pid in our namespace; `None` when it is gone. With several callers at once, one looks and the others wait.
    pub(crate) fn find(&self, numbers: &Numbers, roll: &mut Roll) -> Option<u32> {
        *self.pid.get_or_init(|| numbers.find(self.told, self.since, roll))
    }
}
