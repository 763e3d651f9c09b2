//! Who wants to know more than sums: the life of every block, told while events are counted.
//!
//! ```text
//!  events ──► Load ──► Profile                      sums, always
//!              │
//!              ├── born(birth) ──► kept             what the observer keeps with the block: nothing, a time, …
//!              └── died(life with kept, death)      comes back with its end
//! ```
//!
//! Births and deaths are those of the sums: a block lives as long as its bytes count as live. The old block of a
//! `realloc` dies when that returns, after the new one is born, unless it stays in its place. A `realloc` that fails ends
//! nothing. Every block that was born dies once, at the latest with its process or with the events.
//!
//! Memory is the observer's own matter: what it keeps with a block is paid for each live block.

use super::cost::Amount;
use capture::{Ended, Event, NodeId, ProcessId, ThreadId};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// An observer of a pass. The one that sees nothing is `()`, and costs nothing.
pub trait Watch {
    /// What comes back with a block's end.
    type Kept: Copy + Debug;

    /// False when nobody looks: then nothing is told.
    const LOOKS: bool = true;

    /// False for one who adds up by itself what it is told: then the pass adds up no blocks, and its profile says nothing. That is
    /// a third of its work.
    const SUMS: bool = true;

    /// A block came to life. When a `realloc` made it of another, known one, that is `old`; it dies right before, if
    /// the new block has its address, else right after.
    fn born(&mut self, birth: &Birth, old: Option<&Life<Self::Kept>>) -> Self::Kept;

    /// The life of a block is over.
    fn died(&mut self, life: &Life<Self::Kept>, death: &Death);

    /// In an aggregated capture, so much has become of a stack's blocks since the last snapshot.
    fn moved(&mut self, _at: Instant, _process: ProcessId, _node: NodeId, _moved: &Moved) {}

    /// In an aggregated capture, so much of a stack is left, since its process has ended or events have.
    fn left(&mut self, _at: Instant, _process: ProcessId, _node: NodeId, _held: Amount, _ended: Ended) {}

    /// A thread has freed what was no live block of its process, and nothing that is known of the recording explains that: no gap, no
    /// pause, no life before the recording.
    fn freed_invalid(&mut self, _at: Instant, _free: &InvalidFree) {}

    /// An event was counted, and all births and deaths in it were told.
    fn event(&mut self, _at: Instant, _event: &Event) {}
}

/// What became of the blocks of a stack between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Allocated.
    pub allocated: Amount,
    /// Freed.
    pub freed: Amount,
    /// The part of it that was temporary.
    pub temporary: Amount,
    /// The change of what is live.
    pub live: Amount,
}

/// Sees nothing.
impl Watch for () {
    type Kept = ();
    const LOOKS: bool = false;

    #[inline]
    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    #[inline]
    fn died(&mut self, _: &Life<()>, _: &Death) {}
}

/// When something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instant {
    /// Events up to and including this one, in merged order, which is the truth.
    pub position: u64,
    /// Nanoseconds since the recording began, for display.
    pub time: u64,
}

/// A block that came to life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// When.
    pub at: Instant,
    /// Whose it is.
    pub process: ProcessId,
    /// Who asked for it.
    pub thread: ThreadId,
    /// With which stack.
    pub node: NodeId,
    /// Where it begins.
    pub address: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// Alignment that was asked for, 0 where the caller asked for none.
    pub alignment: u64,
}

/// A block whose life is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life<K> {
    /// Whose it was.
    pub process: ProcessId,
    /// Who allocated it.
    pub thread: ThreadId,
    /// With which stack.
    pub node: NodeId,
    /// Where it began.
    pub address: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// What the observer said when it was born.
    pub kept: K,
}

/// A free of what is no live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFree {
    /// Whose memory it is.
    pub process: ProcessId,
    /// Who did it.
    pub thread: ThreadId,
    /// What was freed.
    pub address: u64,
    /// With which stack; [`NodeId::ROOT`] unless stacks of frees were recorded, and for `realloc`.
    pub stack: NodeId,
}

/// The end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// When. Of blocks that are left when events end, the last event.
    pub at: Instant,
    /// How.
    pub end: End,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was freed, by `free` or by `realloc` to size 0.
    Freed {
        /// Who did it.
        thread: ThreadId,
        /// With which stack; [`NodeId::ROOT`] unless stacks of frees were recorded, and for `realloc`.
        stack: NodeId,
        /// By the thread that allocated it, before its next allocation.
        is_temporary: bool,
    },
    /// `realloc` made another block of it.
    Resized {
        /// Who did it.
        thread: ThreadId,
        /// With which stack.
        stack: NodeId,
        /// Where the new block begins.
        address: u64,
        /// Its bytes.
        size: u64,
    },
    /// Its address was handed out again, or its `realloc` never returned, and no free of it was recorded.
    Displaced {
        /// Events of its process were lost while it lived.
        through_gap: bool,
    },
    /// It was never freed.
    Left {
        /// What that means.
        left: Left,
        /// How its process ended: [`Ended::Running`] where events end first.
        ended: Ended,
        /// A `realloc` of it had begun.
        in_realloc: bool,
    },
}

/// What a block is that was never freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Alive when its process ended, or when events ended.
    Leaked,
    /// The same after a gap: its free may have been lost.
    Uncertain,
    /// Alive when exec replaced the program.
    AtExec,
}
