//! The collector's own address space.

use rustix::process::{Resource, getrlimit};

/// Keeps this process's allocator to one arena, for machines where address space is limited (`ulimit -v`). glibc
/// reserves 64 MiB of addresses for each of a recording's dozen threads, and a thread cannot be started where there
/// is no room.
///
/// Must be called before other threads exist.
pub fn spare_address_space() {
    if getrlimit(Resource::As).current.is_some() {
        // SAFETY: sets a parameter of the allocator, which reads it when another thread first allocates.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}
