//! Threads that are entering a session, and the one that looks at all others before the session is left.

use crate::process;
use core::sync::atomic::{AtomicU32, Ordering};

/// Number of threads that are entering a session: not yet in one of its hooks, but already using its memory.
static ARRIVALS: AtomicU32 = AtomicU32::new(0);

/// Counts the thread among those entering a session, until [`arrived`].
#[cold]
pub(crate) fn arrive() {
    // SeqCst: either a thread that leaves after this sees it, or we see that it has left.
    ARRIVALS.fetch_add(1, Ordering::SeqCst);
}

/// The thread is in a hook of the session, or was refused.
#[cold]
pub(crate) fn arrived() {
    // Release pairs with the Acquire load in `arrivals`.
    ARRIVALS.fetch_sub(1, Ordering::Release);
}

/// Number of threads that are entering a session.
pub(crate) fn arrivals() -> u32 {
    ARRIVALS.load(Ordering::Acquire)
}

/// In a forked child, forgets the threads of its parent; so many of its own are entering a session.
#[cold]
pub(super) fn forget_parent(arriving: u32) {
    ARRIVALS.store(arriving, Ordering::Relaxed);
}

/// Claims the right to look at all other threads, until [`end_look`]; false while another thread of this process has
/// it.
#[cold]
pub(crate) fn begin_look() -> bool {
    // Acquire pairs with the Release store in `end_look`: only one thread looks at a time.
    process::page().is_some_and(|page| page.looking.swap(1, Ordering::Acquire) == 0)
}

/// Gives that right back.
#[cold]
pub(crate) fn end_look() {
    if let Some(page) = process::page() {
        page.looking.store(0, Ordering::Release);
    }
}
