//! What the other side did that cannot be.

use core::fmt;

/// The agent's memory holds something that no sound agent writes. What it belongs to is given up; the loss is
/// counted by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// A ring's head lies more than the ring's size before its tail, or behind it.
    Head,
    /// A record of an unknown kind.
    Opcode,
    /// A record that ends after the ring's head.
    Length,
    /// A stack or address id outside of its table, or not filled in.
    Id,
    /// A node whose parent does not come before it.
    Parent,
    /// A module description that cannot be.
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
