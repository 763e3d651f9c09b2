//! The only place from which atomics are imported, so that loom can model what is built on them; and a hint to the
//! processor, which does not affect them.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Makes the processor fetch a word that will be read soon.
#[inline(always)]
#[cfg_attr(
    all(target_arch = "x86_64", not(loom)),
    expect(unsafe_code, reason = "names an address to the processor")
)]
pub(crate) fn prefetch(word: &AtomicU32) {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    // SAFETY: accesses no memory visibly, and never faults.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(word.as_ptr().cast());
    }

    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    let _ = word;
}
