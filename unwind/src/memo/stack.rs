//! The last stack of one region, frame by frame.

use super::places::Places;
use super::seen::{Bp, Past, Seen};
use crate::arch;
use crate::memory::Memory;
use crate::registers::Registers;
use crate::saved_words::{SavedWord, SavedWords};
use core::num::NonZeroU32;

/// The frames of a stack that a walk may meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates<'a> {
    words: &'a [Seen],
    places: &'a Places,
}

/// The frame at which a walk has met the last stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownFrame {
    /// The length of the last stack up to its end.
    pub(super) known: usize,
    /// How many frames the stack up to it has.
    pub(super) frames: usize,
}

impl Candidates<'_> {
    /// The frame with these registers, if there is one and no newer frame has taken its place.
    #[inline(always)]
    pub(super) fn find(self, code: u64, sp: u64, bp: u64) -> Option<KnownFrame> {
        let place = self.places.get(sp);
        let seen = self.words.get(place)?;
        seen.is_at(code, sp, bp)
            .then(|| KnownFrame { known: place.wrapping_add(1), frames: seen.past.frames as usize })
    }
}

/// The last stack that was walked in one region of addresses, oldest frame first.
///
/// ```text
///  stack                          words                                 pasts
///  ┌────────────────────────┐     ┌───────────────────────────────────┬────────┐
///  │ frame of _start        │     │                                   │        │
///  │ return address: _start │ ──► │ 0 where main returns: in _start   │ _start │
///  │ frame of main          │     │                                   │        │
///  │ return address: main   │ ──► │ 1 where parse returns: in main    │ main   │
///  │ frame of parse: rbp    │ ──► │ 2 main's rbp, if that is live     │ none   │
///  │ return address: parse  │ ──► │ 3 where malloc returns: in parse  │ parse  │
///  └────────────────────────┘     └───────────────────────────────────┴────────┘
/// ```
///
/// A frame that has called another one has pushed its return address just below its stack pointer. So it is
/// identified by the very word that is compared, and *ends* after that word: parse at 4. From a frame with the same
/// address, the same sp and, where it matters, the same rbp, a walk leads to the same older frames as last time if
/// all words before its own hold what they held then. Nothing here is ever trusted: an old stack is a guess that is
/// checked completely.
///
/// On 64-bit ARM, where calls push nothing, a frame is identified by its [`Identity`], and its word is where its
/// callee has saved x30:
///
/// ```text
///  │ frame of main          │     ┌───────────────────────────────────┬────────┐
///  │ frame of parse: x30    │ ──► │ 1 where parse returns: in main    │ main   │
///  │                 x29    │ ──► │ 2 main's x29, if that is live     │ none   │
///  │ frame of read: x30     │ ──► │ 3 where read returns: in parse    │ parse  │
/// ```
///
/// The words are then the same, in the same descending order, but a frame's own word exists only while it has a
/// callee: that of the newest frame means nothing, and a frame that is met gets the word of its next callee. Before
/// that the word is not compared, since only the words before its own lead on from a frame.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    pub(super) words: &'a mut [Seen],
    pub(super) len: usize,
    /// A copy of the frame that ends at `len`, or none, so that checking for the newest frame touches no list.
    pub(super) newest: Seen,
    /// Stack pointer of the oldest frame.
    pub(super) base: u64,
    pub(super) places: &'a mut Places,
}

impl<'a> Stack<'a> {
    /// Has room for as many words as `words` has.
    pub(super) fn new(words: &'a mut [Seen], places: &'a mut Places) -> Self {
        Self { words, len: 0, newest: Seen::default(), base: 0, places }
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.newest) = (0, Seen::default());
    }

    /// Stack pointer of the oldest frame, 0 when there is none.
    pub(super) fn base(&self) -> u64 {
        if self.len == 0 { 0 } else { self.base }
    }

    /// Number of words.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The frame that ends at `len`.
    #[inline(always)]
    pub(super) fn past(&self, len: usize) -> Option<&Past> {
        Some(&self.words.get(len.wrapping_sub(1))?.past)
    }

    /// The label of the stack up to the frame that ends at `len`.
    #[inline(always)]
    pub(super) fn label(&self, len: usize) -> Option<u64> {
        Some(self.past(len)?.label)
    }

    /// Number of frames up to the one that ends at `len`.
    #[inline(always)]
    pub(super) fn frames(&self, len: usize) -> usize {
        self.past(len).map_or(0, |past| past.frames as usize)
    }

    /// Whether the frame that ends at `len`, the root of a chain that was just found, leads to the same callers as
    /// before. `reach` is the result of [`Stack::reach`], if it was computed; otherwise all words that lead on from
    /// the frame are compared.
    #[inline(always)]
    pub(super) fn leads(&self, len: usize, reach: Option<NonZeroU32>, memory: &mut impl Memory) -> bool {
        match reach {
            Some(reach) => len <= reach.get() as usize,
            None => self.before(len).is_some_and(|words| memory.holds(words)),
        }
    }

    /// The same for a frame that a walk has met, which is nearly always a different one.
    #[inline(always)]
    pub(super) fn leads_when_met(
        &self,
        len: usize,
        reach: Option<NonZeroU32>,
        memory: &mut impl Memory,
    ) -> bool {
        match reach {
            Some(reach) => len <= reach.get() as usize,
            None => self.before(len).is_some_and(|words| memory.holds_any_number(words)),
        }
    }

    /// The words that lead on from the frame that ends at `len`: those before its own.
    #[inline(always)]
    fn before(&self, len: usize) -> Option<SavedWords<'_, Seen>> {
        Some(SavedWords::of_stack(self.words.get(..len.wrapping_sub(1))?))
    }

    /// The length up to which all frames lead to the same callers as before; 1, at which no frame need end, if none
    /// does.
    #[cold]
    #[inline(never)]
    pub(super) fn reach(&self, memory: &mut impl Memory) -> NonZeroU32 {
        // The newest frame's own word leads nowhere.
        let words = self.words.get(..self.len.wrapping_sub(1)).unwrap_or(&[]);
        let unchanged = memory.unchanged(SavedWords::of_stack(words));
        NonZeroU32::MIN.saturating_add(unchanged as u32)
    }

    /// The label of the newest frame up to `len`.
    #[cold]
    pub(super) fn label_up_to(&self, len: usize) -> u64 {
        let words = self.words.get(..len.min(self.len)).unwrap_or(&[]);
        words.iter().rev().find(|seen| seen.past.bp_is != Bp::NoFrame).map_or(0, |seen| seen.past.label)
    }

    /// The label of the whole stack, if these are the registers of its newest frame and nothing has changed.
    #[inline(always)]
    pub(super) fn label_if_same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        let is_newest = self.newest.is_at(start.ip.to_bits(), start.sp, start.bp);
        let is_same = is_newest && self.before(self.len).is_some_and(|words| memory.holds(words));
        is_same.then_some(self.newest.label())
    }

    /// The frame that ends at `len`, with its word.
    pub(super) fn seen(&self, len: usize) -> Option<Seen> {
        self.words.get(len.checked_sub(1)?).copied()
    }

    /// Whether this frame ends at `len`.
    #[inline(always)]
    pub(super) fn has(&self, len: usize, seen: &Seen) -> bool {
        let Some(Seen { word, past }) = self.words.get(len.wrapping_sub(1)) else { return false };
        let Past { label, bp, frames, bp_is, identity } = seen.past;
        // Where calls do not push, another callee returns to the same frame by another word.
        len <= self.len
            && (!arch::PUSHES_RETURN_ADDRESS || *word == seen.word)
            && past.identity == identity
            && past.label == label
            && past.frames == frames
            && past.bp_is == bp_is
            && (past.bp == bp || bp_is == Bp::Dead)
    }

    /// The words from that of the frame that ends at `known` on.
    pub(super) fn from(&self, known: usize) -> Option<&[Seen]> {
        self.words.get(known.checked_sub(1)?..self.len)
    }

    /// Adds words and frames that were there before to those up to `known`. The newest of the latter is returned to
    /// by the word `root`.
    pub(super) fn put_back(&mut self, known: usize, root: SavedWord, words: &[SavedWord], pasts: &[Past]) {
        self.len = known;
        if !arch::PUSHES_RETURN_ADDRESS
            && let Some(seen) = self.words.get_mut(known.wrapping_sub(1))
        {
            seen.word = root;
        }
        for (word, past) in words.iter().zip(pasts) {
            if self.set(self.len, *word, *past).is_none() {
                break;
            }
            self.len = self.len.wrapping_add(1);
        }
        self.newest = self.seen(self.len).unwrap_or_default();
    }

    /// The frames up to `len`, to be found by their registers.
    #[inline(always)]
    pub(super) fn candidates(&self, len: usize) -> Candidates<'_> {
        // There are as many; sliced to that length so that no look checks it again.
        let words = self.words.get(..len.min(self.words.len())).unwrap_or(&[]);
        Candidates { words, places: self.places }
    }

    /// Writes a word and its frame. They count once the length includes them.
    pub(super) fn set(&mut self, place: usize, word: SavedWord, past: Past) -> Option<()> {
        *self.words.get_mut(place)? = Seen { word, past };
        if past.bp_is != Bp::NoFrame {
            self.places.put(past.sp(&word), place);
        }
        Some(())
    }
}
