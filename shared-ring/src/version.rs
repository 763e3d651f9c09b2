//! The version of what agent and collector tell each other.

/// Version of everything in this crate that two processes share. Both sides must have the same one.
pub const PROTOCOL_VERSION: u32 = 10;
