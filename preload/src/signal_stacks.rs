//! Stacks of signal handlers that the kernel takes for unset while a handler runs on them (`SS_AUTODISARM`, `sigaltstack(2)`): then it
//! cannot be asked whether the thread runs on one.

use crate::arch;
use crate::sandbox::{self, Need};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

const SS_AUTODISARM: c_int = c_int::MIN;

/// Some thread has set such a stack.
// Relaxed: what it is for is asked by the thread that has set it.
static ARE_DISARMED: AtomicBool = AtomicBool::new(false);

/// The calling thread has set a stack. The kernel is asked for its flags, since the caller may have had its
/// description overwritten with the old stack's.
pub(crate) fn note() {
    let flags = if sandbox::allows(Need::SignalStack) { arch::signal_stack() } else { None };
    if flags.is_none_or(|flags| flags & SS_AUTODISARM != 0) {
        ARE_DISARMED.store(true, Ordering::Relaxed);
    }
}

/// True when a thread that seems to have no signal stack may be on one.
pub(crate) fn are_disarmed() -> bool {
    ARE_DISARMED.load(Ordering::Relaxed)
}
