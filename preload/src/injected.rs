//! What a collector calls that has loaded this library into a process which runs already.
//!
//! The library then stands before no other, so the program's calls do not come by on their own: the collector changes the words
//! through which modules call, and puts them back at the end. It calls these functions in a thread that holds no lock.

use crate::got::{self, Change};
use crate::guard::Busy;
use crate::loader::LinkMap;
use crate::{arch, doorbell, lifecycle, modules, process, real};
use core::ffi::{CStr, c_char, c_int, c_void};

/// Ready to be called through the doorbell.
const READY: c_int = 0;
/// There is none.
const NO_DOORBELL: c_int = 1;
/// The C library lacks what we need.
const UNSUPPORTED: c_int = 2;
/// The library stands before the others, as it was preloaded.
const PRELOADED: c_int = 3;

/// Prepares for calls that do not come by the order of the search: what follows is what the program would have called. Who calls
/// says by which path the library was loaded.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_injected(agent: *const c_char) -> c_int {
    if stands_before_libc() {
        return PRELOADED;
    }
    if !lifecycle::is_supported() {
        return UNSUPPORTED;
    }
    // SAFETY: the caller passes a string.
    let agent = unsafe { CStr::from_ptr(agent) }.to_bytes();
    let folder = agent.rsplitn(2, |byte| *byte == b'/').last().unwrap_or_default();
    // A program may have cleared the environment that would say where it is; it lies beside the library.
    if !process::hear_in(folder) {
        return NO_DOORBELL;
    }
    real::resolve_from_program();
    #[cfg(not(test))]
    crate::interpose::find_cxx();
    if doorbell::uncover() { READY } else { NO_DOORBELL }
}

/// True when a search by name finds this library before libc, as one that was preloaded: later ones are at the end of the list.
#[cold]
#[expect(clippy::disallowed_methods, reason = "in a thread that holds no lock")]
pub(crate) fn stands_before_libc() -> bool {
    // SAFETY: the callback keeps nothing.
    let first = unsafe { libc::dl_iterate_phdr(Some(which), core::ptr::null_mut()) };
    first == OURS
}

/// This library, and libc, as what `which` has found.
const OURS: c_int = 1;
const LIBC: c_int = 2;

unsafe extern "C" fn which(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a description.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let has = |address: *const c_void| unsafe { got::has(info, address) };
    // The first answer that is not 0 is the last.
    if has(which as *const c_void) {
        OURS
    } else if has(libc::getauxval as *const c_void) {
        LIBC
    } else {
        0
    }
}

/// A function that the agent stands for.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Question {
    name: *const c_char,
    /// What the agent would call in its turn; null when there is nothing.
    next: *mut c_void,
}

/// Answers questions, all in one call: who calls interrupts a thread for each.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_next(questions: *mut Question, count: usize) {
    // SAFETY: the caller passes so many, which nobody else has.
    for question in unsafe { core::slice::from_raw_parts_mut(questions, count) } {
        // SAFETY: with a string each.
        question.next = real::look_up(unsafe { CStr::from_ptr(question.name) });
    }
}

/// Changes words by which modules call; how many of them were as they were said to be.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sysprof_memprof_change(changes: *const Change, count: usize) -> usize {
    // SAFETY: the caller passes so many, which nobody changes meanwhile.
    let changes = unsafe { core::slice::from_raw_parts(changes, count) };
    real::own_call(|| got::change(changes))
}

/// Has the process leave a recording that is over, and hear no doorbell any more: 1, or 0 while threads of it are still in the
/// recording's memory.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn sysprof_memprof_withdrawn() -> c_int {
    let is_done = process::withdraw();
    if is_done {
        doorbell::cover();
    }
    c_int::from(is_done)
}

/// Has the process look whether it is called, as its next call of the allocator would: one that makes none can be called all the same.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn sysprof_memprof_answer() {
    // Also of a recording that has ended since its last call, which it has to leave first.
    process::hear(arch::thread_local());
    // A process that is recorded is in the capture, whether it ever allocates or not.
    drop(Busy::enter_to_tell());
}

/// The function of a name that the program's modules have found. In the executable itself that may be a stub, which stands for
/// the function where its address is wanted, and calls it by a word that may lead to us: then it is the first one behind it.
#[cold]
pub(crate) fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string; the scope needs no handle.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: asks for a number.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
    let executable = modules::around(core::ptr::without_provenance(entry));
    if found.is_null() || executable.is_none() || modules::around(found) != executable {
        return found;
    }
    // SAFETY: no name is the executable, which is loaded.
    let mut map = unsafe { libc::dlopen(core::ptr::null(), libc::RTLD_LAZY) }.cast::<LinkMap>();
    // SAFETY: in glibc a handle is such a description. They are the loader's list, of which those that the program began with come
    // first and are never unloaded.
    while let Some(module) = unsafe { map.as_ref() } {
        // A search in a module goes on in those that it needs, of which each has its own turn.
        let behind = if Some(map) == executable { core::ptr::null_mut() } else { find_in(module, name) };
        if !behind.is_null() && modules::around(behind) == Some(map) {
            return behind;
        }
        map = module.next;
    }
    found
}

/// What a search finds in a module, and in those that it needs.
#[cold]
fn find_in(module: &LinkMap, name: &CStr) -> *mut c_void {
    // SAFETY: the loader's own string. It loads nothing here, but prepares a search from a module that was never searched.
    let handle = unsafe { libc::dlopen(module.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return handle;
    }
    // SAFETY: a handle, and a string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: taken above.
    unsafe { real::dlclose(handle) };
    found
}
