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

/// Name of the option in [`crate::Metadata::options`] that says that a capture is aggregated. Its value is the time between the
/// first snapshots in nanoseconds.
pub const AGGREGATE: &str = "aggregate";

/// What blocks of a stack, in one process, are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SumKind {
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
    /// Something that a later version knows.
    Unknown = 255,
}

impl SumKind {
    /// Those that this version knows.
    pub const ALL: [SumKind; 6] = [
        SumKind::Allocated,
        SumKind::Freed,
        SumKind::Temporary,
        SumKind::Displaced,
        SumKind::Uncertain,
        SumKind::Peak,
    ];

    pub(crate) fn from_number(number: u64) -> SumKind {
        usize::try_from(number).ok().and_then(|at| Self::ALL.get(at).copied()).unwrap_or(SumKind::Unknown)
    }
}

/// A number of a process, or of the whole recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FigureKind {
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
    /// Something that a later version knows.
    Unknown = 255,
}

impl FigureKind {
    /// Those that this version knows.
    pub const ALL: [FigureKind; 30] = [
        FigureKind::PeakBlocks,
        FigureKind::PeakBytes,
        FigureKind::PeakTime,
        FigureKind::WholePeakTime,
        FigureKind::PagesPeakBytes,
        FigureKind::PagesPeakTime,
        FigureKind::InReallocBlocks,
        FigureKind::InReallocBytes,
        FigureKind::PagesBytes,
        FigureKind::UnmatchedFrees,
        FigureKind::FreesFromBefore,
        FigureKind::InheritedFrees,
        FigureKind::LostAllocations,
        FigureKind::LostFrees,
        FigureKind::PausedAllocations,
        FigureKind::PausedFrees,
        FigureKind::Conflicts,
        FigureKind::Gaps,
        FigureKind::GapAllocations,
        FigureKind::GapFrees,
        FigureKind::Mapped,
        FigureKind::MappedBytes,
        FigureKind::InHook,
        FigureKind::InHookBytes,
        FigureKind::Unmapped,
        FigureKind::UnmappedBytes,
        FigureKind::Remapped,
        FigureKind::RemappedBytes,
        FigureKind::Breaks,
        FigureKind::BreakBytes,
    ];

    /// True for a number that stands for itself; the others are added up.
    pub fn replaces(self) -> bool {
        (self as u8) < FigureKind::UnmatchedFrees as u8
    }

    pub(crate) fn from_number(number: u64) -> FigureKind {
        usize::try_from(number).ok().and_then(|at| Self::ALL.get(at).copied()).unwrap_or(FigureKind::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each kind lies at its number, and that other numbers are those of later versions.
    #[test]
    fn kinds_lie_at_their_numbers() {
        for (number, kind) in SumKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, SumKind::from_number(number as u64)), (number, kind));
        }
        for (number, kind) in FigureKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, FigureKind::from_number(number as u64)), (number, kind));
        }
        for number in [6, 255, u64::MAX] {
            assert_eq!(SumKind::from_number(number), SumKind::Unknown);
        }
        assert_eq!(FigureKind::from_number(30), FigureKind::Unknown);
    }
}
