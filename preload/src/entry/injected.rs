//! The functions that a collector calls after it has loaded this library into a running process.
//!
//! A library that is loaded so late comes before no other, so the program's calls do not reach it by symbol lookup:
//! the collector changes the words through which modules call, and restores them at the end. It calls these functions
//! in a thread that holds no lock.

use crate::entry::search_scope;
use crate::next::real;
use crate::platform::allowed_calls;
use crate::platform::arch;
use crate::platform::own_call::own_call;
use crate::record::guard;
use crate::record::guard::HookGuard;
use crate::redirect::got::{self, Change};
use crate::session::{answer, doorbell, readiness};
use core::ffi::{CStr, c_char, c_int, c_void};
use shared_ring::injected::{NO_DOORBELL, PRELOADED, READY, UNSUPPORTED};

/// Prepares for calls that do not arrive by symbol lookup: hooks forward to what the program would have called. The
/// caller passes the path by which the library was loaded.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_injected(agent: *const c_char) -> c_int {
    if stands_before_libc() {
        return PRELOADED;
    }
    if !readiness::is_supported() {
        return UNSUPPORTED;
    }
    // SAFETY: the caller passes a string.
    let agent = unsafe { CStr::from_ptr(agent) }.to_bytes();
    let folder = agent.rsplitn(2, |byte| *byte == b'/').last().unwrap_or_default();
    // The doorbell lies beside the library: a program may have cleared the environment that would say where it is.
    if !answer::hear_in(folder) {
        return NO_DOORBELL;
    }
    allowed_calls::learn_late();
    real::resolve_from_program();
    #[cfg(not(test))]
    crate::hooks::find_cxx();
    if !doorbell::uncover() {
        return NO_DOORBELL;
    }
    // From now on libraries are bound to this one as they are loaded, before they make any call.
    search_scope::precede_others(true);
    READY
}

/// True when symbol lookup finds this library before libc, as when it was preloaded; libraries that are loaded later
/// come last.
#[cold]
#[expect(clippy::disallowed_methods, reason = "in a thread that holds no lock")]
pub(crate) fn stands_before_libc() -> bool {
    // SAFETY: the callback keeps nothing.
    let first = unsafe { libc::dl_iterate_phdr(Some(which), core::ptr::null_mut()) };
    first == OURS
}

/// What `which` returns when it has found this library, and when it has found libc.
const OURS: c_int = 1;
const LIBC: c_int = 2;

unsafe extern "C" fn which(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let has = |address: *const c_void| unsafe { got::has(info, address) };
    // The first answer that is not 0 ends the iteration.
    if has(which as *const c_void) {
        OURS
    } else if has(libc::getauxval as *const c_void) {
        LIBC
    } else {
        0
    }
}

/// A function that the agent replaces.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Question {
    name: *const c_char,
    /// What the agent would forward to; null when there is nothing.
    next: *mut c_void,
}

/// Answers all questions in one call, since each call interrupts a thread.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_next(questions: *mut Question, count: usize) {
    // SAFETY: the caller passes so many, which nobody else uses.
    for question in unsafe { core::slice::from_raw_parts_mut(questions, count) } {
        // SAFETY: the name is a string.
        question.next = real::look_up(unsafe { CStr::from_ptr(question.name) });
    }
}

/// Changes words through which modules call, and returns how many had the expected value.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_change(changes: *const Change, count: usize) -> usize {
    // SAFETY: the caller passes so many, which nobody changes meanwhile.
    let changes = unsafe { core::slice::from_raw_parts(changes, count) };
    own_call(|| got::change(changes))
}

/// Makes the process leave a recording that is over, and deaf to the doorbell: 1, or 0 while threads of it are still
/// in the recording's memory.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn sysprof_memprof_withdrawn() -> c_int {
    search_scope::precede_others(false);
    let is_done = answer::withdraw();
    if is_done {
        doorbell::cover();
    }
    c_int::from(is_done)
}

/// Makes the process check whether it is called, as its next call of the allocator would. So a process that makes no
/// such call can be called all the same.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn sysprof_memprof_answer() {
    // This also covers a recording that has ended since the process' last call, and that it has to leave first.
    guard::catch_up(arch::thread_local());
    // A process that is recorded appears in the capture even if it never allocates.
    drop(HookGuard::enter_to_tell());
}
