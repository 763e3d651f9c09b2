//! What happened, in merged order.

use crate::ids::{NodeId, ProcessId, ThreadId};

/// One event of one thread. Events are stored in merged order over all threads and processes; that order is
/// the truth, and `time` may be rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// The thread that made the call; its process follows from [`crate::Thread::process`].
    pub thread: ThreadId,
    /// What it did.
    pub action: Action,
}

/// The kinds of events. Which function was called (`calloc`, `operator new` …) is the innermost frame of the
/// stack, see [`crate::Pseudo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call returned a new block. `alignment` is 0 where the caller asked for none.
    Alloc { address: u64, size: u64, alignment: u64, stack: NodeId },
    /// A block is about to be freed. `stack` is [`NodeId::ROOT`] unless stacks of frees were recorded.
    Free { address: u64, stack: NodeId },
    /// `realloc` of a non-null block is about to happen: by address the block ends here, its bytes count as live
    /// until the [`Action::ReallocEnd`] of the same thread and serial.
    ReallocBegin { address: u64, serial: u16 },
    /// The `realloc` returned.
    ReallocEnd { serial: u16, outcome: ReallocOutcome },
    /// Pages were mapped (`mmap`), a heap of its own that never enters allocations, live, peak or leaked.
    Map { address: u64, length: u64, stack: NodeId, in_hook: bool },
    /// Pages are about to be unmapped.
    Unmap { address: u64, length: u64 },
    /// The unmapping announced last by this thread failed: its pages are still there.
    UnmapFailed { address: u64, length: u64 },
    /// `mremap` moved or resized a mapping.
    Remap { old_address: u64, old_length: u64, address: u64, length: u64, stack: NodeId },
    /// The program break is now at `address` (`brk`, `sbrk`).
    Break { address: u64, stack: NodeId },
    /// First event of a process image. A child of fork inherits its parent's live blocks, known but not counted.
    ProcessStart { process: ProcessId },
    /// Last event of a process image; why it ended is in [`crate::Process::end`].
    ProcessEnd { process: ProcessId },
    /// First event of a thread.
    ThreadStart,
    /// The thread ended; its id is not used again.
    ThreadEnd,
    /// From here on events of this thread were lost.
    GapBegin,
    /// The loss ended, after this many allocations and frees were not recorded.
    GapEnd { allocations: u64, frees: u64 },
}

/// How a `realloc` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReallocOutcome {
    /// The old block is gone and this one is there, perhaps at the same address.
    Block { address: u64, size: u64, stack: NodeId },
    /// It failed: the old block is live as before.
    Failed,
    /// Size 0 and the allocator freed the block.
    Freed,
}
