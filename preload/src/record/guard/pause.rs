//! The program decides when it is recorded: `memprof_start` and `memprof_stop`.
//!
//! ```text
//!  recording ──stop──► hooks are silent, then `Pause` is told ──► paused
//!  paused ────start──► `Resume` is told, then hooks listen ─────► recording
//! ```
//!
//! With this order, whatever other threads do meanwhile may at worst be missing within the reported pause, but never
//! outside of it: what is live across a pause is uncertain, and a block freed in a pause does not look like a leak.
//! While nothing is wanted, hooks see the same zero as without a collector (`process::is_recording`), so a pause
//! costs them no extra check. Events of the process and its threads are still recorded, and so are marks.

use super::HookGuard;
use crate::platform::arch;
use crate::platform::thread_local::Attention;
use crate::process;
use crate::process::pause::IS_PAUSED;
use core::sync::atomic::Ordering;
use shared_ring::record::Record;

/// Reports that the process is paused from its beginning, so that it is known before it records anything.
#[cold]
pub(crate) fn tell() {
    if !IS_PAUSED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(mut hook) = HookGuard::enter_to_tell() {
        hook.state().emit(Record::Pause, 0, 0);
    }
}

/// Called when the program wants its recording to stop or to resume.
#[cold]
pub(crate) fn set(is_paused: bool) {
    // Joins the recording if the process calls this before our constructor has run.
    let hook = HookGuard::enter_to_tell();
    if !process::may_tell() || IS_PAUSED.swap(is_paused, Ordering::AcqRel) == is_paused {
        return;
    }
    let local = arch::thread_local();
    match hook {
        Some(mut hook) => apply(&mut hook),
        None if local.is_busy() => Attention::Switched.call(local),
        // Without a ring it cannot be reported, so it is not done.
        None => IS_PAUSED.store(!is_paused, Ordering::Release),
    }
}

/// Applies what the program wants, and reports it.
pub(crate) fn apply(hook: &mut HookGuard) {
    loop {
        // Acquire pairs with the exchange in `set`. The last thread to look applies the latest wish, so when two
        // threads want opposite things, neither wish is lost; each iteration after the first needs another call of
        // `set`.
        let is_paused = IS_PAUSED.load(Ordering::Acquire);
        if is_paused {
            process::silence();
            hook.state().emit(Record::Pause, 0, 0);
        } else {
            hook.state().emit(Record::Resume, 0, 0);
            process::listen();
        }
        if IS_PAUSED.load(Ordering::Acquire) == is_paused {
            return;
        }
    }
}
