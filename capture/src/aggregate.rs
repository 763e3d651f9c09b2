//! What an aggregated capture holds in place of single events: at each snapshot, how every stack changed since the
//! one before.
//!
//! ```text
//!  sum sum sum … figure figure … snapshot     mark     sum sum … snapshot
//!  └ what changed, all at one time ┘          a snapshot was taken for it
//! ```
//!
//! Sums, figures and snapshots are ordinary events, so positions, times, ranges and marks mean what they always do.
//! Between two snapshots, all that is known is the state at the later one.

use crate::numbered::numbered;

/// Name of the option in [`crate::Metadata::options`] that marks an aggregated capture. Its value is the initial
/// interval between snapshots, in nanoseconds.
pub const AGGREGATE: &str = "aggregate";

numbered! {
    /// What is summed over the blocks of one stack in one process.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SumKind: u8 {
        /// Allocated since the last snapshot.
        Allocated = 0,
        /// Freed since the last snapshot.
        Freed = 1,
        /// The temporary blocks among the freed ones.
        Temporary = 2,
        /// Ended since the last snapshot without a recorded free: their addresses were handed out again.
        Displaced = 3,
        /// Live now, but with a gap or a pause behind them in which their free may have been lost. Replaces the last
        /// value.
        Uncertain = 4,
        /// Live when the whole recording was at its peak so far. Replaces the last value.
        Peak = 5,
        /// Not blocks: allocation calls since the last snapshot that returned no memory, and the bytes they asked
        /// for.
        Failed = 6,
        /// As `Failed`, for calls with an invalid alignment (`EINVAL`).
        Invalid = 7,
        ;
        /// A kind added by a later version.
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
        /// Blocks that the process held at its peak. Replaces the last value.
        PeakBlocks = 0,
        /// Bytes that the process held at its peak. Replaces the last value.
        PeakBytes = 1,
        /// Time of that peak, nanoseconds since the recording began. Replaces the last value.
        PeakTime = 2,
        /// Time of the peak of all processes together. Replaces the last value.
        WholePeakTime = 3,
        /// Peak of the bytes that all processes together had mapped outside their allocators. Replaces the last
        /// value.
        PagesPeakBytes = 4,
        /// Time of that peak. Replaces the last value.
        PagesPeakTime = 5,
        /// Blocks with a `realloc` in progress, which count as live. Replaces the last value.
        InReallocBlocks = 6,
        /// The bytes in those blocks. Replaces the last value.
        InReallocBytes = 7,
        /// Bytes that all processes together have mapped outside their allocators. Replaces the last value.
        PagesBytes = 8,
        /// Frees of blocks that nobody allocated. This figure and all that follow count since the last snapshot.
        UnmatchedFrees = 9,
        /// Frees of blocks from before the process was attached to.
        FreesFromBefore = 10,
        /// Frees of inherited blocks.
        InheritedFrees = 11,
        /// Frees of blocks whose allocation fell into a gap.
        LostAllocations = 12,
        /// Blocks whose free fell into a gap.
        LostFrees = 13,
        /// Frees of blocks that were allocated during a pause.
        PausedAllocations = 14,
        /// Blocks that were freed during a pause.
        PausedFrees = 15,
        /// Events whose order is ambiguous.
        Conflicts = 16,
        /// Gaps that began.
        Gaps = 17,
        /// Allocations lost in gaps.
        GapAllocations = 18,
        /// Frees lost in gaps.
        GapFrees = 19,
        /// Calls of `mmap`.
        Mapped = 20,
        /// Bytes of those calls.
        MappedBytes = 21,
        /// Calls of `mmap` by an allocator.
        InHook = 22,
        /// Bytes of those calls.
        InHookBytes = 23,
        /// Calls of `munmap`.
        Unmapped = 24,
        /// Bytes of those calls.
        UnmappedBytes = 25,
        /// Calls of `mremap`.
        Remapped = 26,
        /// Bytes that those calls added.
        RemappedBytes = 27,
        /// Changes of the program break.
        Breaks = 28,
        /// Bytes that those changes added.
        BreakBytes = 29,
        ;
        /// A figure added by a later version.
        Unknown = 255,
    }
}

impl FigureKind {
    /// True for a figure that replaces its last value; all others are added up.
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

    /// Check that unknown numbers count as those of later versions.
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
