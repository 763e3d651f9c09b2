//! What hooks record, and when they may.

#[expect(unsafe_code, reason = "hands out the thread's state")]
pub(crate) mod guard;
#[expect(unsafe_code, reason = "runs in the loader's and libc's callbacks")]
pub(crate) mod lifecycle;
pub(crate) mod pools;
pub(crate) mod sandbox;
pub(crate) mod tracker;
