//! How chains of frames are found, and which of them are kept.

use crate::address::CodeAddress;
use crate::memory::Memory;
use crate::rules::Rules;
use crate::walk::ordinary;
use core::num::NonZeroU32;

/// Number of sets of chains, as a power of 2, and the chains in each set.
const SETS: u32 = 5;
const WAYS: usize = 4;
/// Number of chains.
pub(super) const PLACES: usize = WAYS << SETS;
/// Number of tags that are remembered as seen, as a power of 2.
const SEEN: u32 = 10;

/// 2⁶⁴ divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of what a stack shows before it is walked: address and sp of its newest frame, which is often the one
/// function through which all others allocate, and where that frame's caller executes. If the chain with this tag
/// turns out to be another one, one of its words differs; chains with *that* word's value have a tag of their own,
/// and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Tag(NonZeroU32);

impl Tag {
    /// The tag of the stack with these registers. `None` if the newest frame has no caller, or is left in an unusual
    /// way.
    #[inline(always)]
    pub(super) fn of(
        (code, sp, bp): (u64, u64, u64),
        memory: &mut impl Memory,
        rules: &mut impl Rules,
    ) -> Option<Self> {
        let (rule, _) = rules.rule(CodeAddress::from_bits(code))?;
        let caller = ordinary(rule, sp, bp, memory)?.ok()?.code().to_bits();
        // The product's high bits depend on everything sufficiently far below them.
        Some(Self::hash(code ^ caller << 7 ^ sp << 19))
    }

    /// The tag of the chains that begin like those of this tag, up to a word with this value.
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

/// Tags of the chains that are kept, in sets, and of those that may be kept next. Zeroed memory has none.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tags {
    sets: [[Option<Tag>; WAYS]; 1 << SETS],
    seen: [Option<Tag>; 1 << SEEN],
    /// The way of each set that was last asked to make room.
    last: [u8; 1 << SETS],
    /// A bit for each way of a set that was used since room was last needed from it.
    used: [u8; 1 << SETS],
}

impl Tags {
    pub(super) fn clear(&mut self) {
        self.sets = [[None; WAYS]; 1 << SETS];
    }

    /// The place of the chain with this tag.
    #[inline(always)]
    pub(super) fn find(&self, tag: Tag) -> Option<usize> {
        let set = tag.upper(SETS);
        // Compared as numbers: comparing options would first check whether there is a value.
        let number = |tag: Option<Tag>| tag.map_or(0, |tag| tag.0.get());
        let way = self.sets.get(set)?.iter().position(|other| number(*other) == tag.0.get())?;
        Some(set.wrapping_mul(WAYS).wrapping_add(way))
    }

    /// The chain in a place was used: it stays the next time that room is needed.
    #[inline(always)]
    pub(super) fn use_place(&mut self, place: usize) {
        if let Some(used) = self.used.get_mut(place / WAYS) {
            *used |= 1 << (place % WAYS);
        }
    }

    /// Whether a tag was seen before and not replaced by another one since.
    #[inline(always)]
    pub(super) fn is_known(&mut self, tag: Tag) -> bool {
        self.seen.get_mut(tag.upper(SEEN)).is_some_and(|seen| seen.replace(tag) == Some(tag))
    }

    /// A place for a chain with this tag, and the tag that occupies it; `None` if the way of its set that is next in
    /// turn was used.
    pub(super) fn make_room(&mut self, tag: Tag) -> Option<(usize, &mut Option<Tag>)> {
        let set = tag.upper(SETS);
        let tags = self.sets.get_mut(set)?;
        // A place with this very tag has an outdated chain.
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
