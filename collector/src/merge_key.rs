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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Rank {
    /// A block or mapping ends.
    End,
    /// Neither.
    Other,
    /// A block or mapping begins.
    Begin,
    /// A process ends: after everything it did.
    Last,
}

impl Rank {
    pub(crate) fn of(shape: Shape) -> Rank {
        match shape.opcode {
            None if shape.words == 1 => Rank::End,
            None => Rank::Begin,
            Some(Opcode::FreeLong | Opcode::ReallocBegin | Opcode::Unmap | Opcode::ReportFree) => Rank::End,
            Some(
                Opcode::AllocLong
                | Opcode::ReallocEnd
                | Opcode::Map
                | Opcode::ReportAlloc
                | Opcode::ReportRealloc,
            ) => Rank::Begin,
            Some(_) => Rank::Other,
        }
    }
}
