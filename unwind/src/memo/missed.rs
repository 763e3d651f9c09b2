//! What a look for a chain has learned.

use super::tag::Tag;
use core::num::NonZeroU32;

/// What a look for a chain that found none has learned, as one word: below, the tag to keep the newest frames by, if they are worth it;
/// above, what [`Stack::reach`](super::stack::Stack::reach) says, if it had to be asked.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Missed(u64);

impl Missed {
    /// Nobody has looked.
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
