//! The time of a record, in ticks shifted by [`shared_ring::record::TIME_SHIFT`].
//!
//! A `free` takes its time before it is committed and an allocation after its call has returned, so time never runs
//! backwards along any chain free → reuse. The processor may read the counter early, out of order. That is harmless
//! for a free but not for an allocation, which therefore waits for the instructions before it.

use crate::arch;
use crate::process;
use shared_ring::record::TIME_SHIFT;

/// Now, not later than anything after this in program order.
#[inline(always)]
pub(crate) fn before() -> u64 {
    if process::uses_tsc() { arch::ticks() >> TIME_SHIFT } else { monotonic() }
}

/// Now, not earlier than anything before this in program order.
#[inline(always)]
pub(crate) fn after() -> u64 {
    if process::uses_tsc() { arch::ticks_after() >> TIME_SHIFT } else { monotonic() }
}

/// Now. When time is the processor's counter and `is_ordered`, not earlier than anything before this in program
/// order.
#[inline(always)]
pub(crate) fn now(uses_tsc: bool, is_ordered: bool) -> u64 {
    match (uses_tsc, is_ordered) {
        (true, false) => arch::ticks() >> TIME_SHIFT,
        (true, true) => arch::ticks_after() >> TIME_SHIFT,
        (false, _) => monotonic(),
    }
}

#[cold]
#[inline(never)]
fn monotonic() -> u64 {
    crate::sys::monotonic_raw_ns() >> TIME_SHIFT
}

/// Unshifted ticks, for measuring.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if process::uses_tsc() { arch::ticks() } else { crate::sys::monotonic_raw_ns() }
}
