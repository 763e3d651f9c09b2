//! Impossible things that the other side did.

use core::fmt;

/// The agent's memory contains something that no correct agent writes. Whatever it belongs to is given up; the caller
/// counts the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// A ring's head is behind its tail, or ahead of it by more than the ring's size.
    Head,
    /// A record of an unknown kind.
    Opcode,
    /// A record that ends after the ring's head.
    Length,
    /// A stack or address id that is outside of its table, or not filled in.
    Id,
    /// A node that does not come after its parent.
    Parent,
    /// An impossible module description.
    Module,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Corrupt::Head => "the head of a ring is impossible",
            Corrupt::Opcode => "a record has an unknown kind",
            Corrupt::Length => "a record ends beyond the head of its ring",
            Corrupt::Id => "an id points outside of its table",
            Corrupt::Parent => "a stack refers to a later one",
            Corrupt::Module => "a module description is impossible",
        })
    }
}
