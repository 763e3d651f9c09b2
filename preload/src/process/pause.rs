//! Whether the program wants to be recorded.

use core::sync::atomic::{AtomicBool, Ordering};
use shared_ring::record::Record;

/// What the program wants. Copied by fork: a child starts in its parent's state.
pub(crate) static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// Called when a recording begins, perhaps paused.
#[cold]
pub(crate) fn begin(is_paused: bool) {
    IS_PAUSED.store(is_paused, Ordering::Relaxed);
    if is_paused { super::silence() } else { super::listen() }
}

/// The record for the present state.
pub(crate) fn record() -> Record {
    if IS_PAUSED.load(Ordering::Relaxed) { Record::Pause } else { Record::Resume }
}
