//! Stack words and what they held.

/// A word of the stack and its value when it was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SavedWord {
    /// Where it lies, a multiple of 8.
    pub address: u64,
    /// What it held.
    pub value: u64,
}

/// Saved words whose addresses are multiples of 8 and fall strictly: the first lies highest, the last lowest. So two
/// comparisons say whether all of them lie in a range.
#[derive(Clone, Copy, Debug)]
pub struct SavedWords<'a>(&'a [SavedWord]);

impl<'a> SavedWords<'a> {
    /// Where frames of one stack return, the oldest first. Stacks grow downwards, and each of these words a walk has read.
    #[inline(always)]
    pub(super) fn of_stack(returns: &'a [SavedWord]) -> Self {
        Self(returns)
    }

    /// The words, the highest first.
    #[inline(always)]
    pub fn as_slice(self) -> &'a [SavedWord] {
        self.0
    }
}
