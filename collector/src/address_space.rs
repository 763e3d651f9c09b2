//! The collector's own address space.

use rustix::process::{Resource, getrlimit};

/// Has the allocator of this process do with few addresses, where these are limited (`ulimit -v`). glibc's reserves 64 MiB of them for each
/// of a recording's dozen threads, and a thread for which there is no room is not there.
///
/// To be called before there are other threads.
pub fn spare_address_space() {
    if getrlimit(Resource::As).current.is_some() {
        // SAFETY: sets a number of the allocator's, which looks at it when another thread allocates first.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}
