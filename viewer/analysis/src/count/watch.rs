//! Observers of a pass: they are told the life of every block while events are counted.
//!
//! ```text
//!  events ──► Load ──► Profile                      sums, always
//!              │
//!              ├── born(birth) ──► attached             what the observer keeps with the block: nothing, a time, …
//!              └── died(life with attached, death)  comes back with its end
//! ```
//!
//! Births and deaths match the sums: a block lives as long as its bytes count as live. The old block of a `realloc`
//! dies when that returns, after the new one is born, unless the block stays in place. A failed `realloc` ends
//! nothing. Every block dies once, at the latest with its process or at the end of the events.
//!
//! The observer determines its own memory: what it keeps with a block takes memory for each live block.

use crate::base::cost::Amount;
use capture::{Ended, Event, NodeId, ProcessId, ThreadId};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// An observer of a pass. The observer `()` sees nothing and costs nothing.
pub trait Watch {
    /// What the observer gets back at a block's end.
    type Attached: Copy + Debug;

    /// False when nobody observes: then nothing is reported.
    const LOOKS: bool = true;

    /// False for an observer that does its own sums: then the pass adds up no blocks, which saves a third of its
    /// work, and its profile is empty.
    const SUMS: bool = true;

    /// A block was born. If `realloc` made it from a known block, that is `old`, which dies right before if the
    /// address stays the same, otherwise right after.
    fn born(&mut self, birth: &Birth, old: Option<&Life<Self::Attached>>) -> Self::Attached;

    /// A block died.
    #[inline]
    fn died(&mut self, _life: &Life<Self::Attached>, _death: &Death) {}

    /// In an aggregated capture: what happened to a stack's blocks since the last snapshot.
    fn moved(&mut self, _at: Instant, _process: ProcessId, _node: NodeId, _moved: &Moved) {}

    /// In an aggregated capture: what a stack still holds when its process or the events end.
    fn left(&mut self, _at: Instant, _process: ProcessId, _node: NodeId, _held: Amount, _ended: Ended) {}

    /// A thread freed an address without a live block of its process, and nothing known about the recording explains
    /// that: no gap, no pause, no life before the recording.
    fn freed_invalid(&mut self, _at: Instant, _free: &InvalidFree) {}

    /// A process has mapped pages apart from its allocator, or unmapped them. What it never unmaps goes with it.
    fn mapped(&mut self, _at: Instant, _mapping: &Mapping) {}

    /// An event was counted, after all births and deaths in it were reported.
    fn event(&mut self, _at: Instant, _event: &Event) {}
}

/// What happened to the blocks of a stack between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Allocated.
    pub allocated: Amount,
    /// Freed.
    pub freed: Amount,
    /// The part of `freed` that was temporary.
    pub temporary: Amount,
    /// The change of what is live.
    pub live: Amount,
}

/// A change of what a process has mapped apart from its allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The process.
    pub process: ProcessId,
    /// The stack that mapped it, also when it is unmapped.
    pub node: NodeId,
    /// Bytes more, or fewer.
    pub change: i64,
    /// Precedes the part of the capture that is asked for.
    pub is_before: bool,
}

/// Observes nothing.
impl Watch for () {
    type Attached = ();
    const LOOKS: bool = false;

    #[inline]
    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}
}

/// Two observers of one pass.
impl<A: Watch, B: Watch> Watch for (A, B) {
    type Attached = (A::Attached, B::Attached);
    const LOOKS: bool = A::LOOKS || B::LOOKS;
    const SUMS: bool = A::SUMS || B::SUMS;

    #[inline]
    fn born(&mut self, birth: &Birth, old: Option<&Life<Self::Attached>>) -> Self::Attached {
        let (first, second) =
            (old.map(|life| life.with(life.attached.0)), old.map(|life| life.with(life.attached.1)));
        (self.0.born(birth, first.as_ref()), self.1.born(birth, second.as_ref()))
    }

    #[inline]
    fn died(&mut self, life: &Life<Self::Attached>, death: &Death) {
        self.0.died(&life.with(life.attached.0), death);
        self.1.died(&life.with(life.attached.1), death);
    }

    fn moved(&mut self, at: Instant, process: ProcessId, node: NodeId, moved: &Moved) {
        self.0.moved(at, process, node, moved);
        self.1.moved(at, process, node, moved);
    }

    fn left(&mut self, at: Instant, process: ProcessId, node: NodeId, held: Amount, ended: Ended) {
        self.0.left(at, process, node, held, ended);
        self.1.left(at, process, node, held, ended);
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        self.0.freed_invalid(at, free);
        self.1.freed_invalid(at, free);
    }

    fn mapped(&mut self, at: Instant, mapping: &Mapping) {
        self.0.mapped(at, mapping);
        self.1.mapped(at, mapping);
    }

    #[inline]
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.event(at, event);
        self.1.event(at, event);
    }
}

/// A moment of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instant {
    /// Number of events up to and including this one, in merged order, which is authoritative.
    pub position: u64,
    /// How much of the last of these events has happened.
    pub stage: Stage,
    /// Nanoseconds since the recording began, for display.
    pub time: u64,
}

impl Instant {
    /// After this many events.
    pub fn after(position: u64, time: u64) -> Self {
        Self { position, stage: Stage::Over, time }
    }

    /// Number of events that are entirely before it.
    pub fn whole_events(self) -> u64 {
        self.position - u64::from(self.stage == Stage::Copying)
    }
}

/// How much of an event has happened. Most bytes are often held within a `realloc` that moves its block, and views of
/// that moment have to show both blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// A `realloc` has its new block, and copies the old one, which still exists.
    Copying,
    /// All of it.
    #[default]
    Over,
}

/// The birth of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// When.
    pub at: Instant,
    /// The process.
    pub process: ProcessId,
    /// The thread that allocated it.
    pub thread: ThreadId,
    /// The stack that allocated it.
    pub node: NodeId,
    /// Its address.
    pub address: u64,
    /// Bytes requested.
    pub size: u64,
    /// Alignment requested, 0 for none.
    pub alignment: u64,
}

/// A block that has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life<K> {
    /// The process.
    pub process: ProcessId,
    /// The thread that allocated it.
    pub thread: ThreadId,
    /// The stack that allocated it.
    pub node: NodeId,
    /// Its address.
    pub address: u64,
    /// Bytes requested.
    pub size: u64,
    /// What the observer returned at its birth.
    pub attached: K,
}

impl<K> Life<K> {
    /// The same with something else that was attached to it.
    pub fn with<L>(&self, attached: L) -> Life<L> {
        let Self { process, thread, node, address, size, .. } = *self;
        Life { process, thread, node, address, size, attached }
    }
}

/// A free of an address without a live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFree {
    /// The process.
    pub process: ProcessId,
    /// The thread that called it.
    pub thread: ThreadId,
    /// The address.
    pub address: u64,
    /// The stack that freed; [`NodeId::ROOT`] unless the stacks of frees were recorded, and for `realloc`.
    pub stack: NodeId,
}

/// The death of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// When; for blocks that are left when events end, the last event.
    pub at: Instant,
    /// How.
    pub end: End,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was freed, by `free` or by `realloc` to size 0.
    Freed {
        /// The thread that freed it.
        thread: ThreadId,
        /// The stack that freed it; [`NodeId::ROOT`] unless the stacks of frees were recorded, and for `realloc`.
        stack: NodeId,
        /// Whether that was the allocating thread, before its next allocation.
        is_temporary: bool,
    },
    /// `realloc` turned it into another block.
    Resized {
        /// The thread that called it.
        thread: ThreadId,
        /// The stack that called it.
        stack: NodeId,
        /// Address of the new block.
        address: u64,
        /// Size of the new block.
        size: u64,
    },
    /// Its address was reused, or its `realloc` never returned, and no free of it was recorded.
    Displaced {
        /// Events of its process were lost while it lived.
        through_gap: bool,
    },
    /// It was never freed.
    Left {
        /// How it counts.
        left: Left,
        /// How its process ended: [`Ended::Running`] if events ended first.
        ended: Ended,
        /// A `realloc` of it was under way.
        in_realloc: bool,
    },
}

/// How a block counts that was never freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Alive when its process or the events ended.
    Leaked,
    /// The same, but it has lived through a gap: its free may have been lost.
    Uncertain,
    /// Alive when exec replaced the program.
    AtExec,
}
