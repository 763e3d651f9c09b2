//! How a walk ends.

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum End {
    /// The outermost frame was reached: the stack is complete.
    Root = 0,
    /// The depth limit was reached, and there are more frames.
    Truncated = 1,
    /// The last frame has no unwind table and no plausible frame pointer.
    NoUnwindInfo = 2,
    /// The chain violated a rule that every stack obeys: the next frame would not lie above the last one, or its
    /// return address is not code.
    Broken = 3,
    /// A word that the next step needs could not be read.
    Unreadable = 4,
}
