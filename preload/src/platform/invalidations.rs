//! Counts of events after which what threads remember of modules and pages may no longer be true.

use core::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(1);
/// Number of unmappings, in steps of two; the lowest bit is set while there is a stack provider.
static UNMAPPINGS: AtomicU32 = AtomicU32::new(0);
/// That bit.
const HAS_PROVIDER: u32 = 1;
/// The step for one unmapping.
const UNMAPPING: u32 = 2;

/// Number of module unloadings; rules cached under an older number are void.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

/// Number of events that may have made pages unreadable, in steps of two. After a change, nothing is known to be
/// readable.
#[inline(always)]
pub(crate) fn unmappings() -> u32 {
    UNMAPPINGS.load(Ordering::Acquire) & !HAS_PROVIDER
}

/// True when a walk needs no more care than the last one of its thread, which noted `unmappings`: no page has gone
/// since, and there is no stack provider to ask. The possibility of a provider costs a walk nothing.
// Cost: one load and compare.
#[inline(always)]
pub(crate) fn are_plain(unmappings: u32) -> bool {
    UNMAPPINGS.load(Ordering::Acquire) == unmappings
}

/// Counts an unmapping, before pages go.
pub(crate) fn note_unmapping() {
    UNMAPPINGS.fetch_add(UNMAPPING, Ordering::Release);
}

/// Notes whether there is a stack provider from now on.
pub(crate) fn note_provider(is_there: bool) {
    if is_there {
        UNMAPPINGS.fetch_or(HAS_PROVIDER, Ordering::Release);
    } else {
        UNMAPPINGS.fetch_and(!HAS_PROVIDER, Ordering::Release);
    }
}

/// Counts an unloading: before and after `dlclose`.
pub(crate) fn note_unloading() {
    // Release pairs with the Acquire load in `generation`, which follows a load of the unmappings: whoever sees those
    // sees this.
    GENERATION.fetch_add(1, Ordering::AcqRel);
    note_unmapping();
}
