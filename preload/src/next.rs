//! The functions that the agent forwards to: what the program would have called without it.

#[expect(unsafe_code, reason = "calls C functions")]
pub(crate) mod allocator;
#[expect(unsafe_code, reason = "calls C functions through pointers")]
pub(crate) mod linked;
#[expect(unsafe_code, reason = "calls C functions through pointers")]
pub(crate) mod real;
