//! Limits on address space: the agent's mappings must not count against the program's limit, see
//! [`crate::platform::address_space`].

use crate::next::real;
use crate::platform::address_space::{self, Limit};
use core::ffi::{c_int, c_uint};

const AS: c_uint = libc::RLIMIT_AS;

/// Sets or returns a limit of this process.
unsafe fn limit(pid: c_int, resource: c_uint, new: *const Limit, old: *mut Limit) -> c_int {
    let is_own = || pid == 0 || pid.cast_unsigned() == crate::platform::sys::process_id();
    if resource != AS || !address_space::is_shared() || !is_own() {
        // SAFETY: passed on unchanged.
        return unsafe { real::prlimit(pid, resource, new, old) }.unwrap_or(-1);
    }
    let mut before = Limit { current: 0, maximum: 0 };
    // SAFETY: a query, into memory of ours.
    if unsafe { real::prlimit(0, AS, core::ptr::null(), &raw mut before) } != Some(0) {
        return -1;
    }
    let told = address_space::as_program_sees(before);
    if !new.is_null() {
        // SAFETY: the caller passes a limit.
        let asked = unsafe { new.read() };
        let result = address_space::set(asked, before, |limit| {
            // SAFETY: sets the limit from memory of ours.
            unsafe { real::prlimit(0, AS, &raw const limit, core::ptr::null_mut()) }.unwrap_or(-1)
        });
        if result != 0 {
            return result;
        }
    }
    if !old.is_null() {
        // SAFETY: the caller passes a place for a limit.
        unsafe { old.write(told) };
    }
    0
}

/// `int setrlimit(int resource, const struct rlimit *limit)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn setrlimit(resource: c_uint, new: *const Limit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(0, resource, new, core::ptr::null_mut()) }
}

/// `setrlimit` under the name of large-file builds.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn setrlimit64(resource: c_uint, new: *const Limit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(0, resource, new, core::ptr::null_mut()) }
}

/// `int getrlimit(int resource, struct rlimit *limit)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn getrlimit(resource: c_uint, old: *mut Limit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(0, resource, core::ptr::null(), old) }
}

/// `getrlimit` under the name of large-file builds.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn getrlimit64(resource: c_uint, old: *mut Limit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(0, resource, core::ptr::null(), old) }
}

/// `int prlimit(pid_t pid, int resource, const struct rlimit *new, struct rlimit *old)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn prlimit(
    pid: c_int,
    resource: c_uint,
    new: *const Limit,
    old: *mut Limit,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(pid, resource, new, old) }
}

/// `prlimit` under the name of large-file builds.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn prlimit64(
    pid: c_int,
    resource: c_uint,
    new: *const Limit,
    old: *mut Limit,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { limit(pid, resource, new, old) }
}
