//! Calls of libc that the agent makes for itself.

use super::errno;
use super::thread_local::{ThreadLocal, Work};
use super::{arch, sys};
use core::ffi::{CStr, c_void};

/// Runs a call of libc that we make for ourselves; what it allocates is ours and not recorded. `errno` is preserved,
/// and so is what an `operator new` has announced, which the allocations of this call would otherwise consume.
///
/// Signals are blocked meanwhile. A handler's calls would be taken for ours; and if it left by `longjmp`, so would
/// all later calls of its thread.
#[cold]
pub(crate) fn own_call<T>(call: impl FnOnce() -> T) -> T {
    let local = arch::thread_local();
    if local.work() == Work::OwnCall { call() } else { sys::without_signals(|| apart(local, call)) }
}

/// Marks what the thread does during a call as ours.
fn apart<T>(local: &ThreadLocal, call: impl FnOnce() -> T) -> T {
    let (kind, size) = (local.kind_hint.get(), local.size_hint.get());
    let before = local.begin_own_call();
    let saved = errno::get();
    let result = call();
    errno::set(saved);
    local.kind_hint.set(kind);
    local.size_hint.set(size);
    local.end_own_call(before);
    result
}

/// A symbol of libc or the loader; null if there is none.
pub(crate) fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: a look-up by name in the global scope.
    own_call(|| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}
