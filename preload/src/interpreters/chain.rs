//! The frames that an interpreter has linked, as they were read last, with every word that led from one to the next.
//!
//! ```text
//!           outermost ───────────────────────────────► innermost ◄── state of the thread
//!  known   │ <module> │ main     │ fill                │   what became of each frame, and the hash of all up to it
//!  words   │ instruction, code, caller, what tells its code from other code, and what led to its caller's evaluation
//!                     │ moved    │ fresh
//! ```
//!
//! The words are compared from the outermost frame on: up to the first that differs, everything is as it was. Then
//! frames are read from the innermost outwards, until one is met of whose callers all words have held. Most often that
//! is the one that has only moved on to another instruction. So calls and returns cost the frames that came, and a
//! comparison for each word of the others.

use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::mix;
use unwind::SavedWord;

/// Most frames that are read; of a longer chain the innermost.
pub(crate) const MOST_FRAMES: usize = 1024;
/// Most words of a chain: six for a frame, and two for an evaluation.
const MOST_WORDS: usize = 8 * MOST_FRAMES;
/// Places by which frames are found again.
const PLACES: usize = 1024;

/// A frame of an interpreter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptFrame {
    /// Its address.
    pub(crate) frame: u64,
    /// What it executes.
    pub(crate) code: u64,
    /// Where in that.
    pub(crate) instruction: u64,
    /// An address in the native frame that runs it; 0 if that is unknown.
    pub(crate) place: u64,
}

/// What a frame came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    /// Tells its code from other code at the same address; 0 while that is not known.
    pub(crate) identity: u64,
    /// The id of its function and line in the pc table; 0 if it is to be left out.
    pub(crate) pc: u32,
}

/// A frame of the last chain.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    frame: ScriptFrame,
    site: Site,
    /// Where its words end; the first is that of its instruction.
    end: usize,
    /// Hash of the ids and places of all frames from the outermost to this one.
    hash: u64,
}

/// A frame that is being read.
#[derive(Clone, Copy, Debug, Default)]
struct Fresh {
    frame: ScriptFrame,
    identity: u64,
    /// Where its words begin.
    start: usize,
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
    /// Outermost frame first.
    words: [SavedWord; MOST_WORDS],
    known: [Known; MOST_FRAMES],
    known_count: usize,
    /// There are more frames, further out than those that are known.
    is_cut: bool,
    /// Where a frame is in `known`, plus one, by its address: a guess.
    places: [u16; PLACES],
    /// Number of known frames, from the outermost on, all of whose words have held.
    reach: usize,
    /// Number of known frames that remain.
    kept: usize,
    /// Frames that are being read, innermost first.
    fresh: [Fresh; MOST_FRAMES],
    fresh_count: usize,
    fresh_words: [SavedWord; MOST_WORDS],
    fresh_word_count: usize,
}

impl Chain {
    /// Forgets what was read: it may no longer be readable, or ids are those of another recording.
    pub(crate) fn forget(&mut self) {
        self.known_count = 0;
    }

    /// What the last chain was.
    #[inline(always)]
    pub(crate) fn summary(&self) -> Summary {
        Summary { hash: self.hash_of(self.known_count), is_cut: self.is_cut }
    }

    /// The hash of so many frames from the outermost on.
    #[inline(always)]
    fn hash_of(&self, count: usize) -> u64 {
        self.last_of(count).map_or(0, |last| last.hash)
    }

    /// The last of so many frames from the outermost on.
    #[inline(always)]
    fn last_of(&self, count: usize) -> Option<&Known> {
        self.known.get(count.checked_sub(1)?)
    }

    /// Where the words of so many frames end.
    #[inline(always)]
    fn end_of(&self, count: usize) -> usize {
        self.last_of(count).map_or(0, |last| last.end)
    }

    /// Begins to read the chain that starts with the frame at this address, in the evaluation at `place` if that is
    /// known; true when it is the last one.
    // Cost: three loads and a compare for each of four to six words of a frame.
    #[inline(always)]
    pub(crate) fn begin(&mut self, innermost: u64, place: u64) -> bool {
        let all = self.words.get(..self.end_of(self.known_count)).unwrap_or(&[]);
        let held = KnownMemory::held(all);
        self.reach = self.known_count;
        while self.end_of(self.reach) > held {
            self.reach = self.reach.wrapping_sub(1);
        }
        (self.fresh_count, self.fresh_word_count, self.kept) = (0, 0, 0);
        let newest = self.last_of(self.known_count).map(|last| last.frame);
        let is_newest = |last: ScriptFrame| last.frame == innermost && last.is_at(place);
        let is_same = self.reach == self.known_count && newest.is_some_and(is_newest);
        if self.is_cut && !is_same {
            // The outermost of what remains would not be the outermost of so many.
            self.begin_afresh();
        }
        is_same
    }

    /// Begins anew, to read all frames.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_afresh(&mut self) {
        (self.known_count, self.reach, self.kept) = (0, 0, 0);
        (self.fresh_count, self.fresh_word_count) = (0, 0);
    }

    /// If the frame at this address, in the evaluation at `place` if that is known, was there, and its callers are as
    /// they were: its place. Nothing is to be read from there on. `instruction` makes one of a word.
    #[inline(always)]
    pub(crate) fn meet(
        &mut self,
        frame: u64,
        place: u64,
        instruction: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        let index = usize::from(*self.places.get(place_of(frame))?).checked_sub(1)?;
        let known = *self.known.get(index)?;
        if index > self.reach
            || index >= self.known_count
            || known.frame.frame != frame
            || !known.frame.is_at(place)
        {
            return None;
        }
        if index < self.reach {
            self.kept = index.wrapping_add(1);
            return Some(known.frame.place);
        }
        // Its callers are as they were. It may itself have moved on.
        let (first, others) = self.words.get(self.end_of(index)..known.end)?.split_first()?;
        if KnownMemory::held(others) != others.len() {
            return None;
        }
        let value = KnownMemory::again(*first);
        let start = self.fresh_word_count;
        let end = start.wrapping_add(others.len()).wrapping_add(1);
        let (moved, rest) = self.fresh_words.get_mut(start..end)?.split_first_mut()?;
        *moved = SavedWord { value, ..*first };
        rest.copy_from_slice(others);
        let place = self.fresh.get_mut(self.fresh_count)?;
        let instruction = instruction(value);
        *place =
            Fresh { frame: ScriptFrame { instruction, ..known.frame }, identity: known.site.identity, start };
        (self.fresh_word_count, self.fresh_count) = (end, self.fresh_count.wrapping_add(1));
        self.kept = index;
        Some(known.frame.place)
    }

    /// Begins a frame: words that are read from here on are its own, that of its instruction first.
    #[inline(always)]
    pub(crate) fn open(&mut self) {
        if let Some(fresh) = self.fresh.get_mut(self.fresh_count) {
            fresh.start = self.fresh_word_count;
        }
    }

    /// Reads a word that decides what the chain is.
    #[inline(always)]
    pub(crate) fn word(&mut self, address: u64, memory: &mut KnownMemory) -> Option<u64> {
        let value = memory.word(address)?;
        *self.fresh_words.get_mut(self.fresh_word_count)? = SavedWord { address, value };
        self.fresh_word_count = self.fresh_word_count.wrapping_add(1);
        Some(value)
    }

    /// Appends the frame that was begun, further out than all before it; false if there is no room.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: ScriptFrame) -> bool {
        let Some(fresh) = self.fresh.get_mut(self.fresh_count) else { return false };
        (fresh.frame, fresh.identity) = (frame, 0);
        self.fresh_count = self.fresh_count.wrapping_add(1);
        true
    }

    /// Number of frames that were read so far.
    pub(crate) fn count(&self) -> usize {
        self.fresh_count
    }

    /// Says which native frame runs all frames that were read, except the first `from`.
    #[inline(always)]
    pub(crate) fn place(&mut self, from: usize, place: u64) {
        self.fresh.iter_mut().take(self.fresh_count).skip(from).for_each(|fresh| fresh.frame.place = place);
    }

    /// True when the frames that were read and those that remain are more than there is room for.
    pub(crate) fn is_too_long(&self) -> bool {
        self.kept.wrapping_add(self.fresh_count) > MOST_FRAMES
    }

    /// Ends reading; `resolve` finds out what frames came to that were not there. `None` if it fails for one.
    #[inline(always)]
    pub(crate) fn end(
        &mut self,
        is_cut: bool,
        mut resolve: impl FnMut(&ScriptFrame, u64) -> Option<Site>,
    ) -> Option<()> {
        self.is_cut = is_cut;
        // If this fails, only frames up to there are known.
        self.known_count = self.kept;
        let (mut end, mut hash) = (self.end_of(self.kept), self.hash_of(self.kept));
        let mut words_end = self.fresh_word_count;
        for fresh in self.fresh.get(..self.fresh_count)?.iter().rev() {
            let Fresh { frame, identity, start } = fresh;
            let site = resolve(frame, *identity)?;
            if site.pc != 0 {
                hash = mix(mix(hash, u64::from(site.pc)), frame.place);
            }
            let words = self.fresh_words.get(*start..words_end)?;
            words_end = *start;
            let start = end;
            end = end.wrapping_add(words.len());
            for (place, word) in self.words.get_mut(start..end)?.iter_mut().zip(words) {
                *place = *word;
            }
            *self.known.get_mut(self.known_count)? = Known { frame: *frame, site, end, hash };
            self.known_count = self.known_count.wrapping_add(1);
            *self.places.get_mut(place_of(frame.frame))? = self.known_count as u16;
        }
        Some(())
    }

    /// Its frames, outermost first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Placed> + Clone {
        let known = self.known.iter().take(self.known_count);
        known
            .filter(|known| known.site.pc != 0)
            .map(|Known { frame, site, .. }| Placed { pc: site.pc, place: frame.place })
    }
}

impl ScriptFrame {
    /// True in the evaluation at `place`, or if that is not known.
    #[inline(always)]
    fn is_at(&self, place: u64) -> bool {
        place == 0 || self.place == place
    }
}

/// Where a frame's address is looked for.
#[inline(always)]
fn place_of(frame: u64) -> usize {
    ((frame / 8) ^ (frame / (8 * PLACES as u64))) as usize % PLACES
}
