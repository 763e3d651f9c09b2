//! A chain of frames that has hung on an older frame.

use super::past::{Past, Stack};
use super::saved::{Kept, SavedWords};
use crate::{Memory, Registers};

/// Most frames of a chain.
pub(super) const LONGEST: usize = 8;
/// Most words that lead through a chain.
const WORDS: usize = LONGEST + 4;

/// A chain of frames, the oldest first, and the words that led through them to the frame that they hang on.
///
/// The same argument holds as for [`Stack`]: a walk from its newest frame, with the same sp and, where it matters, the same
/// rbp, leads through these words to `root`, if all of them hold what they held. From there the last stack goes on.
// What each look needs is together, in the order in which it is asked for: most branches are in no near cache.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Branch {
    /// The newest frame, the last of `frames` once more.
    newest: Past,
    /// How many frames of the stack are older than the chain.
    known: u32,
    /// How many frames.
    count: u32,
    /// The frame that called the oldest.
    root: Past,
    saved: Kept<WORDS>,
    frames: [Past; LONGEST],
}

impl Branch {
    /// The label of the stack with these registers, if it is this chain on an unchanged frame of `stack`. `unchanged` is what
    /// [`Stack::unchanged`] says of that, once somebody had to know.
    ///
    /// # Errors
    /// The first word that is another one, from the newest frame on: until there, it is the same chain.
    #[inline(always)]
    pub(super) fn leads(
        &self,
        start: Registers,
        stack: &Stack<'_>,
        unchanged: &mut Option<u32>,
        memory: &mut impl Memory,
    ) -> Result<u64, u64> {
        if !self.newest.is_at(start) {
            return Err(start.bp);
        }
        let saved = self.saved.words().ok_or(0_u64)?;
        if !saved.lie_at(start.sp) || !memory.holds(saved) {
            return Err(first_change(saved, memory));
        }
        let known = self.known as usize;
        if stack.has(known, &self.root) && stack.is_unchanged(known, *unchanged, memory) {
            return Ok(self.newest.label());
        }
        let unchanged = *unchanged.get_or_insert_with(|| stack.unchanged(memory));
        Err(stack.label(known.min(stack.reach(unchanged))).unwrap_or(0))
    }

    /// Makes `stack`, of which it has just led to a frame, the one that ends with this chain.
    #[cold]
    #[inline(never)]
    pub(super) fn put_on(&self, stack: &mut Stack<'_>) {
        if let Some(frames) = self.frames.get(..self.count as usize)
            && let Some(words) = self.saved.words()
        {
            stack.truncate(self.known as usize);
            stack.append(frames, words);
        }
    }

    /// Takes the frames of `stack` after the first `known`, if there is room.
    pub(super) fn fill(&mut self, stack: &Stack<'_>, known: usize) -> Option<()> {
        let root = stack.frame(known)?;
        let (frames, words) = stack.newer_than(known, root);
        self.frames.get_mut(..frames.len())?.copy_from_slice(frames);
        self.saved.fill(words)?;
        (self.newest, self.root) = (*frames.last()?, root);
        (self.known, self.count) = (known as u32, frames.len() as u32);
        Some(())
    }
}

/// What the first word holds that is another one, from the newest frame on.
#[cold]
#[inline(never)]
fn first_change(words: SavedWords<'_>, memory: &mut impl Memory) -> u64 {
    let mut newest_first =
        words.as_slice().iter().rev().map(|saved| (memory.read(saved.address), saved.value));
    newest_first.find(|(value, saved)| *value != Some(*saved)).and_then(|(value, _)| value).unwrap_or(0)
}
