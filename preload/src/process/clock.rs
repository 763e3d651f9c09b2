//! The time of a record, in ticks shifted by [`shared_ring::record::TIME_SHIFT`].
//!
//! Records of different threads are ordered by time, so a time must not be earlier than what its thread had done and
//! seen before. A processor reads its counter early, out of order, while an earlier load still waits for its cache
//! line:
//!
//! ```text
//!   thread 1    a = malloc   time 100 ──► slot = a
//!   thread 2                                   └──► load slot …………… free(a)   time 98: read before slot was there
//!   thread 2, with a fence                     └──► load slot …………… free(a)   time 131
//! ```
//!
//! So the counter is read behind a fence, except while only one thread of the process records: see
//! [`crate::process::count_thread`]. The kernel's clock has such a fence itself.

use crate::platform::arch;
use crate::process;
use shared_ring::record::TIME_SHIFT;

/// Now: not earlier than anything before this in program order, unless the thread is alone and time is the
/// processor's counter.
#[inline(always)]
pub(crate) fn now(uses_tsc: bool, is_alone: bool) -> u64 {
    match (uses_tsc, is_alone) {
        (true, true) => arch::ticks() >> TIME_SHIFT,
        (true, false) => arch::ordered_ticks() >> TIME_SHIFT,
        (false, _) => monotonic(),
    }
}

#[cold]
#[inline(never)]
fn monotonic() -> u64 {
    crate::platform::sys::monotonic_raw_ns() >> TIME_SHIFT
}

/// Unshifted ticks, for measuring.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if process::uses_tsc() { arch::ticks() } else { crate::platform::sys::monotonic_raw_ns() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    /// Check that whoever has been handed a time finds its own not to be earlier, though it reads the clock as soon as
    /// it can.
    #[test]
    fn time_rises_along_a_hand_over() {
        const HAND_OVERS: usize = 300_000;
        const EMPTY: u64 = 0;
        static PLACE: AtomicU64 = AtomicU64::new(EMPTY);
        let uses_tsc = cfg!(target_arch = "x86_64");
        let wait = |is_over: &dyn Fn(u64) -> bool| {
            // Acquire pairs with the Release stores below.
            for turn in 1_u32.. {
                let found = PLACE.load(Ordering::Acquire);
                if is_over(found) {
                    return found;
                }
                if turn.is_multiple_of(1000) {
                    thread::yield_now();
                }
            }
            EMPTY
        };
        let taker = thread::spawn(move || {
            let mut earlier = 0;
            for _ in 0..HAND_OVERS {
                let given = wait(&|found| found != EMPTY);
                earlier += usize::from(now(uses_tsc, false) < given);
                PLACE.store(EMPTY, Ordering::Release);
            }
            earlier
        });
        for _ in 0..HAND_OVERS {
            wait(&|found| found == EMPTY);
            PLACE.store(now(uses_tsc, false), Ordering::Release);
        }
        assert_eq!(taker.join().expect("it does not panic"), 0, "hand-overs that seem to go back in time");
    }
}
