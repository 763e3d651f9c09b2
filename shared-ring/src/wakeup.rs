//! How agents wake a sleeping collector.
//!
//! The collector sleeps while no ring is filled beyond its *mark*, a quarter of it. A producer checks this each time
//! it has written another eighth, so the collector finds a ring about a third full. Both sides first announce and
//! then look, with a fence in between, so at least one of them sees the other:
//!
//! ```text
//!   producer                              collector
//!   head = 40        (published before)   count = wakeups
//!   ── fence ──                           asleep = 1
//!   asleep?                               ── fence ──
//!     1: wakeups += 1, wake               a head past its mark?
//!     0: the collector will look            yes: asleep = 0, drain
//!                                           no:  wait while wakeups == count
//! ```
//!
//! `asleep` is in the control memory, which agents cannot write; `wakeups` is in the segment, which they can. A rogue
//! agent can call at any time, so a collector that was woken for nothing should not listen for a while.

use crate::primitive::{AtomicU32, Ordering, fence};

/// The two words, and the call that wakes those who wait on the second.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup<'a> {
    /// Not 0 while the collector sleeps or is about to.
    pub asleep: &'a AtomicU32,
    /// Number of calls; the collector waits on it.
    pub count: &'a AtomicU32,
    /// The system call, which this crate does not make itself.
    pub wake: fn(&AtomicU32),
}

impl Wakeup<'_> {
    /// The agent's side: wakes the collector if it sleeps. The collector sees what was published before, whether
    /// woken or not.
    // Cost: a fence and a load of a line that changes only when the collector falls asleep or wakes.
    #[cold]
    pub fn notify(&self) {
        // Pairs with the fence in `fall_asleep`: our heads are published before we check whether it sleeps.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if self.asleep.load(Ordering::Relaxed) != 0 {
            // Release pairs with the Acquire load in `fall_asleep`: a collector that has counted this call sees what
            // the call was made for.
            self.count.fetch_add(1, Ordering::Release);
            (self.wake)(self.count);
        }
    }
}

/// The collector's side, before it looks at the heads: announces that it sleeps. Returns the count to wait on.
pub fn fall_asleep(asleep: &AtomicU32, wakeups: &AtomicU32) -> u32 {
    // Acquire pairs with the Release addition in `notify`.
    let count = wakeups.load(Ordering::Acquire);
    asleep.store(1, Ordering::Relaxed);
    // Pairs with the fence in `notify`: sleep is announced before we look at the heads.
    fence(Ordering::SeqCst);
    count
}

/// The collector's side: announces that it is awake.
pub fn wake_up(asleep: &AtomicU32) {
    // Relaxed: a producer that sees it late calls once for nothing.
    asleep.store(0, Ordering::Relaxed);
}
