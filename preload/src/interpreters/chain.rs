//! The frames that an interpreter has linked, as they were read last, with every word that led from one to the next.
//!
//! ```text
//!  words    state → innermost frame │ its code, its instruction, its caller │ those of the caller … : innermost first
//!  frames   what became of them: the id of function and line, and the hash of all frames from the outermost on
//! ```
//!
//! If all words still have their values the chain is the same, and nothing else has to be looked at. Otherwise it is
//! read anew. From the outermost frame on, those that are as they were keep what became of them.

use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::mix;
use unwind::SavedWord;

/// Most frames that are read; of a longer chain the innermost.
pub(crate) const MOST_FRAMES: usize = 1024;
/// Most words of a chain: four for a frame, and four for an evaluation.
const MOST_WORDS: usize = 8 * MOST_FRAMES;

/// A frame of an interpreter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptFrame {
    /// Its address.
    pub(crate) frame: u64,
    /// What it executes.
    pub(crate) code: u64,
    /// Where in that.
    pub(crate) instruction: u64,
    /// A word of the code that differs if other code has taken its address.
    pub(crate) witness: u64,
    /// An address in the native frame that runs it; 0 if that is unknown.
    pub(crate) place: u64,
}

/// A frame and what became of it.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    frame: ScriptFrame,
    /// Hash of the ids and places of all frames from the outermost to this one.
    hash: u64,
    /// The id of its function and line in the pc table; 0 if it is to be left out.
    pc: u32,
}

/// A frame as stacks have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) pc: u32,
    pub(crate) place: u64,
}

/// What a chain is, when it was looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Hash of its frames and their places.
    pub(crate) hash: u64,
    /// There are more frames, further out.
    pub(crate) is_cut: bool,
}

/// The last chain of a thread. Zeroed memory is a chain that was never read.
pub(crate) struct Chain {
    words: [SavedWord; MOST_WORDS],
    word_count: usize,
    /// Frames that are being read, innermost first.
    fresh: [ScriptFrame; MOST_FRAMES],
    fresh_count: usize,
    is_cut: bool,
    /// Frames of the last chain, outermost first.
    known: [Known; MOST_FRAMES],
    known_count: usize,
}

impl Chain {
    /// Forgets what was read: it may no longer be readable.
    pub(crate) fn forget_words(&mut self) {
        self.word_count = 0;
    }

    /// Forgets what became of the frames: ids are those of another recording.
    pub(crate) fn forget(&mut self) {
        (self.word_count, self.known_count) = (0, 0);
    }

    /// True when the chain is the one that was read last.
    // Cost: three loads and a compare for each of four words of a frame.
    #[inline(always)]
    pub(crate) fn is_same(&self) -> bool {
        self.word_count != 0 && self.words.get(..self.word_count).is_some_and(KnownMemory::hold)
    }

    /// What the last chain was.
    #[inline(always)]
    pub(crate) fn summary(&self) -> Summary {
        let last = self.known_count.checked_sub(1).and_then(|last| self.known.get(last));
        Summary { hash: last.map_or(0, |last| last.hash), is_cut: self.is_cut }
    }

    /// Begins to read another one.
    pub(crate) fn begin(&mut self) {
        (self.word_count, self.fresh_count, self.is_cut) = (0, 0, false);
    }

    /// Reads a word that decides what the chain is.
    #[inline(always)]
    pub(crate) fn word(&mut self, address: u64, memory: &mut KnownMemory) -> Option<u64> {
        let value = memory.word(address)?;
        *self.words.get_mut(self.word_count)? = SavedWord { address, value };
        self.word_count = self.word_count.wrapping_add(1);
        Some(value)
    }

    /// Appends a frame, further out than all before it; false if there is no room.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: ScriptFrame) -> bool {
        match self.fresh.get_mut(self.fresh_count) {
            Some(place) => *place = frame,
            None => self.is_cut = true,
        }
        self.fresh_count = self.fresh_count.wrapping_add(usize::from(!self.is_cut));
        !self.is_cut
    }

    /// Number of frames that were read so far.
    pub(crate) fn count(&self) -> usize {
        self.fresh_count
    }

    /// Says which native frame runs all frames that were read, except the first `from`.
    pub(crate) fn place(&mut self, from: usize, place: u64) {
        self.fresh.iter_mut().take(self.fresh_count).skip(from).for_each(|frame| frame.place = place);
    }

    /// Ends reading; `resolve` finds out the ids of frames that are not as they were. `None` if it fails for one.
    pub(crate) fn end(&mut self, mut resolve: impl FnMut(&ScriptFrame) -> Option<u32>) -> Option<()> {
        let fresh = self.fresh.get(..self.fresh_count)?.iter().rev();
        let (mut count, mut hash) = (0, 0);
        let mut is_as_before = true;
        for (frame, known) in fresh.zip(&mut self.known) {
            is_as_before = is_as_before && count < self.known_count && known.frame == *frame;
            if !is_as_before {
                // If this fails, only frames up to here are known.
                self.known_count = count;
                let pc = resolve(frame)?;
                hash = if pc == 0 { hash } else { mix(mix(hash, u64::from(pc)), frame.place) };
                *known = Known { frame: *frame, hash, pc };
            }
            hash = known.hash;
            count = count.wrapping_add(1);
        }
        self.known_count = count;
        Some(())
    }

    /// Its frames, outermost first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Placed> + Clone {
        let known = self.known.iter().take(self.known_count);
        known
            .filter(|known| known.pc != 0)
            .map(|Known { frame, pc, .. }| Placed { pc: *pc, place: frame.place })
    }
}
