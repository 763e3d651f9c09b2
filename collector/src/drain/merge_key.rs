//! The position of a record in the merged order.

use shared_ring::decode::Shape;
use shared_ring::record::Opcode;

/// Position of a record in the merged order: smaller comes first.
///
/// Time and rank form one number, compared in one step. Shifted ticks leave room for the rank: 62 bits of them last
/// 700 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MergeKey(u64);

impl MergeKey {
    /// After all records.
    pub(crate) const LAST: MergeKey = MergeKey(u64::MAX);

    #[inline(always)]
    pub(crate) fn new(time: u64, rank: Rank) -> MergeKey {
        MergeKey(time.min(LATEST) << 2 | rank as u64)
    }

    #[inline(always)]
    pub(crate) fn time(self) -> u64 {
        self.0 >> 2
    }

    /// The next position.
    #[inline(always)]
    pub(crate) fn after(self) -> MergeKey {
        MergeKey(self.0.saturating_add(1))
    }
}

/// The latest time that fits a key; with the last rank it is still before [`MergeKey::LAST`].
pub(crate) const LATEST: u64 = (1 << 62) - 2;

/// The order of records with the same time.
///
/// A block may end as soon as another thread has been handed its address, but before that address can be another
/// block's, a whole free, a whole allocation and the walk of a stack pass. So if two threads did something with one
/// address within the resolution of the clock, then it was the former.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Rank {
    /// Nothing depends on a block or mapping, and it may be what introduces the thread.
    Other,
    /// A block or mapping begins.
    Begin,
    /// A block or mapping ends, or all that there are become a child's, too.
    End,
    /// A process ends: after everything it did.
    Last,
}

impl Rank {
    pub(crate) fn of(shape: Shape) -> Rank {
        match shape.opcode {
            None if shape.words == 1 => Rank::End,
            None => Rank::Begin,
            Some(Opcode::AllocLong | Opcode::ReallocEnd | Opcode::Map | Opcode::ReportAlloc) => Rank::Begin,
            Some(
                Opcode::FreeLong
                | Opcode::FreeWithStack
                | Opcode::ReallocBegin
                | Opcode::Unmap
                | Opcode::Remap
                | Opcode::ReportFree
                | Opcode::ReportRealloc
                | Opcode::Fork,
            ) => Rank::End,
            Some(_) => Rank::Other,
        }
    }
}
