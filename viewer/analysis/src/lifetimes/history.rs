//! What happened at one address, over all blocks that ever held it.

use crate::count::watch::{Birth, Death, End, Instant, InvalidFree, Left, Life, Watch};
use capture::{NodeId, ProcessId, ThreadId};
use std::collections::{HashMap, VecDeque};

/// Observes a pass for blocks that hold an address. If there are very many events, the last ones are kept.
#[derive(Debug)]
pub struct History {
    address: u64,
    limit: usize,
    entries: VecDeque<Entry>,
    forgotten: u64,
    /// By process, the block that holds the address, or held it last: address and size.
    last: HashMap<ProcessId, (u64, u64)>,
}

/// An event in the life of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub at: Instant,
    /// The process.
    pub process: ProcessId,
    /// The thread that did it; none where none was seen.
    pub thread: Option<ThreadId>,
    /// What.
    pub turn: Turn,
    /// Address of the block; of an invalid free, the address that was freed.
    pub address: u64,
    /// Its size; of an invalid free, 0.
    pub size: u64,
    /// The stack that did it; [`NodeId::ROOT`] where it was not recorded.
    pub stack: NodeId,
}

/// What happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It was allocated.
    Allocated,
    /// `realloc` made it from another block.
    ResizedFrom {
        /// Address of that block.
        address: u64,
        /// Its size.
        size: u64,
    },
    /// `realloc` turned it into another block.
    ResizedTo {
        /// Address of that block.
        address: u64,
        /// Its size.
        size: u64,
    },
    /// It was freed.
    Freed,
    /// Its address was reused without a recorded free.
    Displaced,
    /// Its process, or the part of the capture that was asked for, ended.
    Left,
    /// The same, after events had been lost: it may have been freed.
    Uncertain,
    /// Its process was replaced by another program.
    AtExec,
    /// An address was freed where no block began: again, inside of a block, or where none ever was.
    FreedInvalid,
}

impl Turn {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Turn::Allocated => "allocated",
            Turn::ResizedFrom { .. } => "resized_from",
            Turn::ResizedTo { .. } => "resized_to",
            Turn::Freed => "freed",
            Turn::Displaced => "displaced",
            Turn::Left => "left",
            Turn::Uncertain => "uncertain",
            Turn::AtExec => "at_exec",
            Turn::FreedInvalid => "freed_invalid",
        }
    }
}

impl History {
    /// For this address, keeping at most `limit` entries.
    pub fn new(address: u64, limit: usize) -> Self {
        Self { address, limit: limit.max(1), entries: VecDeque::new(), forgotten: 0, last: HashMap::new() }
    }

    /// The entries in order, and how many preceded the first one.
    pub fn finish(self) -> (Vec<Entry>, u64) {
        (self.entries.into(), self.forgotten)
    }

    fn holds(&self, address: u64, size: u64) -> bool {
        self.address.checked_sub(address).is_some_and(|offset| offset < size.max(1))
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() == self.limit {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        self.entries.push_back(entry);
    }
}

impl Watch for History {
    type Attached = ();

    fn born(&mut self, birth: &Birth, old: Option<&Life<()>>) {
        let &Birth { at, process, thread, node, address, size, .. } = birth;
        if !self.holds(address, size) {
            return;
        }
        self.last.insert(process, (address, size));
        let turn =
            old.map_or(Turn::Allocated, |old| Turn::ResizedFrom { address: old.address, size: old.size });
        self.push(Entry { at, process, thread: Some(thread), turn, address, size, stack: node });
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let &Life { process, address, size, .. } = life;
        if !self.holds(address, size) {
            return;
        }
        let (turn, thread, stack) = match death.end {
            End::Freed { thread, stack, .. } => (Turn::Freed, Some(thread), stack),
            End::Resized { thread, stack, address, size } => {
                (Turn::ResizedTo { address, size }, Some(thread), stack)
            }
            End::Displaced { .. } => (Turn::Displaced, None, NodeId::ROOT),
            End::Left { left: Left::Leaked, .. } => (Turn::Left, None, NodeId::ROOT),
            End::Left { left: Left::Uncertain, .. } => (Turn::Uncertain, None, NodeId::ROOT),
            End::Left { left: Left::AtExec, .. } => (Turn::AtExec, None, NodeId::ROOT),
        };
        self.push(Entry { at: death.at, process, thread, turn, address, size, stack });
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        let &InvalidFree { process, thread, address, stack } = free;
        let (begin, size) = self.last.get(&process).copied().unwrap_or((self.address, 1));
        if address == self.address || address.checked_sub(begin).is_some_and(|offset| offset < size) {
            let (thread, turn) = (Some(thread), Turn::FreedInvalid);
            self.push(Entry { at, process, thread, turn, address, size: 0, stack });
        }
    }
}
