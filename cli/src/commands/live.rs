//! Recordings that go on, for those who look at them from beside: metrics, profiles, alarms.

mod cgroup;
mod difference;
mod heaps;

pub(super) use cgroup::{Group, Memory};
pub(super) use difference::difference;
pub(super) use heaps::{Heaps, Missing};

use collector::Requests;
use std::sync::{Arc, Mutex, PoisonError};

/// The recordings that go on.
pub(super) type Recordings = Box<dyn Fn() -> Vec<Requests> + Send + Sync>;

/// The recording of a command that has one at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Current(Arc<Mutex<Option<Requests>>>);

impl Current {
    /// This is recorded now.
    pub(super) fn set(&self, requests: Option<Requests>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = requests;
    }

    /// What is asked for metrics.
    pub(super) fn recordings(&self) -> Recordings {
        let current = self.0.clone();
        Box::new(move || current.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect())
    }
}
