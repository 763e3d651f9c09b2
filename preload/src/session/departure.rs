//! How a process leaves a recording, so that it can take part in another one later.
//!
//! ```text
//!  connected ──over, or the collector is gone──► leaving ──no thread is in a hook of that session──► dormant
//! ```
//!
//! The first thread that notices changes the word that all threads compare (`process::epoch`) to the doorbell's. From
//! then on no hook enters the session; hooks that are already inside go on in its memory, which stays as it is. That
//! memory is replaced by private pages once each thread that ever had a ring was seen outside of its hooks, or at
//! another epoch:
//!
//! ```text
//!   a hook                              the one that leaves
//!   busy = 1                            epoch = another
//!   (no fence)                          membarrier: a fence in every thread of the process
//!   epoch as it was?  no: out again     busy?  then not yet
//!     yes: works
//! ```
//!
//! So at least one of the two sees the other, and hooks pay nothing for it. Where a thread stands is read from its
//! own block through the kernel, since a thread may have ended unnoticed and its block may be unmapped. Where the
//! kernel refuses either, the memory stays mapped, and the process answers that it is busy when it is called again.

use super::{arrivals, fork, reservation};
use crate::platform::sys;
use crate::thread::sampler::UNRECORDED;
use crate::{process, thread};
use core::sync::atomic::{AtomicU32, Ordering};

/// Consecutive looks that have found a thread in a hook.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// Bytes of allocations until the second look: a thread that is in a hook is usually out of it soon.
const SOON: i64 = 1 << 12;
/// How often that is doubled at most.
const DOUBLINGS: u32 = 8;
const _: () = assert!(SOON << DOUBLINGS == UNRECORDED);

/// Replaces the memory of a left session by private pages if nobody can be using it; true when none is left.
#[cold]
pub(crate) fn settle() -> bool {
    let Some(session) = process::left_session() else { return process::is_dormant() };
    if !arrivals::begin_look() {
        return false;
    }
    // Another thread may have done it just before.
    let is_still = process::left_session().is_some();
    let is_done = is_still && is_everybody_out() && reservation::void(&session.segment.geometry());
    if is_done {
        crate::process::filter::forget();
        process::rest();
        IN_VAIN.store(0, Ordering::Relaxed);
    } else if is_still {
        IN_VAIN.fetch_add(1, Ordering::Relaxed);
    }
    arrivals::end_look();
    is_done || !is_still
}

/// Bytes that a thread allocates after a look in vain before it looks again: few at first, then twice as many each
/// time, since a thread may have left its hook by `longjmp` and never return, and each look interrupts all other
/// threads.
#[cold]
pub(crate) fn until_next_look() -> i64 {
    SOON << IN_VAIN.load(Ordering::Relaxed).saturating_sub(1).min(DOUBLINGS)
}

/// True when no thread of this process can be in a hook of the session that it is leaving.
fn is_everybody_out() -> bool {
    let epoch = fork::begin_alone_after_fork(0);
    // The thread that leaves may not have got this far yet.
    process::turn_away();
    !crate::platform::allowed_calls::is_confined()
        && sys::fence_in_all_threads()
        && arrivals::arrivals() == 0
        && thread::are_out(epoch)
}
