//! Stack words and what they held.

/// A word of the stack and its value when it was last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SavedWord {
    /// Its address, a multiple of 8.
    pub address: u64,
    /// Its value.
    pub value: u64,
}

/// Saved words whose addresses are multiples of 8 and strictly descending: the first is the highest, the last the
/// lowest. So two comparisons tell whether all of them lie in a range.
#[derive(Clone, Copy, Debug)]
pub struct SavedWords<'a, W>(&'a [W]);

impl AsRef<Self> for SavedWord {
    #[inline(always)]
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<'a, W: AsRef<SavedWord> + Copy> SavedWords<'a, W> {
    /// Words of the oldest frames of one stack, oldest first: walks have read them, and stacks grow downwards.
    #[inline(always)]
    pub(crate) fn of_stack(words: &'a [W]) -> Self {
        Self(words)
    }

    /// The words, highest first.
    #[inline(always)]
    pub fn as_slice(self) -> &'a [W] {
        self.0
    }
}
