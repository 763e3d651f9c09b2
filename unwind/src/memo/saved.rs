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
}

/// A stack of saved words over memory of the caller's, each with the number of the frame that it leads from; only what falls can be
/// pushed.
#[derive(Debug)]
pub(super) struct WordStack<'a> {
    words: &'a mut [SavedWord],
    frames: &'a mut [u32],
    len: usize,
    /// Where the last word lies, all addresses lie below that of none.
    lowest: u64,
}

impl<'a> WordStack<'a> {
    pub(super) fn new(words: &'a mut [SavedWord], frames: &'a mut [u32]) -> Self {
        Self { words, frames, len: 0, lowest: u64::MAX }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets all words but the first `len`.
    #[inline(always)]
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        let last = self.len.checked_sub(1).and_then(|last| self.words.get(last));
        self.lowest = last.map_or(u64::MAX, |last| last.address);
    }

    /// Adds a word below the others; false if it does not lie below, is no word, or there is no room.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: u32, address: u64, value: u64) -> bool {
        if address >= self.lowest || !address.is_multiple_of(8) {
            return false;
        }
        let (Some(word), Some(of)) = (self.words.get_mut(self.len), self.frames.get_mut(self.len)) else {
            return false;
        };
        // Word by word: no reader waits for a copy of both.
        (word.address, word.value) = (address, value);
        *of = frame;
        (self.len, self.lowest) = (self.len.wrapping_add(1), address);
        true
    }

    /// The words after the first `count`.
    #[inline(always)]
    pub(super) fn after(&self, count: usize) -> SavedWords<'_> {
        SavedWords(self.words.get(count..self.len).unwrap_or(&[]))
    }

    /// The number of the frame that a word leads from.
    #[inline(always)]
    pub(super) fn frame(&self, word: usize) -> usize {
        self.frames.get(word).map_or(0, |frame| *frame as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{SavedWord, WordStack};

    /// Check that only words that fall, are aligned and fit are taken, and that those stay in order.
    #[test]
    fn only_falling_words_are_taken() {
        let (mut memory, mut frames) = ([SavedWord::default(); 3], [0; 3]);
        let mut words = WordStack::new(&mut memory, &mut frames);
        for (frame, (address, taken)) in (1..).zip([
            (0x1000, true),
            (0x1000, false),
            (0x1008, false),
            (0xff4, false),
            (0xff8, true),
            (8, true),
            (0, false),
        ]) {
            assert_eq!(words.push(frame, address, address + 1), taken, "{address:#x}");
        }
        assert_eq!((0..3).map(|word| words.frame(word)).collect::<std::vec::Vec<_>>(), [1, 5, 6]);
        let all: std::vec::Vec<_> = words.after(0).as_slice().iter().map(|word| word.address).collect();
        assert_eq!(all, [0x1000, 0xff8, 8]);
        words.truncate(1);
        assert_eq!((words.len(), words.after(1).as_slice().len()), (1, 0));
        assert!(words.push(7, 0x10, 1));
    }
}
