//! What an aggregated capture has in place of single events: at each snapshot, what became of every stack since the one
//! before.
//!
//! ```text
//!  sum sum sum … figure figure … snapshot     mark     sum sum … snapshot
//!  └ what changed, all at one time ┘          a snapshot was taken for it
//! ```
//!
//! They are events as others are, so positions, times, ranges and marks mean what they always do. Between two snapshots nothing
//! is known but that the later one is true at its end.

use crate::numbered::numbered;

/// Name of the option in [`crate::Metadata::options`] that says that a capture is aggregated. Its value is the time between the
/// first snapshots in nanoseconds.
pub const AGGREGATE: &str = "aggregate";

numbered! {
    /// What blocks of a stack, in one process, are summed up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SumKind: u8 {
        /// Allocated since the last snapshot.
        Allocated = 0,
        /// Freed since then.
        Freed = 1,
        /// The part of the freed that was temporary.
        Temporary = 2,
        /// Ended since then without a recorded free: their addresses were handed out again.
        Displaced = 3,
        /// Live now, and have lived through a gap or a pause: their free may have been lost. Replaces the last one.
        Uncertain = 4,
        /// Live when the recording held most bytes so far. Replaces the last one.
        Peak = 5,
        /// No blocks, but calls for memory since the last snapshot that returned none, and the bytes that they asked for.
        Failed = 6,
        /// The same of calls whose arguments cannot be: an alignment that is none (`EINVAL`).
        Invalid = 7,
        ;
        /// Something that a later version knows.
        Unknown = 255,
    }
}

impl SumKind {
    pub(crate) fn of(number: u64) -> SumKind {
        u8::try_from(number).ok().and_then(Self::from_number).unwrap_or(SumKind::Unknown)
    }
}

numbered! {
    /// A number of a process, or of the whole recording.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum FigureKind: u8 {
        /// Blocks that the process held when it held most bytes. Replaces the last one.
        PeakBlocks = 0,
        /// The bytes in them. Replaces the last one.
        PeakBytes = 1,
        /// When that was, nanoseconds since the recording began. Replaces the last one.
        PeakTime = 2,
        /// When all processes together held most bytes. Replaces the last one.
        WholePeakTime = 3,
        /// Most bytes that all processes together had mapped beside their allocators. Replaces the last one.
        PagesPeakBytes = 4,
        /// When that was. Replaces the last one.
        PagesPeakTime = 5,
        /// Blocks that a `realloc` has begun to move and that are counted as live. Replaces the last one.
        InReallocBlocks = 6,
        /// The bytes in them. Replaces the last one.
        InReallocBytes = 7,
        /// Bytes that all processes together have mapped beside their allocators. Replaces the last one.
        PagesBytes = 8,
        /// Frees of blocks that nobody allocated. This one and those that follow are what has come since the last snapshot.
        UnmatchedFrees = 9,
        /// Frees of blocks from before the process was attached to.
        FreesFromBefore = 10,
        /// Frees of blocks that the process has inherited.
        InheritedFrees = 11,
        /// Frees of blocks whose allocation fell into a gap.
        LostAllocations = 12,
        /// Blocks whose free fell into a gap.
        LostFrees = 13,
        /// Frees of blocks that were allocated in a pause.
        PausedAllocations = 14,
        /// Blocks that were freed in a pause.
        PausedFrees = 15,
        /// Events whose order is ambiguous.
        Conflicts = 16,
        /// Gaps that have begun.
        Gaps = 17,
        /// Allocations that were not recorded.
        GapAllocations = 18,
        /// Frees that were not recorded.
        GapFrees = 19,
        /// Calls of `mmap`.
        Mapped = 20,
        /// Their bytes.
        MappedBytes = 21,
        /// Calls of `mmap` by an allocator.
        InHook = 22,
        /// Their bytes.
        InHookBytes = 23,
        /// Calls of `munmap`.
        Unmapped = 24,
        /// Their bytes.
        UnmappedBytes = 25,
        /// Calls of `mremap`.
        Remapped = 26,
        /// What they added.
        RemappedBytes = 27,
        /// Changes of the program break.
        Breaks = 28,
        /// What they added.
        BreakBytes = 29,
        ;
        /// Something that a later version knows.
        Unknown = 255,
    }
}

impl FigureKind {
    /// True for a number that stands for itself; the others are added up.
    pub fn replaces(self) -> bool {
        (self as u8) < FigureKind::UnmatchedFrees as u8
    }

    pub(crate) fn of(number: u64) -> FigureKind {
        u8::try_from(number).ok().and_then(Self::from_number).unwrap_or(FigureKind::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that numbers beyond those that are known are those of later versions.
    #[test]
    fn other_numbers_are_of_later_versions() {
        assert_eq!((SumKind::of(7), FigureKind::of(29)), (SumKind::Invalid, FigureKind::BreakBytes));
        for number in [30, 255, 256, u64::MAX] {
            assert_eq!(
                (SumKind::of(number), FigureKind::of(number)),
                (SumKind::Unknown, FigureKind::Unknown)
            );
        }
    }
}
