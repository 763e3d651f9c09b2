//! Short chains of frames that an older frame has called before, and that are found again.
//!
//! A program that allocates in several places of one loop has a handful of stacks that take turns. Each differs from
//! the previous one in its newest frames, so the last stack alone never knows them.
//!
//! ```text
//!                                        ┌── caller ── newest      the last stack
//!  _start ── main ── … ── base ── turn ──┤
//!                                        └── caller ── newest      a branch: what was called there another time
//! ```
//!
//! A chain is found by a hash of what is known before anything is walked, its [`Tag`]. That is a guess, which is
//! checked completely: all words that lead through the chain are compared, as [`Stack`] does for its frames. A chain
//! is kept when its tag is seen for the second time, so that stacks which never come again evict nothing.

use super::branch::{Branch, LONGEST};
use super::stack::Stack;
use super::tag::{PLACES, Tag, Tags};
use crate::memory::Memory;
use core::num::NonZeroU32;

/// Fewest frames of a chain: shorter ones are walked as quickly.
const SHORTEST: usize = 2;
/// Most chains that are compared with one stack.
const LOOKS: usize = 4;

/// Failed looks that one found chain makes up for.
const WORTH: u32 = 3;
/// Failed looks after which looking is given up for a while.
const MAX_MISSES: u32 = 1024;
/// Number of stacks that are then not looked for.
const REST: u32 = 8192;
/// Chains that must be found for each one that is kept; otherwise nothing new is kept for a while.
const PRICE: u32 = 4;
/// The credit before anything was found, and the most that can be saved up.
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
    /// Looks that found nothing, less [`WORTH`] for each that found a chain.
    misses: u32,
    /// Number of stacks for which looking is still suspended.
    rest: u32,
}

impl<'a> Branches<'a> {
    /// No chains, in memory that may contain some: a place counts only if a tag says so.
    pub(super) fn new(tags: &'a mut Tags, places: &'a mut [Branch]) -> Self {
        tags.clear();
        Self { tags, places, last: None, credit: CREDIT, misses: 0, rest: 0 }
    }

    /// Forgets all chains.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.last = None;
    }

    /// Whether it is worth looking for a chain. A program whose stacks hardly ever come again would pay for nothing.
    #[inline(always)]
    pub(super) fn are_due(&mut self) -> bool {
        self.rest = self.rest.saturating_sub(1);
        self.rest == 0
    }

    /// The label of the stack with these registers, if its newest frames are a chain on an unchanged frame of `stack`.
    /// `reach` is what [`Stack::reach`] says, computed when first needed.
    ///
    /// # Errors
    /// The tag by which the chain should be kept.
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
                    // Found twice in a row, so it deserves to be the last stack, which is found more quickly.
                    // Otherwise that one stays: it may be the one that comes between all others.
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
        if self.misses >= MAX_MISSES {
            (self.misses, self.rest) = (MAX_MISSES / 2, REST);
        }
    }

    /// Keeps the newest `count` frames of `stack`, those after the frame that ends at `known`, if their tag was seen
    /// before.
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
