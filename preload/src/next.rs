//! The functions that the agent forwards to: what the program would have called without it.
//!
//! | file | what it finds |
//! |---|---|
//! | `real` | the next functions in the search order, by `RTLD_NEXT`, or as the program would find them (`real/from_program`) |
//! | `linked` | the functions of an allocator inside the program: where what they were begins |
//! | `allocator` | either of these as one interface, `Allocator`, for the hooks of `malloc` and its relatives |

#[expect(unsafe_code, reason = "calls C functions")]
pub(crate) mod allocator;
#[expect(unsafe_code, reason = "calls C functions through pointers")]
pub(crate) mod linked;
#[expect(unsafe_code, reason = "calls C functions through pointers")]
pub(crate) mod real;
