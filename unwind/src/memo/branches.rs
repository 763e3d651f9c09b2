//! Short chains of frames that have hung on an older frame before, and are found again.
//!
//! A program that allocates in several places of one loop has a handful of stacks in turn. Each differs from the one before
//! in its newest frames, so the last stack alone never knows them.
//!
//! ```text
//!                                        ┌── caller ── newest      the last stack
//!  _start ── main ── … ── base ── turn ──┤
//!                                        └── caller ── newest      a branch: what hung there another time
//! ```
//!
//! A chain is found by a hash of what is known before anything is walked, its [`Tag`]. That is a guess, which is checked
//! whole: all words that lead through the chain, as [`Stack`] does it for its frames. A chain is kept when its tag is seen
//! for the second time, so that stacks which never come again push nothing out.

use super::branch::{Branch, LONGEST};
use super::stack::Stack;
use super::tag::{PLACES, Tag, Tags};
use crate::Memory;
use core::num::NonZeroU32;

/// Fewest frames of a chain: what is shorter is walked as quickly.
const SHORTEST: usize = 2;
/// Most chains that are compared with one stack.
const LOOKS: usize = 4;

/// Looks for nothing that one chain makes up for.
const WORTH: u32 = 3;
/// Looks for nothing until looking is given up for a while.
const PATIENCE: u32 = 1024;
/// Stacks without a look then.
const REST: u32 = 8192;
/// Chains found for each that is kept, or nothing new is kept for a while.
const PRICE: u32 = 4;
/// What may be kept before anything was found, and most that is saved up.
const CREDIT: u32 = PRICE * PLACES as u32;

/// The chains of all regions of a thread.
#[derive(Debug)]
pub(super) struct Branches<'a> {
    tags: &'a mut Tags,
    places: &'a mut [Branch],
    /// The chain that was found last.
    last: Option<usize>,
    /// See [`PRICE`].
    credit: u32,
    /// Looks that found nothing, less some for each that found a chain.
    misses: u32,
    /// Stacks for which nobody looks any more.
    rest: u32,
}

impl<'a> Branches<'a> {
    /// No chains, in memory that may have some: what a place holds counts only where a tag says so.
    pub(super) fn new(tags: &'a mut Tags, places: &'a mut [Branch]) -> Self {
        tags.clear();
        Self { tags, places, last: None, credit: CREDIT, misses: 0, rest: 0 }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.last = None;
    }

    /// Whether looking for a chain is worth its while. A program whose stacks hardly ever come again would pay for nothing.
    #[inline(always)]
    pub(super) fn are_due(&mut self) -> bool {
        self.rest = self.rest.saturating_sub(1);
        self.rest == 0
    }

    /// The label of the stack with these registers, if its newest frames are a chain that hangs on an unchanged frame of
    /// `stack`. `reach` is what [`Stack::reach`] says, once somebody has asked.
    ///
    /// # Errors
    /// The tag that it should be kept by.
    #[inline(always)]
    pub(super) fn recall(
        &mut self,
        mut tag: Tag,
        start: (u64, u64, u64),
        stack: &mut Stack<'_>,
        reach: &mut Option<NonZeroU32>,
        memory: &mut impl Memory,
    ) -> Result<u64, Tag> {
        for _ in 0..LOOKS {
            let Some(place) = self.tags.find(tag) else { break };
            let Some(branch) = self.places.get(place) else { break };
            match branch.leads(start, stack, reach, memory) {
                Ok(label) => {
                    self.misses = self.misses.saturating_sub(WORTH);
                    self.credit = self.credit.wrapping_add(1).min(CREDIT);
                    self.tags.use_place(place);
                    // Twice in a row: now it is worth being the last stack, which is found quicker. Else that one stays: it
                    // may be the one that comes between all others.
                    if self.last == Some(place) {
                        branch.put_on(stack);
                    }
                    self.last = Some(place);
                    return Ok(label);
                }
                Err(value) => tag = tag.turn(value),
            }
        }
        self.missed();
        Err(tag)
    }

    #[inline(always)]
    fn missed(&mut self) {
        self.misses = self.misses.wrapping_add(1);
        if self.misses >= PATIENCE {
            (self.misses, self.rest) = (PATIENCE / 2, REST);
        }
    }

    /// Keeps the newest `count` frames of `stack`, those after the one that ends at `known`, if their tag has been seen before.
    #[inline(always)]
    pub(super) fn keep(&mut self, tag: Tag, stack: &Stack<'_>, known: usize, count: usize) {
        if !(SHORTEST..=LONGEST).contains(&count) {
            return;
        }
        if self.tags.is_known(tag) && self.credit >= PRICE {
            self.credit = self.credit.wrapping_sub(PRICE);
            self.enter(tag, stack, known);
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, tag: Tag, stack: &Stack<'_>, known: usize) -> Option<()> {
        let (place, tagged) = self.tags.make_room(tag)?;
        *tagged = None;
        self.places.get_mut(place)?.fill(stack, known)?;
        *tagged = Some(tag);
        Some(())
    }
}
