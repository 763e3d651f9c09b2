//! The program says when it is recorded: `memprof_start` and `memprof_stop`.
//!
//! ```text
//!  recording ──stop──► hooks are silent, then `Pause` is told ──► paused
//!  paused ────start──► `Resume` is told, then hooks listen ─────► recording
//! ```
//!
//! In this order what other threads do meanwhile is at worst not recorded within the pause that is told, never recorded
//! without it: what is live across a pause is uncertain, and nothing seems to leak that was freed in one. While nothing is
//! wanted, hooks see the same zero as without a collector (`process::is_recording`), so a pause costs them no further
//! look. What is told of the process and its threads goes on, and so do marks.

use crate::arch;
use crate::clock;
use crate::guard::Busy;
use crate::process;
use crate::thread_local::Attention;
use core::sync::atomic::{AtomicBool, Ordering};
use shared_ring::record::Record;

/// What the program wants. Copied by fork: a child begins as its parent is.
static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// A recording begins, perhaps paused.
#[cold]
pub(crate) fn begin(is_paused: bool) {
    IS_PAUSED.store(is_paused, Ordering::Relaxed);
    if is_paused { process::silence() } else { process::listen() }
}

/// Tells of a process that is paused from its beginning, so that it is known before it records anything.
#[cold]
pub(crate) fn tell() {
    if !IS_PAUSED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(mut busy) = Busy::enter_to_tell() {
        busy.state().emit(Record::Pause, clock::before(), 0, 0);
    }
}

/// What tells how it is now.
pub(crate) fn record() -> Record {
    if IS_PAUSED.load(Ordering::Relaxed) { Record::Pause } else { Record::Resume }
}

/// The program wants its recording to stop or to go on.
#[cold]
pub(crate) fn set(is_paused: bool) {
    // Joins a process that calls before our constructor has run.
    let busy = Busy::enter_to_tell();
    if !process::may_tell() || IS_PAUSED.swap(is_paused, Ordering::AcqRel) == is_paused {
        return;
    }
    let local = arch::thread_local();
    match busy {
        Some(mut busy) => apply(&mut busy),
        None if local.is_busy() => Attention::Switched.call(local),
        // It cannot be told, for there is no ring, so it is not done.
        None => IS_PAUSED.store(!is_paused, Ordering::Release),
    }
}

/// Does what the program wants, and tells it.
pub(crate) fn apply(busy: &mut Busy) {
    loop {
        // Acquire pairs with the exchange in `set`. Whoever is the last to look does what was wanted last, so two threads
        // that want the one and the other leave neither undone; each turn but the first needs another call.
        let is_paused = IS_PAUSED.load(Ordering::Acquire);
        if is_paused {
            process::silence();
            busy.state().emit(Record::Pause, clock::before(), 0, 0);
        } else {
            busy.state().emit(Record::Resume, clock::after(), 0, 0);
            process::listen();
        }
        if IS_PAUSED.load(Ordering::Acquire) == is_paused {
            return;
        }
    }
}
