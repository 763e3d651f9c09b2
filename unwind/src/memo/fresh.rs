//! A frame that was just walked.

use super::returns::Returns;
use crate::rule::Rule;

/// A frame that a walk has met, before its callers are known.
///
/// It is read soon after it was written. Fields that are loaded together are not adjacent: one load that covers two
/// recent stores would wait until both have left the store buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Fresh {
    /// Compact form of its address.
    pub(super) code: u64,
    /// How the frame is left.
    pub(super) rule: Rule,
    pub(super) sp: u64,
    /// See [`Labels::number`](super::Labels::number).
    pub(super) number: u32,
    pub(super) bp: u64,
    /// The word that leads to its caller.
    pub(super) returns: Returns,
}
