//! What chains of frames are found by, and which of them are kept.

use crate::walk::ordinary;
use crate::{CodeAddress, Memory, Rules};
use core::num::NonZeroU32;

/// Sets of chains, 2 to the power of this, and the chains of each.
const SETS: u32 = 5;
const WAYS: usize = 4;
/// Chains.
pub(super) const PLACES: usize = WAYS << SETS;
/// Tags of which it is known that they were seen, 2 to the power of this.
const SEEN: u32 = 10;

/// 2⁶⁴ divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of what a stack shows before it is walked: address and sp of its newest frame, which is often one function that
/// all others allocate by, and where that one's caller executes. Where a chain with this tag is another one after all, so is
/// one word; chains that have *its* value have a tag of their own, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Tag(NonZeroU32);

impl Tag {
    /// That of the stack with these registers. `None` where the newest frame has no caller, or one in an unusual way.
    #[inline(always)]
    pub(super) fn of(
        (code, sp, bp): (u64, u64, u64),
        memory: &mut impl Memory,
        rules: &mut impl Rules,
    ) -> Option<Self> {
        let (rule, _) = rules.rule(CodeAddress::from_bits(code))?;
        let caller = ordinary(rule, sp, bp, memory)?.ok()?.code().to_bits();
        // The product's high bits depend on all that lies far enough below them.
        Some(Self::hash(code ^ caller << 7 ^ sp << 19))
    }

    /// That of the chains which begin as those of this tag do, up to a word that has this value.
    #[inline(always)]
    pub(super) fn turn(self, value: u64) -> Self {
        Self::hash(u64::from(self.0.get()) ^ value << 11)
    }

    #[inline(always)]
    fn hash(words: u64) -> Self {
        Self(NonZeroU32::MIN | (words.wrapping_mul(SPREAD) >> 32) as u32)
    }

    /// As a number.
    #[inline(always)]
    pub(super) fn to_bits(self) -> NonZeroU32 {
        self.0
    }

    /// From the number.
    #[inline(always)]
    pub(super) fn from_bits(bits: NonZeroU32) -> Self {
        Self(bits)
    }

    /// The upper bits, which are the best of a hash.
    #[inline(always)]
    fn upper(self, bits: u32) -> usize {
        (self.0.get() >> 32_u32.wrapping_sub(bits)) as usize
    }
}

/// Tags of the chains that are kept, in sets, and of those that may become some. Zeroed memory has none.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tags {
    sets: [[Option<Tag>; WAYS]; 1 << SETS],
    seen: [Option<Tag>; 1 << SEEN],
    /// The way of a set that made room last.
    last: [u8; 1 << SETS],
    /// A bit for each way of a set that was of use since somebody wanted its room.
    used: [u8; 1 << SETS],
}

impl Tags {
    pub(super) fn clear(&mut self) {
        self.sets = [[None; WAYS]; 1 << SETS];
    }

    /// The place of the chain with a tag.
    #[inline(always)]
    pub(super) fn find(&self, tag: Tag) -> Option<usize> {
        let set = tag.upper(SETS);
        // Compared as numbers: an option of one is asked first whether it is any.
        let number = |tag: Option<Tag>| tag.map_or(0, |tag| tag.0.get());
        let way = self.sets.get(set)?.iter().position(|other| number(*other) == tag.0.get())?;
        Some(set.wrapping_mul(WAYS).wrapping_add(way))
    }

    /// The chain in a place was of use: it stays the next time that room is needed.
    #[inline(always)]
    pub(super) fn use_place(&mut self, place: usize) {
        if let Some(used) = self.used.get_mut(place / WAYS) {
            *used |= 1 << (place % WAYS);
        }
    }

    /// Whether a tag has been seen before, or was at least not pushed out by another one since.
    #[inline(always)]
    pub(super) fn is_known(&mut self, tag: Tag) -> bool {
        self.seen.get_mut(tag.upper(SEEN)).is_some_and(|seen| seen.replace(tag) == Some(tag))
    }

    /// A place for the chain with a tag, with the tag that stands there; none if all of its set are of use.
    pub(super) fn make_room(&mut self, tag: Tag) -> Option<(usize, &mut Option<Tag>)> {
        let set = tag.upper(SETS);
        let tags = self.sets.get_mut(set)?;
        // What has the very tag is a chain that is no more.
        let way = tags.iter().position(|other| *other == Some(tag)).or_else(|| {
            let (last, used) = (self.last.get_mut(set)?, self.used.get_mut(set)?);
            *last = last.wrapping_add(1);
            let way = *last as usize % WAYS;
            let was_used = *used & 1 << way != 0;
            *used &= !(1 << way);
            (!was_used).then_some(way)
        })?;
        Some((set.wrapping_mul(WAYS).wrapping_add(way), tags.get_mut(way)?))
    }
}
