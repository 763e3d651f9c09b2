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

// Readers hand out millions of events.
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
        /// Alignment that was asked for, 0 where the caller gave none.
        alignment: u64,
        /// The calling stack.
        stack: NodeId,
    },
    /// A block is about to be freed.
    Free {
        /// Where the block begins.
        address: u64,
        /// The freeing stack; [`NodeId::ROOT`] unless stacks of frees were recorded.
        stack: NodeId,
    },
    /// `realloc` of a non-null block is about to happen. The block is no longer found by its address from here on,
    /// but its bytes count as live until the [`Action::ReallocEnd`] of the same thread and serial.
    ReallocBegin {
        /// Where the old block begins.
        address: u64,
        /// Matches begin and end, per thread.
        serial: u16,
    },
    /// The `realloc` returned.
    ReallocEnd {
        /// The serial of the matching [`Action::ReallocBegin`].
        serial: u16,
        /// What became of the block.
        outcome: ReallocOutcome,
    },
    /// Pages were mapped (`mmap`). Mappings are a heap of their own and never count in allocations, live, peak or
    /// leaked.
    Map {
        /// Where the pages begin.
        address: u64,
        /// Bytes that were asked for.
        length: u64,
        /// The calling stack.
        stack: NodeId,
        /// True when the allocator itself called `mmap`, inside a recorded call.
        in_hook: bool,
    },
    /// Pages are about to be unmapped.
    Unmap {
        /// Where the pages begin.
        address: u64,
        /// Length in bytes.
        length: u64,
    },
    /// The last [`Action::Unmap`] of this thread failed: its pages are still mapped.
    UnmapFailed {
        /// As in the [`Action::Unmap`].
        address: u64,
        /// As in the [`Action::Unmap`].
        length: u64,
    },
    /// `mremap` moved or resized a mapping.
    Remap {
        /// Where the pages began before.
        old_address: u64,
        /// Length before, in bytes.
        old_length: u64,
        /// Where they begin now.
        address: u64,
        /// Length now, in bytes.
        length: u64,
        /// The calling stack.
        stack: NodeId,
    },
    /// The program break moved (`brk`, `sbrk`).
    Break {
        /// Where it was.
        from: u64,
        /// Where it is now.
        address: u64,
        /// The calling stack.
        stack: NodeId,
        /// True when the allocator itself moved it, inside a recorded call.
        in_hook: bool,
    },
    /// First event of a process image. A child of fork inherits its parent's live blocks, known but not counted.
    ProcessStart {
        /// The image that begins.
        process: ProcessId,
        /// Number of the parent's [`Action::Fork`] that made this process: it inherits the blocks that were live at
        /// that earlier event. 0 where no fork was recorded: it inherits the blocks that are live now.
        fork: u32,
    },
    /// The process is about to fork. It may fail, and the child may begin much later, or never.
    Fork {
        /// Number of this fork within the process, counted from 1.
        fork: u32,
    },
    /// Last event of a process image; why it ended is in [`crate::Process::end`].
    ProcessEnd {
        /// The image that ends.
        process: ProcessId,
    },
    /// First event of a thread. Earlier events with the same id belong to another thread, which has ended.
    ThreadStart,
    /// The thread ended. Its id is reused only where threads are not told apart: in the capture that an aggregated
    /// one is made from.
    ThreadEnd,
    /// Since its last recorded allocation the thread has made others that were not sampled, so its next free is not
    /// temporary.
    Unsampled,
    /// Events of this thread are lost from here on.
    GapBegin,
    /// The loss ended.
    GapEnd {
        /// Allocations that were not recorded.
        allocations: u64,
        /// Frees that were not recorded.
        frees: u64,
    },
    /// The program asked to stop recording all threads of its process. Marks, and events of processes and threads, go
    /// on. May come twice, or without a [`Action::Resume`].
    Pause,
    /// The program asked to record again. May come without a pause: then nothing of the process was recorded before.
    Resume,
    /// The program reported a new block in one of its own pools. A pool is a named heap; its blocks never count in
    /// the numbers of the process' heap, where most of them lie.
    PoolAlloc {
        /// Name of the pool, unique within a process.
        pool: StringId,
        /// Where the block begins, or any number that identifies it within the pool.
        address: u64,
        /// Bytes.
        size: u64,
        /// The calling stack.
        stack: NodeId,
    },
    /// A block of a pool is about to be returned.
    PoolFree {
        /// Name of the pool.
        pool: StringId,
        /// The block.
        address: u64,
    },
    /// A block of a pool changed its size, and perhaps its address: counts as one free and one allocation.
    PoolRealloc {
        /// Name of the pool.
        pool: StringId,
        /// The block's address before.
        old: u64,
        /// The block's address now.
        address: u64,
        /// Bytes now.
        size: u64,
        /// The calling stack.
        stack: NodeId,
    },
    /// Where a mark stands among the events.
    Mark {
        /// Its row in [`crate::Tables::marks`].
        mark: MarkId,
    },
    /// An allocation call returned no memory. It is never counted as an allocation.
    AllocFailed {
        /// Bytes that were asked for; [`u64::MAX`] where the product of count and size overflows.
        size: u64,
        /// Count and size whose product overflows.
        factors: Option<(u64, u64)>,
        /// Alignment that was asked for, possibly an invalid one; 0 where the caller gave none.
        alignment: u64,
        /// The call's error as an `errno` value (`ENOMEM`, `EINVAL` …); 0 where it is not known.
        error: u32,
        /// The calling stack.
        stack: NodeId,
    },
    /// In an aggregated capture: a sum over the blocks of one stack in the thread's process, whichever thread
    /// allocated them.
    Sum {
        /// What is summed up.
        kind: SumKind,
        /// The stack that allocated the blocks.
        stack: NodeId,
        /// Number of blocks.
        blocks: u64,
        /// Their total size.
        bytes: u64,
    },
    /// In an aggregated capture: a number of the thread's process.
    Figure {
        /// Which number.
        kind: FigureKind,
        /// Its value, in two's complement where it may be negative.
        value: u64,
    },
    /// In an aggregated capture: every change up to this point has been reported. Later ones follow with the next
    /// snapshot.
    Snapshot,
}

/// How a `realloc` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReallocOutcome {
    /// The old block is gone and this one replaces it, perhaps at the same address.
    Block {
        /// Where the new block begins.
        address: u64,
        /// Bytes that were asked for.
        size: u64,
        /// The calling stack.
        stack: NodeId,
    },
    /// It failed: the old block is live as before.
    Failed,
    /// The size was 0 and the allocator freed the block.
    Freed,
}
