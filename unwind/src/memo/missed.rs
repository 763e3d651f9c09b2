//! The result of a failed look for a chain.

use super::tag::Tag;
use core::num::NonZeroU32;

/// What a failed look for a chain has found out, as one word: in the lower half the tag by which to keep the newest
/// frames, if they are worth it; in the upper half what [`Stack::reach`](super::stack::Stack::reach) says, if that
/// was needed.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Missed(u64);

impl Missed {
    /// Without a look.
    pub(super) const NOTHING: Self = Self(0);

    pub(super) fn new(tag: Tag, reach: Option<NonZeroU32>) -> Self {
        Self(u64::from(reach.map_or(0, NonZeroU32::get)) << 32 | u64::from(tag.to_bits().get()))
    }

    #[inline(always)]
    pub(super) fn tag(self) -> Option<Tag> {
        NonZeroU32::new(self.0 as u32).map(Tag::from_bits)
    }

    #[inline(always)]
    pub(super) fn reach(self) -> Option<NonZeroU32> {
        NonZeroU32::new((self.0 >> 32) as u32)
    }
}
