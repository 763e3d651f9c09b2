//! What happened, in merged order.

use crate::aggregate::{FigureKind, SumKind};
use crate::ids::{MarkId, NodeId, ProcessId, StringId, ThreadId};

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

// Readers hand out millions of them.
const _: () = assert!(size_of::<Event>() <= 64);

/// The kinds of events. Which function was called (`calloc`, `operator new` …) is the innermost frame of the
/// stack, see [`crate::Pseudo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call returned a new block.
    Alloc {
        /// Where the block begins.
        address: u64,
        /// Bytes that were asked for.
        size: u64,
        /// Alignment that was asked for, 0 where the caller asked for none.
        alignment: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// A block is about to be freed.
    Free {
        /// Where the block begins.
        address: u64,
        /// Who frees it; [`NodeId::ROOT`] unless stacks of frees were recorded.
        stack: NodeId,
    },
    /// `realloc` of a non-null block is about to happen: by address the block ends here, its bytes count as live
    /// until the [`Action::ReallocEnd`] of the same thread and serial.
    ReallocBegin {
        /// Where the old block begins.
        address: u64,
        /// Joins begin and end, per thread.
        serial: u16,
    },
    /// The `realloc` returned.
    ReallocEnd {
        /// That of the [`Action::ReallocBegin`].
        serial: u16,
        /// What became of the block.
        outcome: ReallocOutcome,
    },
    /// Pages were mapped (`mmap`), a heap of its own that never enters allocations, live, peak or leaked.
    Map {
        /// Where the pages begin.
        address: u64,
        /// Bytes that were asked for.
        length: u64,
        /// Who asked.
        stack: NodeId,
        /// True when an allocator asked, from inside a recorded call.
        in_hook: bool,
    },
    /// Pages are about to be unmapped.
    Unmap {
        /// Where the pages begin.
        address: u64,
        /// Bytes, from there.
        length: u64,
    },
    /// The unmapping announced last by this thread failed: its pages are still there.
    UnmapFailed {
        /// As announced.
        address: u64,
        /// As announced.
        length: u64,
    },
    /// `mremap` moved or resized a mapping.
    Remap {
        /// Where the pages began before.
        old_address: u64,
        /// Bytes before.
        old_length: u64,
        /// Where they begin now.
        address: u64,
        /// Bytes now.
        length: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// The program break moved (`brk`, `sbrk`).
    Break {
        /// Where it is now.
        address: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// First event of a process image. A child of fork inherits its parent's live blocks, known but not counted.
    ProcessStart {
        /// The image that begins.
        process: ProcessId,
        /// Number of the [`Action::Fork`] of its parent that made it, which comes earlier: what was live there is
        /// inherited. 0 where none was recorded: it inherits what is live now.
        fork: u32,
    },
    /// The process is about to fork. It may fail, and the child may begin much later, or never.
    Fork {
        /// Number of the fork among those of the process, not 0.
        fork: u32,
    },
    /// Last event of a process image; why it ended is in [`crate::Process::end`].
    ProcessEnd {
        /// The image that ends.
        process: ProcessId,
    },
    /// First event of a thread. What has the same id before it is of another one, which has ended.
    ThreadStart,
    /// The thread ended. Its id is used again only where nobody tells threads apart: in the capture that an aggregated one is made of.
    ThreadEnd,
    /// The thread has made allocations that are no samples since its last recorded one: what it frees next is not
    /// temporary.
    Unsampled,
    /// From here on events of this thread were lost.
    GapBegin,
    /// The loss ended.
    GapEnd {
        /// Allocations that were not recorded.
        allocations: u64,
        /// Frees that were not recorded.
        frees: u64,
    },
    /// The program wants nothing recorded from here on, in any thread of the process; marks and what is told of
    /// processes and threads go on. It may come twice, or without a [`Action::Resume`].
    Pause,
    /// It wants everything recorded again. It may come alone: then nothing was recorded of the process before.
    Resume,
    /// The program told of a new block in a pool of its own. A pool is a heap with a name: its blocks never enter the
    /// numbers of the process' heap, in which they mostly lie.
    PoolAlloc {
        /// Name of the pool, which tells a process' pools apart.
        pool: StringId,
        /// Where the block begins, or any number that tells the blocks of the pool apart.
        address: u64,
        /// Bytes.
        size: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// A block of a pool is about to go back.
    PoolFree {
        /// Name of the pool.
        pool: StringId,
        /// The block.
        address: u64,
    },
    /// A block of a pool has another size, and perhaps another place: one free and one allocation.
    PoolRealloc {
        /// Name of the pool.
        pool: StringId,
        /// The block before.
        old: u64,
        /// The block now.
        address: u64,
        /// Bytes now.
        size: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// The place of a mark among the events.
    Mark {
        /// Its row in [`crate::Tables::marks`].
        mark: MarkId,
    },
    /// A call that was to return memory returned none. It counts nowhere as an allocation.
    AllocFailed {
        /// Bytes that were asked for; [`u64::MAX`] where that is a product which does not fit.
        size: u64,
        /// Alignment that was asked for, which may be none that there can be; 0 where the caller asked for none.
        alignment: u64,
        /// What the call said, as `errno` has it: `ENOMEM`, `EINVAL` …; 0 where that is not known.
        error: u32,
        /// Who asked.
        stack: NodeId,
    },
    /// In an aggregated capture: blocks of a stack in the thread's process, whoever allocated them.
    Sum {
        /// Which blocks.
        kind: SumKind,
        /// Who asked for them.
        stack: NodeId,
        /// How many.
        blocks: u64,
        /// Their sizes together.
        bytes: u64,
    },
    /// In an aggregated capture: a number of the thread's process.
    Figure {
        /// Which.
        kind: FigureKind,
        /// The number, in two's complement where it may be negative.
        value: u64,
    },
    /// In an aggregated capture: all that has changed up to here was told. What comes is told with the next one.
    Snapshot,
}

/// How a `realloc` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReallocOutcome {
    /// The old block is gone and this one is there, perhaps at the same address.
    Block {
        /// Where the new block begins.
        address: u64,
        /// Bytes that were asked for.
        size: u64,
        /// Who asked.
        stack: NodeId,
    },
    /// It failed: the old block is live as before.
    Failed,
    /// Size 0 and the allocator freed the block.
    Freed,
}
