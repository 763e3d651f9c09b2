//! Calls that should have returned memory and returned none. They are not allocations, and count nowhere else.
//!
//! Memory: a row for each stack and reason, over all threads.

use super::watch::Instant;
use crate::base::cost::Amount;
use capture::{NodeId, ProcessId, Tables, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most threads that a row names.
const THREADS: usize = 16;

/// Why a call returned no memory, by its `errno`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Not known.
    #[default]
    Unknown,
    /// No memory or address space is left, or a limit is reached: `ENOMEM`.
    NoMemory,
    /// The limit on locked memory is reached: `EAGAIN`.
    Locked,
    /// The alignment is not valid: `EINVAL`. No memory was asked for.
    Alignment,
    /// The size overflows: `EOVERFLOW`.
    Overflow,
}

impl Reason {
    /// The reason for an `errno`.
    pub fn of(error: u32) -> Self {
        match error {
            11 => Reason::Locked,
            12 => Reason::NoMemory,
            22 => Reason::Alignment,
            75 => Reason::Overflow,
            _ => Reason::Unknown,
        }
    }

    /// The name of the `errno`; none if unknown.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Reason::Unknown => None,
            Reason::NoMemory => Some("ENOMEM"),
            Reason::Locked => Some("EAGAIN"),
            Reason::Alignment => Some("EINVAL"),
            Reason::Overflow => Some("EOVERFLOW"),
        }
    }
}

/// Calls of one stack of a process that failed for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Why they failed.
    pub reason: Reason,
    /// How many.
    pub calls: u64,
    /// Bytes requested in total, saturating.
    pub bytes: u64,
    /// The smallest and the largest request in bytes; none in an aggregated capture.
    pub sizes: Option<(u64, u64)>,
    /// Count and size of the last request whose product overflows, as far as they are known.
    pub factors: Option<(u64, u64)>,
    /// The alignment that the last call asked for, 0 for none.
    pub alignment: u64,
    /// The calling threads in the order of their first calls, 16 at most; empty in an aggregated capture.
    pub threads: Vec<ThreadId>,
    /// When the first call was. In an aggregated capture, this and `last` are the snapshots that reported them.
    pub first: Instant,
    /// When the last call was.
    pub last: Instant,
    /// What the process held at the first failure.
    pub held_first: Amount,
    /// What it held at the last failure.
    pub held_last: Amount,
}

impl Failure {
    fn add(&mut self, more: Failure) {
        self.calls = self.calls.saturating_add(more.calls);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.sizes = match (self.sizes, more.sizes) {
            (Some((least, most)), Some((low, high))) => Some((least.min(low), most.max(high))),
            _ => None,
        };
        let new = more.threads.into_iter().filter(|thread| !self.threads.contains(thread));
        let new: Vec<ThreadId> = new.take(THREADS.saturating_sub(self.threads.len())).collect();
        self.threads.extend(new);
        self.factors = more.factors.or(self.factors);
        (self.alignment, self.last, self.held_last) = (more.alignment, more.last, more.held_last);
    }
}

/// The failures of a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Failures(BTreeMap<(NodeId, Reason), Failure>);

impl Failures {
    pub(crate) fn add(&mut self, one: Failure) {
        use std::collections::btree_map::Entry;
        match self.0.entry((one.node, one.reason)) {
            Entry::Vacant(place) => drop(place.insert(one)),
            Entry::Occupied(mut place) => place.get_mut().add(one),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Failure> {
        self.0.values()
    }

    /// True when they can belong to a capture with these tables: every id is in range.
    pub(crate) fn fit(&self, tables: &Tables) -> bool {
        self.0.iter().all(|((node, _), one)| {
            one.node == *node
                && node.index() < tables.nodes.len().max(1)
                && one.process.index() < tables.processes.len()
                && one.threads.iter().all(|thread| thread.index() < tables.threads.len())
        })
    }

    /// By stack, and whether the alignment was invalid: the number of calls, and their bytes.
    pub(crate) fn sums(&self) -> BTreeMap<(NodeId, bool), (u64, u64)> {
        let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for one in self.iter() {
            let (calls, bytes) = sums.entry((one.node, one.reason == Reason::Alignment)).or_default();
            (*calls, *bytes) = (calls.saturating_add(one.calls), bytes.saturating_add(one.bytes));
        }
        sums
    }
}
