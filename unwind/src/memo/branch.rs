//! A chain of frames that was once called by an older frame of the last stack.

use super::seen::{Past, Seen};
use super::stack::Stack;
use crate::memory::Memory;
use crate::saved_words::{SavedWord, SavedWords};
use core::num::NonZeroU32;

/// Most frames of a chain.
pub(super) const LONGEST: usize = 8;
/// Most words of a chain, including its root's.
const WORDS: usize = LONGEST + 5;

/// A chain of frames above an older one, the root, with the words that led through them.
///
/// The same argument holds as for [`Stack`]: if all these words still hold what they held, a walk from the newest
/// frame, with the same sp and, where it matters, the same rbp, leads through them to the root. From there the last
/// stack goes on.
// The fields that each look needs are together, in the order in which they are used: most branches are in no near
// cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Branch {
    /// The newest frame, a copy of the last of `pasts`.
    newest: Seen,
    /// Number of words up to the root in the last stack.
    known: u32,
    /// Number of words from there on, not counting the newest frame's: nothing has returned to that yet.
    count: u32,
    /// The root, a copy of the first of `pasts`.
    root: Seen,
    words: [SavedWord; WORDS],
    pasts: [Past; WORDS],
}

impl Branch {
    /// The label of the stack with these registers, if it is this chain on an unchanged frame of `stack`. `reach` is what
    /// [`Stack::reach`] says about `stack`, computed when first needed.
    ///
    /// # Errors
    /// The first word that differs, from the newest frame on: up to that word, it is the same chain.
    #[inline(always)]
    pub(super) fn leads(
        &self,
        (code, sp, bp): (u64, u64, u64),
        stack: &Stack<'_>,
        reach: &mut Option<NonZeroU32>,
        memory: &mut impl Memory,
    ) -> Result<u64, u64> {
        if !self.newest.is_at(code, sp, bp) {
            return Err(bp);
        }
        let words = SavedWords::of_stack(self.words.get(..self.count as usize).unwrap_or(&[]));
        if !memory.holds(words) {
            return Err(first_change(words, memory));
        }
        let known = self.known as usize;
        if stack.has(known, &self.root) && stack.leads(known, *reach, memory) {
            return Ok(self.newest.label());
        }
        let reach = *reach.get_or_insert_with(|| stack.reach(memory));
        Err(stack.label_up_to(known.min(reach.get() as usize)))
    }

    /// Makes `stack`, a frame of which this chain has just led to, end with this chain.
    #[cold]
    #[inline(never)]
    pub(super) fn put_on(&self, stack: &mut Stack<'_>) {
        let newest = self.count as usize;
        if let Some((root, words)) = self.words.get(..=newest).and_then(<[_]>::split_first)
            && let Some(pasts) = self.pasts.get(1..=newest)
        {
            stack.put_back(self.known as usize, *root, words, pasts);
        }
    }

    /// Takes the frames of `stack` after the one that ends at `known`, if there is room.
    pub(super) fn fill(&mut self, stack: &Stack<'_>, known: usize) -> Option<()> {
        let chain = stack.from(known)?;
        let (words, pasts) = (self.words.get_mut(..chain.len())?, self.pasts.get_mut(..chain.len())?);
        for ((word, past), seen) in words.iter_mut().zip(pasts).zip(chain) {
            (*word, *past) = (seen.word, seen.past);
        }
        (self.newest, self.root) = (stack.seen(stack.len())?, stack.seen(known)?);
        (self.known, self.count) = (known as u32, chain.len().checked_sub(1)? as u32);
        Some(())
    }
}

/// The present value of the first word that has changed, from the newest frame on.
#[cold]
#[inline(never)]
fn first_change(words: SavedWords<'_, SavedWord>, memory: &mut impl Memory) -> u64 {
    let mut newest_first =
        words.as_slice().iter().rev().map(|saved| (memory.read(saved.address), saved.value));
    newest_first.find(|(value, saved)| *value != Some(*saved)).and_then(|(value, _)| value).unwrap_or(0)
}
