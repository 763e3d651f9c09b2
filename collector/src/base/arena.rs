//! The collector's own memory.

/// Keeps this process's allocator to one arena. glibc has one for each of a recording's dozen threads otherwise: it reserves
/// 64 MiB of addresses for each, so that a thread cannot be started where these are limited (`ulimit -v`), makes them
/// usable page by page, a system call each, and they hold 6 MiB more.
///
/// Must be called before other threads exist.
pub fn keep_to_one_arena() {
    // SAFETY: sets a parameter of the allocator, which reads it when another thread first allocates.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}
