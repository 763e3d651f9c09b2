//! The function that sets a thread's signal stack.

use crate::next::real;
use crate::platform::signal_stacks;
use core::ffi::c_int;

/// `int sigaltstack(const stack_t *stack, stack_t *old)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sigaltstack(stack: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: passed on unchanged.
    let result = unsafe { real::sigaltstack(stack, old) }.unwrap_or(-1);
    if result == 0 && !stack.is_null() {
        signal_stacks::note();
    }
    result
}
