//! How agents wake a sleeping collector.
//!
//! The collector sleeps while no ring is filled beyond its *mark*, a quarter of it. A producer checks this each time
//! it has written another eighth, so the collector finds a ring about a third full. Both sides first announce and
//! then look, with a fence in between, so at least one of them sees the other:
//!
//! ```text
//!   producer                              collector
//!                                         count = wakeups, then read the rings
//!   head = 40        (published before)   asleep = 1
//!   ── fence ──                           ── fence ──
//!   asleep?                               a head past its mark?
//!     1: wakeups += 1, wake                 yes: asleep = 0, drain
//!     0: the collector will look            no:  wait while wakeups == count
//! ```
//!
//! What is no matter of a mark, as the beginning of a thread, is a *call*: it is counted whether the collector sleeps
//! or not. So one that comes after the collector has read the caller's ring keeps it from sleeping.
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
            // Release pairs with the Acquire load in `listen`: a collector that has counted this sees the heads.
            self.count.fetch_add(1, Ordering::Release);
            (self.wake)(self.count);
        }
    }

    /// The agent's side: has the collector read what was published before, however little it is.
    #[cold]
    pub fn call(&self) {
        // Release pairs with the Acquire load in `listen`: a collector that has counted this call sees what it was made
        // for.
        self.count.fetch_add(1, Ordering::Release);
        // Pairs with the fence in `fall_asleep`: the call is counted before we check whether it sleeps.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if self.asleep.load(Ordering::Relaxed) != 0 {
            (self.wake)(self.count);
        }
    }
}

/// The collector's side, before it reads rings: the count to wait on after it has read them.
pub fn listen(wakeups: &AtomicU32) -> u32 {
    // Acquire pairs with the Release additions of agents.
    wakeups.load(Ordering::Acquire)
}

/// The collector's side, before it looks at the heads: announces that it sleeps.
pub fn fall_asleep(asleep: &AtomicU32) {
    asleep.store(1, Ordering::Relaxed);
    // Pairs with the fences of agents: sleep is announced before we look at the heads, and wait on the count.
    fence(Ordering::SeqCst);
}

/// The collector's side: announces that it is awake.
pub fn wake_up(asleep: &AtomicU32) {
    // Relaxed: a producer that sees it late calls once for nothing.
    asleep.store(0, Ordering::Relaxed);
}
