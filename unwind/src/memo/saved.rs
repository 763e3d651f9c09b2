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
    /// The words, the highest first.
    #[inline(always)]
    pub fn as_slice(self) -> &'a [SavedWord] {
        self.0
    }

    /// Whether all lie at `lowest` or above.
    #[inline(always)]
    pub(super) fn lie_at(self, lowest: u64) -> bool {
        self.0.last().is_none_or(|last| last.address >= lowest)
    }
}

/// Room for some of the words of a stack. Zeroed memory has none.
///
/// A hook may be left in the middle of [`Kept::fill`], so nobody asks for the words before it has come to its end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Kept<const ROOM: usize> {
    len: usize,
    words: [SavedWord; ROOM],
}

impl<const ROOM: usize> Kept<ROOM> {
    /// Keeps these instead of what it has, if there is room.
    pub(super) fn fill(&mut self, words: SavedWords<'_>) -> Option<()> {
        self.len = 0;
        self.words.get_mut(..words.0.len())?.copy_from_slice(words.0);
        self.len = words.0.len();
        Some(())
    }

    /// The words, of which there are no more than have room. They fall, as they did in the stack.
    #[inline(always)]
    pub(super) fn words(&self) -> Option<SavedWords<'_>> {
        self.words.get(..self.len).map(SavedWords)
    }
}

/// A stack of saved words over memory of the caller's; only what falls can be put there.
#[derive(Debug)]
pub(super) struct WordStack<'a> {
    words: &'a mut [SavedWord],
    top: Top,
}

/// How far a stack of words reaches. A copy of it is enough to add words that count only once it is given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    /// Number of words.
    len: usize,
    /// Where the last word lies; all addresses lie below that of none.
    lowest: u64,
}

impl Top {
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len
    }
}

impl<'a> WordStack<'a> {
    pub(super) fn new(words: &'a mut [SavedWord]) -> Self {
        Self { words, top: Top { len: 0, lowest: u64::MAX } }
    }

    #[inline(always)]
    pub(super) fn top(&self) -> Top {
        self.top
    }

    /// Has the words up to there, which were added to what it had.
    #[inline(always)]
    pub(super) fn set_top(&mut self, top: Top) {
        self.top = top;
    }

    /// The top of the first `len` words, of which there are so many.
    #[inline(always)]
    pub(super) fn top_at(&self, len: usize) -> Top {
        match len.checked_sub(1).and_then(|last| self.words.get(last)) {
            Some(last) => Top { len, lowest: last.address },
            None => Top { len: 0, lowest: u64::MAX },
        }
    }

    /// Forgets all words but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.top = self.top_at(self.top.len.min(len));
    }

    /// Adds a word below the others, up to `top`, and gives the new top. `None` if it does not lie below, is no word, or there
    /// is no room.
    #[inline(always)]
    pub(super) fn add(&mut self, top: Top, address: u64, value: u64) -> Option<Top> {
        if address >= top.lowest || !address.is_multiple_of(8) {
            return None;
        }
        let word = self.words.get_mut(top.len)?;
        // Word by word: no reader waits for a copy of both.
        (word.address, word.value) = (address, value);
        Some(Top { len: top.len.wrapping_add(1), lowest: address })
    }

    /// The first `count` words, if there are so many.
    #[inline(always)]
    pub(super) fn first(&self, count: usize) -> Option<SavedWords<'_>> {
        if count > self.top.len { None } else { self.words.get(..count).map(SavedWords) }
    }

    /// All words, of which there are no more than have room.
    #[inline(always)]
    pub(super) fn all(&self) -> Option<SavedWords<'_>> {
        self.words.get(..self.top.len).map(SavedWords)
    }

    /// The words after the first `count`.
    #[inline(always)]
    pub(super) fn after(&self, count: usize) -> SavedWords<'_> {
        SavedWords(self.words.get(count..self.top.len).unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::{SavedWord, WordStack};

    /// Check that only words that fall, are aligned and fit are taken, and that those stay in order.
    #[test]
    fn only_falling_words_are_taken() {
        let mut memory = [SavedWord::default(); 3];
        let mut words = WordStack::new(&mut memory);
        for (address, taken) in [
            (0x1000, true),
            (0x1000, false),
            (0x1008, false),
            (0xff4, false),
            (0xff8, true),
            (8, true),
            (0, false),
        ] {
            let top = words.add(words.top(), address, address + 1);
            assert_eq!(top.is_some(), taken, "{address:#x}");
            words.set_top(top.unwrap_or(words.top()));
        }
        let all: std::vec::Vec<_> = words.after(0).as_slice().iter().map(|word| word.address).collect();
        assert_eq!(all, [0x1000, 0xff8, 8]);
        words.truncate(1);
        assert_eq!((words.top().len(), words.after(1).as_slice().len()), (1, 0));
        assert!(words.add(words.top(), 0x10, 1).is_some());
    }

    /// Check that words which were added count only once the top is given back.
    #[test]
    fn words_count_once_their_top_is_given_back() {
        let mut memory = [SavedWord::default(); 3];
        let mut words = WordStack::new(&mut memory);
        let top = words.add(words.top(), 0x1000, 1).and_then(|top| words.add(top, 0xff8, 2));
        assert_eq!((top.map(|top| top.len()), words.after(0).as_slice().len()), (Some(2), 0));
        words.set_top(top.expect("both fit"));
        assert_eq!(words.after(0).as_slice().len(), 2);
    }
}
