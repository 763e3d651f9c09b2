//! The functions that programs call through `sysprof_memprof.h`, which describes each of them.
//!
//! They replace nothing: without the agent a program finds none of them and goes on.

use super::shim;
use crate::modules::functions;
use crate::record::guard::pause;
use crate::record::{pools, tracker};
use crate::thread::provider;
use crate::thread::stack::Caller;
use core::ffi::{c_char, c_uint, c_void};
use shared_ring::record::name::{MAX_NAME, MarkKind};

type Pointer = *const c_void;

shim!(
    /// `void memprof_report_alloc(memprof_pool_t pool, const void *block, size_t size)`
    memprof_report_alloc, 3, 4, report_alloc_body
);
shim!(
    /// `void memprof_report_realloc(memprof_pool_t pool, const void *old, const void *block, size_t size)`
    memprof_report_realloc, 4, 5, report_realloc_body
);

unsafe extern "C" fn report_alloc_body(
    pool: c_uint,
    block: Pointer,
    size: usize,
    entry: *const u64,
    bp: u64,
) {
    if !block.is_null() {
        // SAFETY: the shim passes the stack pointer at the entry of the export.
        let caller = unsafe { Caller::of_entry(entry, bp) };
        tracker::reported(pool, block.addr(), size, caller);
    }
}

unsafe extern "C" fn report_realloc_body(
    pool: c_uint,
    old: Pointer,
    block: Pointer,
    size: usize,
    entry: *const u64,
    bp: u64,
) {
    if block.is_null() {
        return;
    }
    // SAFETY: the shim passes the stack pointer at the entry of the export.
    let caller = unsafe { Caller::of_entry(entry, bp) };
    if old.is_null() {
        tracker::reported(pool, block.addr(), size, caller);
    } else {
        tracker::reported_again(pool, old.addr(), block.addr(), size, caller);
    }
}

/// `void memprof_report_free(memprof_pool_t pool, const void *block)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_report_free(pool: c_uint, block: Pointer) {
    if !block.is_null() {
        tracker::report_ends(pool, block.addr());
    }
}

/// `memprof_pool_t memprof_pool(const char *name)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_pool(name: *const c_char) -> c_uint {
    // SAFETY: the caller passes a string.
    pools::number(unsafe { bytes(name) })
}

/// `memprof_function_t memprof_function(const char *name, const char *file)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_function(name: *const c_char, file: *const c_char) -> c_uint {
    // SAFETY: the caller passes a string.
    let name = unsafe { bytes(name) };
    // SAFETY: as above.
    functions::number(name, unsafe { bytes(file) })
}

/// `memprof_stack_provider_t memprof_set_stack_provider(memprof_stack_provider_t provider)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn memprof_set_stack_provider(provider: *mut c_void) -> *mut c_void {
    provider::set(provider)
}

/// `void memprof_start(void)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn memprof_start() {
    pause::set(false);
}

/// `void memprof_stop(void)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn memprof_stop() {
    pause::set(true);
}

/// `void memprof_mark(const char *name)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_mark(name: *const c_char) {
    // SAFETY: the caller passes a string.
    tracker::marked(MarkKind::Instant, unsafe { bytes(name) });
}

/// `void memprof_mark_begin(const char *name)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_mark_begin(name: *const c_char) {
    // SAFETY: the caller passes a string.
    tracker::marked(MarkKind::Begin, unsafe { bytes(name) });
}

/// `void memprof_mark_end(const char *name)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn memprof_mark_end(name: *const c_char) {
    // SAFETY: the caller passes a string.
    tracker::marked(MarkKind::End, unsafe { bytes(name) });
}

/// The bytes of a string, as many as a name may have; none for a null pointer.
///
/// # Safety
/// A pointer that is not null points to a string, which does not change while the result is used.
unsafe fn bytes<'a>(string: *const c_char) -> &'a [u8] {
    if string.is_null() {
        return &[];
    }
    // SAFETY: the caller passes a string; nothing is read beyond its end.
    let length = unsafe { libc::strnlen(string, MAX_NAME) };
    // SAFETY: so many bytes were just read.
    unsafe { core::slice::from_raw_parts(string.cast(), length) }
}
