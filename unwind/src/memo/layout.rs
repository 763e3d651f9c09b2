//! The layout of the memos in the memory that they are given.

use super::branch::Branch;
use super::branches::Branches;
use super::fresh::Fresh;
use super::places::Places;
use super::seen::Seen;
use super::stack::Stack;
use super::tag::{PLACES, Tags};
use core::array;
use core::slice::from_raw_parts_mut;

/// Number of stacks that are remembered: a thread's own, and those of the coroutines that it ran last.
pub(super) const REGIONS: usize = 4;

/// Memory for stacks of up to `depth` frames; what is not needed is not touched.
///
/// ```text
///  ┌─ for each region ──────┐
///  │ 2 depth words │ places │ … │ depth fresh frames │ tags │ branches │
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) depth: usize,
}

impl Layout {
    /// Number of words: a return address for each frame, and on average at most one more word for each.
    const fn count_of_words(self) -> usize {
        self.depth.saturating_mul(2)
    }

    const fn words(self) -> usize {
        self.count_of_words().saturating_mul(size_of::<Seen>())
    }

    const fn region(self) -> usize {
        let places = size_of::<Places>().next_multiple_of(align_of::<Seen>());
        self.words().saturating_add(places)
    }

    /// Size of the whole memory in bytes.
    pub(super) const fn bytes(self) -> usize {
        self.branches().saturating_add(PLACES.saturating_mul(size_of::<Branch>()))
    }

    /// Offset of the branches; before them are their tags.
    const fn branches(self) -> usize {
        self.tags().saturating_add(size_of::<Tags>()).next_multiple_of(align_of::<Branch>())
    }

    const fn tags(self) -> usize {
        self.region().saturating_mul(REGIONS).saturating_add(self.depth.saturating_mul(size_of::<Fresh>()))
    }

    /// The parts of the memory.
    ///
    /// # Safety
    /// As for [`Memos::from_raw`](super::Memos::from_raw).
    pub(super) unsafe fn divide<'a>(
        self,
        memory: *mut u8,
    ) -> ([Stack<'a>; REGIONS], &'a mut [Fresh], Branches<'a>) {
        let stacks = array::from_fn(|region| {
            let words = memory.wrapping_add(self.region().wrapping_mul(region));
            let places = words.wrapping_add(self.words());
            // SAFETY: the caller vouches for the memory, no other part overlaps this one, and zeros are valid words.
            let words = unsafe { from_raw_parts_mut(words.cast::<Seen>(), self.count_of_words()) };
            // SAFETY: as above, with places.
            let places = unsafe { &mut *places.cast::<Places>() };
            Stack::new(words, places)
        });
        let fresh = memory.wrapping_add(self.region().wrapping_mul(REGIONS));
        // SAFETY: as above, with fresh frames.
        let fresh = unsafe { from_raw_parts_mut(fresh.cast::<Fresh>(), self.depth) };
        let tags = memory.wrapping_add(self.tags());
        // SAFETY: as above, with tags: any four bytes are a tag or none.
        let tags = unsafe { &mut *tags.cast::<Tags>() };
        let branches = memory.wrapping_add(self.branches());
        // SAFETY: as above, with branches.
        let branches = unsafe { from_raw_parts_mut(branches.cast::<Branch>(), PLACES) };
        (stacks, fresh, Branches::new(tags, branches))
    }
}
