//! What a forked child does with what it has inherited: threads that only its parent has, and a session that they were
//! entering or leaving.

use super::{arrivals, reservation};
use crate::platform::{invalidations, sys};
use crate::process::{self, ANSWERING, DORMANT, STARTING, UNBORN};
use crate::thread;
use core::sync::atomic::Ordering;

/// In a forked child, forgets the threads that only its parent has; `arriving` of its own are entering a session.
/// Returns the epoch that the process had in its session.
#[cold]
pub(crate) fn begin_alone_after_fork(arriving: u32) -> u32 {
    forget_parent(arriving);
    process::epoch_in_session()
}

/// Forgets them; false when it was done before, or there is nothing to forget.
fn forget_parent(arriving: u32) -> bool {
    let is_new = process::page().is_some_and(|page| page.is_known.swap(1, Ordering::Relaxed) == 0);
    if is_new {
        arrivals::forget_parent(arriving);
        thread::forget_owners();
        // A thread that does not exist here may have been writing its rules when they were copied.
        invalidations::note_unloading();
    }
    is_new
}

/// In a child that was forked while a thread of its parent was starting or answering, goes back to the state before
/// that, since that thread does not exist here. `tidy` releases what the thread held.
#[cold]
pub(crate) fn recover(tidy: impl FnOnce()) {
    let before = match process::state() {
        STARTING => UNBORN,
        ANSWERING => DORMANT,
        _ => return,
    };
    // In the parent itself, its own page says that it is known.
    let is_child = process::page().is_some_and(|page| page.is_known.load(Ordering::Relaxed) == 0);
    if is_child && forget_parent(0) {
        tidy();
        reservation::take_away();
        process::turn_away();
        process::settle_in(before);
    }
}

/// Takes a forked child out of the recording. It was forked in a signal handler that had interrupted a hook of its
/// parent; when the handler returns, that hook goes on in the child and would write into the parent's ring.
#[cold]
pub(crate) fn part() {
    let Some(session) = process::session() else { return };
    // Relaxed: a count, read at the end.
    session.segment.header().refused.fetch_add(1, Ordering::Relaxed);
    // If this fails, the parent's ring is given up as corrupt, which is reported.
    let _ = sys::map_private_over(session.segment.base().cast(), session.segment.layout().length);
    process::leave();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that rules are stale in a forked child: other threads of its parent may have been writing them when they
    /// were copied.
    #[test]
    fn rules_of_a_parent_are_void_in_its_child() {
        assert!(process::map_page());
        // As fork leaves it.
        process::page().expect("mapped just now").is_known.store(0, Ordering::Relaxed);
        let before = invalidations::generation();
        begin_alone_after_fork(0);
        assert_ne!(invalidations::generation(), before);
    }
}
