//! Which C library the process has, and what the agent has to know about it.
//!
//! | | glibc | musl |
//! |---|---|---|
//! | the process exits | `on_exit` tells, with the exit code | our destructor is called, without it |
//! | modules | `_dl_find_object`, `_r_debug` | the list that `_dl_debug_addr` leads to |
//! | its own code | has unwind tables | has none, and is read instead ([`super::musl`]) |
//! | its allocator | calls no hook, marks blocks that it has mapped | `calloc` calls `malloc`, `posix_memalign` calls `aligned_alloc`; memory goes back at any `free` |
//!
//! One agent library serves both. Symbols that only one of them has are weak: a loader that finds us in `LD_PRELOAD`
//! would otherwise refuse to start the program.

use crate::platform::own_call::own_call;
use crate::platform::{arch, own_call};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

/// What is called at the process' exit.
pub(crate) type AtExit = extern "C" fn(code: c_int, argument: *mut c_void);
type OnExit = unsafe extern "C" fn(AtExit, *mut c_void) -> c_int;

/// The exit must be reported. Relaxed: a thread that does not see it ends a process that was not recorded.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// True with glibc and with musl.
pub(crate) fn is_known() -> bool {
    on_exit().is_some() || is_musl()
}

/// True with musl: only there does a symbol of this name lead debuggers to the loader's list. Its code can be read on
/// x86-64 only.
pub(crate) fn is_musl() -> bool {
    cfg!(target_arch = "x86_64") && !debugger_list().is_null()
}

/// Where musl's loader keeps the address of what glibc calls `_r_debug`; null with glibc.
fn debugger_list() -> *const *mut c_void {
    arch::weak!("_dl_debug_addr").cast()
}

/// The loader's data for debuggers (`r_debug`); null if it is unknown.
#[cold]
pub(crate) fn loaded_for_debuggers() -> *mut c_void {
    // SAFETY: null, or a variable of musl's loader, which is set before any code runs.
    match unsafe { debugger_list().as_ref() } {
        Some(list) => *list,
        None => own_call::look_up(c"_r_debug"),
    }
}

fn on_exit() -> Option<OnExit> {
    let address = arch::weak!("on_exit");
    // SAFETY: a function of this type, or null, which is `None`.
    unsafe { core::mem::transmute::<*const c_void, Option<OnExit>>(address) }
}

/// Has a function called at the process' exit, after all destructors, with the exit code. Where the C library does
/// not report that, [`is_exit_watched_by_destructor`].
///
/// With glibc, a handler that is registered before the loader registers its own is called last. With musl, our own
/// destructor is the last: musl calls destructors in the reverse order of constructors, and those of preloaded
/// libraries came first.
#[cold]
pub(crate) fn watch_exit(at_exit: AtExit) {
    IS_WATCHED.store(true, Ordering::Relaxed);
    if let Some(on_exit) = on_exit() {
        // SAFETY: the function is one of this library, and this library is never unloaded.
        own_call(|| unsafe { on_exit(at_exit, core::ptr::null_mut()) });
    }
}

/// True when the agent's destructor is to report the exit, since the C library does not.
pub(crate) fn is_exit_watched_by_destructor() -> bool {
    is_musl() && IS_WATCHED.load(Ordering::Relaxed)
}
