//! Counts of events after which what threads remember of modules and pages may no longer be true.

use core::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(1);
/// Number of unmappings, in steps of four; the lowest bits are set while there is a stack provider, or an interpreter
/// whose frames are read.
static UNMAPPINGS: AtomicU32 = AtomicU32::new(0);
/// Those bits.
const HAS_PROVIDER: u32 = 1;
const HAS_INTERPRETER: u32 = 2;
/// The step for one unmapping.
const UNMAPPING: u32 = 4;

/// Number of module unloadings; rules cached under an older number are void.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

/// Number of events that may have made pages unreadable, in steps of four. After a change, nothing is known to be
/// readable.
#[inline(always)]
pub(crate) fn unmappings() -> u32 {
    UNMAPPINGS.load(Ordering::Acquire) & !(UNMAPPING - 1)
}

/// True when a walk needs no more care than the last one of its thread, which noted `unmappings`: no page has gone
/// since, and there is neither a stack provider to ask nor an interpreter to read. Their possibility costs a walk
/// nothing.
// Cost: one load and compare.
#[inline(always)]
pub(crate) fn are_plain(unmappings: u32) -> bool {
    UNMAPPINGS.load(Ordering::Acquire) == unmappings
}

/// The same but for an interpreter, which there is.
// Cost: one load and compare.
#[inline(always)]
pub(crate) fn have_only_interpreter(unmappings: u32) -> bool {
    UNMAPPINGS.load(Ordering::Acquire) == unmappings | HAS_INTERPRETER
}

/// Counts an unmapping, before pages go.
pub(crate) fn note_unmapping() {
    UNMAPPINGS.fetch_add(UNMAPPING, Ordering::Release);
}

/// Notes whether there is a stack provider from now on.
pub(crate) fn note_provider(is_there: bool) {
    note(HAS_PROVIDER, is_there);
}

/// Notes whether frames of an interpreter are read from now on.
pub(crate) fn note_interpreter(is_there: bool) {
    note(HAS_INTERPRETER, is_there);
}

/// True while frames of an interpreter are read.
pub(crate) fn have_interpreter() -> bool {
    // Relaxed: whoever sees the bit a moment later has one stack more without them.
    UNMAPPINGS.load(Ordering::Relaxed) & HAS_INTERPRETER != 0
}

fn note(bit: u32, is_set: bool) {
    if is_set {
        UNMAPPINGS.fetch_or(bit, Ordering::Release);
    } else {
        UNMAPPINGS.fetch_and(!bit, Ordering::Release);
    }
}

/// Counts an unloading: before and after `dlclose`.
pub(crate) fn note_unloading() {
    // Release pairs with the Acquire load in `generation`, which follows a load of the unmappings: whoever sees those
    // sees this.
    GENERATION.fetch_add(1, Ordering::AcqRel);
    note_unmapping();
}
