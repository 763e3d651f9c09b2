//! What every other part may use: the clock, options, errors, and small helpers that know nothing of a recording.

pub(crate) mod alarm;
#[expect(unsafe_code, reason = "tells the allocator how many arenas to have")]
pub(crate) mod arena;
pub(crate) mod background;
pub(crate) mod capture_writer;
#[expect(unsafe_code, reason = "reads the time stamp counter")]
pub(crate) mod clock;
pub(crate) mod command_line;
pub(crate) mod cpu_options;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod file_lock;
pub(crate) mod folders;
pub(crate) mod glob;
#[expect(unsafe_code, reason = "asks libc for a group")]
pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod name_search;
pub(crate) mod options;
#[expect(unsafe_code, reason = "asks who is at the other end of a socket, which may have no number here")]
pub(crate) mod peer;
#[expect(unsafe_code, reason = "asks the kernel for an event")]
pub(crate) mod perf_event;
#[expect(unsafe_code, reason = "gives a thread a umask of its own")]
pub(crate) mod rights;
#[expect(unsafe_code, reason = "tells the kernel how to schedule a thread")]
pub(crate) mod scheduling;
#[expect(unsafe_code, reason = "signal masks and signalfd")]
pub(crate) mod signals;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod triggers;
