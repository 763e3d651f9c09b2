//! Limits on address space: what the recording has mapped is not the program's to account for.
//!
//! A recording reserves gigabytes of addresses in a process, of which it uses little. A program that limits its own
//! address space, as a shell does by `ulimit -v`, could map nothing any more. So the limit that is set is larger by what
//! is reserved, and the program is told the one that it has set.

use crate::process;
use crate::real;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU64, Ordering};

/// `struct rlimit`, which is the same with large files on 64-bit systems.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    current: u64,
    maximum: u64,
}

const INFINITY: u64 = libc::RLIM_INFINITY;
const AS: c_uint = libc::RLIMIT_AS;

/// The limit that the program asked for last, and the one that was set; all 0 before. Words are not read as one: a
/// program that sets a limit in one thread and asks in another at the same time has no right to either answer.
static ASKED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static SET: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn load(words: &[AtomicU64; 2]) -> Limit {
    let [current, maximum] = words;
    Limit { current: current.load(Ordering::Relaxed), maximum: maximum.load(Ordering::Relaxed) }
}

fn store(words: &[AtomicU64; 2], limit: Limit) {
    let [current, maximum] = words;
    current.store(limit.current, Ordering::Relaxed);
    maximum.store(limit.maximum, Ordering::Relaxed);
}

impl Limit {
    /// Larger by so many bytes, as far as `allowed` goes: nobody but root may raise the maximum.
    fn larger_by(self, bytes: u64, allowed: u64) -> Limit {
        let larger = |limit: u64| if limit == INFINITY { limit } else { limit.saturating_add(bytes) };
        // One above what is allowed already is refused, as it would be without us.
        let bound = allowed.max(self.maximum);
        Limit { current: larger(self.current).min(bound), maximum: larger(self.maximum).min(bound) }
    }
}

/// Sets or asks for a limit of this process.
unsafe fn limit(pid: c_int, resource: c_uint, new: *const Limit, old: *mut Limit) -> c_int {
    let reserved = process::reserved_bytes();
    if resource != AS || reserved == 0 || !(pid == 0 || pid.cast_unsigned() == crate::sys::process_id()) {
        // SAFETY: passed on as it came.
        return unsafe { real::prlimit(pid, resource, new, old) }.unwrap_or(-1);
    }
    let mut before = Limit { current: 0, maximum: 0 };
    // SAFETY: asks for the limit, into memory of ours.
    if unsafe { real::prlimit(0, AS, core::ptr::null(), &raw mut before) } != Some(0) {
        return -1;
    }
    if !new.is_null() {
        // SAFETY: the caller passes a limit.
        let asked = unsafe { new.read() };
        let set = asked.larger_by(reserved, before.maximum);
        // SAFETY: sets the limit to one of ours.
        let result = unsafe { real::prlimit(0, AS, &raw const set, core::ptr::null_mut()) }.unwrap_or(-1);
        if result != 0 {
            return result;
        }
        tell(old, before);
        store(&ASKED, asked);
        store(&SET, set);
    } else {
        tell(old, before);
    }
    0
}

/// Tells the program of a limit: the one that it asked for where that one is set.
fn tell(old: *mut Limit, limit: Limit) {
    if !old.is_null() {
        let told = if limit == load(&SET) { load(&ASKED) } else { limit };
        // SAFETY: the caller passes a place for a limit.
        unsafe { old.write(told) };
    }
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

#[cfg(test)]
mod tests {
    use super::{INFINITY, Limit};

    /// Check that limits grow by what is reserved, never beyond what is allowed, and not where there is none.
    #[test]
    fn limits_grow_as_far_as_they_may() {
        let limit = |current, maximum| Limit { current, maximum };
        let cases = [
            (limit(100, 200), INFINITY, limit(1100, 1200)),
            (limit(100, INFINITY), INFINITY, limit(1100, INFINITY)),
            (limit(100, 200), 500, limit(500, 500)),
            (limit(200, 200), 200, limit(200, 200)),
            (limit(100, 300), 200, limit(300, 300)),
            (limit(INFINITY, INFINITY), INFINITY, limit(INFINITY, INFINITY)),
            (limit(INFINITY - 5, INFINITY), INFINITY, limit(INFINITY, INFINITY)),
        ];
        for (asked, allowed, expected) in cases {
            assert_eq!(asked.larger_by(1000, allowed), expected, "{asked:?} of {allowed}");
        }
    }
}
