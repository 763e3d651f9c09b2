//! Reading the stack.

use crate::end::End;
use crate::saved_words::{SavedWord, SavedWords};

/// The stack words that a walk may read.
///
/// Every address that a walk derives goes through here, so an implementation also limits what a damaged stack can
/// make a walk touch.
pub trait Memory {
    /// The word at `address`, a multiple of 8; `None` if it cannot be read.
    fn read(&mut self, address: u64) -> Option<u64>;

    /// The words at both addresses, multiples of 8; the second is rarely the higher one. `None` if one of them cannot
    /// be read.
    #[inline(always)]
    fn read_both(&mut self, first: u64, second: u64) -> Option<(u64, u64)> {
        Some((self.read(first)?, self.read(second)?))
    }

    /// How many of `words`, from the first and highest on, can be read and still have their value.
    ///
    /// An implementation that knows a readable range may compare the two ends with it and read without further
    /// checks.
    #[inline(always)]
    fn unchanged<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> usize {
        let is_unchanged = |word: &&SavedWord| self.read(word.address) == Some(word.value);
        words.as_slice().iter().map(AsRef::as_ref).take_while(is_unchanged).count()
    }

    /// Whether all `words` can be read and still have their value.
    #[inline(always)]
    fn holds<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        self.unchanged(words) == words.as_slice().len()
    }

    /// The same for calls where the number of words rarely equals that of the last call.
    #[inline(always)]
    fn holds_any_number<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        self.holds(words)
    }
}

impl<M: Memory + ?Sized> Memory for &mut M {
    #[inline(always)]
    fn read(&mut self, address: u64) -> Option<u64> {
        (**self).read(address)
    }

    #[inline(always)]
    fn read_both(&mut self, first: u64, second: u64) -> Option<(u64, u64)> {
        (**self).read_both(first, second)
    }

    #[inline(always)]
    fn unchanged<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> usize {
        (**self).unchanged(words)
    }

    #[inline(always)]
    fn holds<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        (**self).holds(words)
    }

    #[inline(always)]
    fn holds_any_number<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        (**self).holds_any_number(words)
    }
}

/// The word at `address`, or how a walk that needs it ends: no stack word has an unaligned address.
#[inline(always)]
pub(crate) fn word(memory: &mut impl Memory, address: u64) -> Result<u64, End> {
    if !address.is_multiple_of(8) {
        return Err(End::Broken);
    }
    memory.read(address).ok_or(End::Unreadable)
}
