//! Signal stacks that the kernel treats as unset while a handler runs on them (`SS_AUTODISARM`, `sigaltstack(2)`).
//! Then it cannot be asked whether the thread runs on one.

use crate::platform::allowed_calls::{self, Need};
use crate::platform::arch;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

const SS_AUTODISARM: c_int = c_int::MIN;

/// Some thread has set such a stack.
// Relaxed: the thread that has set it is the one that asks.
static ARE_DISARMED: AtomicBool = AtomicBool::new(false);

/// Called when the calling thread has set a stack. Its flags are asked from the kernel, since the caller may have let
/// the old stack's description overwrite the new one.
pub(crate) fn note() {
    let flags = if allowed_calls::allows(Need::SignalStack) { arch::signal_stack() } else { None };
    if flags.is_none_or(|flags| flags & SS_AUTODISARM != 0) {
        ARE_DISARMED.store(true, Ordering::Relaxed);
    }
}

/// True when a thread that seems to have no signal stack may be running on one.
pub(crate) fn are_disarmed() -> bool {
    ARE_DISARMED.load(Ordering::Relaxed)
}
