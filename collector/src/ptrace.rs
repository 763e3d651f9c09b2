//! Stops threads of other processes, and reads and changes what they were doing: a library of its own.

pub(crate) mod arch;
pub(crate) mod breakpoints;
pub(crate) mod filters;
pub(crate) mod hold;
pub(crate) mod memory;
pub(crate) mod refusal;
pub(crate) mod threads;
#[expect(unsafe_code, reason = "ptrace")]
pub(crate) mod tracee;
#[expect(unsafe_code, reason = "fork")]
pub(crate) mod tracer;
