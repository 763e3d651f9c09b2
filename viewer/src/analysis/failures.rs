//! Calls that were to return memory and returned none. They are no allocations, and count nowhere else.
//!
//! Memory: a row for each stack and reason, whoever the thread was.

use super::cost::Amount;
use super::load::Load;
use super::watch::{Instant, Watch};
use capture::{Action, Event, NodeId, ProcessId, SumKind, Tables, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Threads that a row names.
const THREADS: usize = 16;

/// What a call said for which it returned no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Nothing that is known.
    #[default]
    Unknown,
    /// There is none, or no address for it, or a limit is reached: `ENOMEM`.
    NoMemory,
    /// Memory that cannot be swapped has a limit: `EAGAIN`.
    Locked,
    /// There is no such alignment: `EINVAL`. No memory was asked for.
    Alignment,
    /// The size does not fit: `EOVERFLOW`.
    Overflow,
}

impl Reason {
    /// That of a number of `errno`.
    pub fn of(error: u32) -> Self {
        match error {
            11 => Reason::Locked,
            12 => Reason::NoMemory,
            22 => Reason::Alignment,
            75 => Reason::Overflow,
            _ => Reason::Unknown,
        }
    }

    /// What `errno` calls it; none where that is not known.
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
    /// Whose they are.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Why they failed.
    pub reason: Reason,
    /// How many.
    pub calls: u64,
    /// Bytes that they asked for together, as many as fit.
    pub bytes: u64,
    /// The fewest and the most bytes that one of them asked for; none in an aggregated capture.
    pub sizes: Option<(u64, u64)>,
    /// The alignment that the last one asked for, 0 for none.
    pub alignment: u64,
    /// Who called, in the order of first calls, 16 threads at most; none in an aggregated capture.
    pub threads: Vec<ThreadId>,
    /// When the first one was. In an aggregated capture, this and the next are the snapshots that told of them.
    pub first: Instant,
    /// When the last one was.
    pub last: Instant,
    /// What the process held at the first one.
    pub held_first: Amount,
    /// What it held at the last one.
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
        (self.alignment, self.last, self.held_last) = (more.alignment, more.last, more.held_last);
    }
}

/// Those of a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Failures(BTreeMap<(NodeId, Reason), Failure>);

impl Failures {
    fn add(&mut self, one: Failure) {
        use std::collections::btree_map::Entry;
        match self.0.entry((one.node, one.reason)) {
            Entry::Vacant(place) => drop(place.insert(one)),
            Entry::Occupied(mut place) => place.get_mut().add(one),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Failure> {
        self.0.values()
    }

    /// Forgets them: a range begins.
    pub(super) fn restart(&mut self) {
        self.0.clear();
    }

    /// True when they may be of a capture with these tables: every id is in range.
    pub(super) fn fit(&self, tables: &Tables) -> bool {
        self.0.iter().all(|((node, _), one)| {
            one.node == *node
                && node.index() < tables.nodes.len().max(1)
                && one.process.index() < tables.processes.len()
                && one.threads.iter().all(|thread| thread.index() < tables.threads.len())
        })
    }

    /// By stack, and whether there was no such alignment: how many calls, and their bytes.
    pub(super) fn sums(&self) -> BTreeMap<(NodeId, bool), (u64, u64)> {
        let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for one in self.iter() {
            let (calls, bytes) = sums.entry((one.node, one.reason == Reason::Alignment)).or_default();
            (*calls, *bytes) = (calls.saturating_add(one.calls), bytes.saturating_add(one.bytes));
        }
        sums
    }
}

impl<W: Watch> Load<'_, W> {
    /// Notes a call that returned no memory.
    #[cold]
    pub(super) fn note_failure(&mut self, process: ProcessId, event: &Event) {
        let Action::AllocFailed { size, alignment, error, stack } = event.action else { return };
        self.add_failure((process, stack, Reason::of(error)), (1, size), |failure| Failure {
            sizes: Some((size, size)),
            alignment,
            threads: vec![event.thread],
            ..failure
        });
    }

    /// The same of a sum in an aggregated capture.
    #[cold]
    pub(super) fn note_failures(&mut self, process: ProcessId, node: NodeId, kind: SumKind, of: (u64, u64)) {
        let reason = if kind == SumKind::Invalid { Reason::Alignment } else { Reason::Unknown };
        self.add_failure((process, node, reason), of, |failure| failure);
    }

    fn add_failure(
        &mut self,
        (process, node, reason): (ProcessId, NodeId, Reason),
        (calls, bytes): (u64, u64),
        more: impl FnOnce(Failure) -> Failure,
    ) {
        let at = self.instant();
        let (held, failures) = self.held_and_failures(process);
        failures.add(more(Failure {
            process,
            node,
            reason,
            calls,
            bytes,
            sizes: None,
            alignment: 0,
            threads: Vec::new(),
            first: at,
            last: at,
            held_first: held,
            held_last: held,
        }));
    }
}
