//! What the agent answers when it is called for the first time, in a process that it was injected into.

/// It can be called through the doorbell.
pub const READY: i32 = 0;
/// There is no doorbell.
pub const NO_DOORBELL: i32 = 1;
/// The C library lacks what the agent needs.
pub const UNSUPPORTED: i32 = 2;
/// The library comes before the others, as it was preloaded.
pub const PRELOADED: i32 = 3;
