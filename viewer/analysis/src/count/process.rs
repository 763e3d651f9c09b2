//! The state that counting keeps for one process image.

use super::failures::Failures;
use super::heap::{Block, Heap};
use super::lineage::Lineage;
use super::mappings::Mappings;
use super::pages::Pages;
use super::peak::Moment;
use super::profile::{Anomalies, GapTotals, PauseTotals};
use super::watch::Instant;
use crate::base::cost::{Amount, Cost};
use capture::Seed;
use capture::{Ended, Process, ProcessId, ThreadId};
use serde::{Deserialize, Serialize};

/// The phase of a process image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// No event of it so far.
    #[default]
    Unseen,
    /// Between its first event and its end.
    Running,
    /// Over: further events are strays.
    Ended,
}

/// What counting needs of the capture's table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    /// The process that it was forked from.
    pub(crate) parent: Option<ProcessId>,
    /// How it ended is known.
    pub(crate) has_end: bool,
}

impl Row {
    pub(crate) fn of(row: &Process) -> Self {
        Self { parent: row.parent.filter(|_| row.forked), has_end: row.end.is_some() }
    }
}

/// State of one process image.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "K: Copy + Serialize", deserialize = "K: Copy + Deserialize<'de>"))]
pub(crate) struct ProcessState<K = ()> {
    pub(crate) phase: Phase,
    /// What the capture says of it.
    #[serde(skip)]
    pub(crate) row: Row,
    /// It was running before its recording began.
    pub(crate) attached: bool,
    /// How it ended, as far as the capture says.
    pub(crate) ended: Ended,
    pub(crate) heap: Heap<K>,
    pub(crate) lineage: Lineage,
    /// Live now, in-flight `realloc`s included.
    pub(crate) held: Amount,
    pub(crate) top: Moment,
    pub(crate) cost: Cost,
    pub(crate) anomalies: Anomalies,
    pub(crate) mappings: Mappings,
    pub(crate) pages: Pages,
    pub(crate) gaps: GapTotals,
    pub(crate) failures: Failures,
    pub(crate) in_realloc: Amount,
    /// Begins and ends of gaps so far: a block with a smaller number has lived through one.
    pub(crate) gap_edges: u32,
    /// Threads that are losing events now.
    pub(crate) open_gaps: u32,
    /// There were gaps at any time, including before a range began.
    pub(crate) had_gaps: bool,
    pub(crate) pauses: PauseTotals,
    /// Counts pauses at all times, including before a range began.
    pub(crate) pause_number: u32,
    /// When the present pause began.
    pub(crate) paused_since: Option<u64>,
    /// It was paused, or its parent was before it forked: blocks may exist that were never recorded.
    pub(crate) was_paused: bool,
    /// Threads that ever called `realloc`.
    pub(crate) reallocating: Vec<ThreadId>,
}

impl<K: Copy> ProcessState<K> {
    pub(crate) fn new(seed: Seed, row: &Process) -> Self {
        Self {
            ended: row.end.as_ref().map_or(Ended::Running, |end| end.ended),
            phase: Phase::Unseen,
            row: Row::of(row),
            attached: row.attached,
            heap: Heap::new(seed),
            lineage: Lineage::default(),
            held: Amount::ZERO,
            top: Moment::default(),
            cost: Cost::default(),
            anomalies: Anomalies::default(),
            mappings: Mappings::default(),
            pages: Pages::default(),
            gaps: GapTotals::default(),
            failures: Failures::default(),
            in_realloc: Amount::ZERO,
            gap_edges: 0,
            open_gaps: 0,
            had_gaps: false,
            pauses: PauseTotals::default(),
            pause_number: 0,
            paused_since: None,
            was_paused: false,
            reallocating: Vec::new(),
        }
    }

    /// The capture's table says something else of it now.
    pub(crate) fn note_row(&mut self, row: &Process) {
        self.row = Row::of(row);
        if let Some(end) = row.end.as_ref().filter(|_| self.phase != Phase::Ended) {
            self.ended = end.ended;
        }
    }

    /// True when this block was alive while events of its process were lost or paused.
    pub(crate) fn lived_through_gap(&self, block: &Block<K>) -> bool {
        self.open_gaps > 0 || block.gap_edges != self.gap_edges
    }

    /// True when events of this process were lost at any time so far.
    pub(crate) fn has_gaps(&self) -> bool {
        self.had_gaps
    }

    /// Removes and returns the block at an address; a child may still ask for it.
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block<K>> {
        let block = self.heap.remove(address)?;
        self.lineage.bury(address, block.forks);
        Some(block)
    }

    /// Makes this moment its peak.
    pub(crate) fn hold_peak(&mut self, at: Instant) {
        self.top = Moment { held: self.held, at };
    }

    /// Begins a range of the capture: sums are reset, knowledge of blocks and events stays.
    pub(crate) fn restart(&mut self, now: u64) {
        self.anomalies = Anomalies::default();
        self.mappings = Mappings::default();
        self.gaps = GapTotals::default();
        self.failures = Failures::default();
        self.pauses = PauseTotals { pauses: u64::from(self.paused_since.is_some()), time: 0 };
        self.paused_since = self.paused_since.map(|_| now);
        self.in_realloc = Amount::ZERO;
    }

    /// Notes that a thread began to lose events.
    pub(crate) fn open_gap(&mut self) {
        self.open_gaps += 1;
        self.gap_edges = self.gap_edges.wrapping_add(1).max(1);
        self.gaps.gaps += 1;
        self.had_gaps = true;
    }

    /// Notes that the program paused the recording.
    pub(crate) fn pause(&mut self, time: u64) {
        if self.paused_since.is_none() {
            self.paused_since = Some(time);
            self.was_paused = true;
            self.open_gaps += 1;
            self.gap_edges = self.gap_edges.wrapping_add(1).max(1);
            self.pauses.pauses += 1;
            self.pause_number = self.pause_number.wrapping_add(1);
        }
    }

    /// Notes that the program resumed the recording, or ended. A resume without a pause means that it was paused
    /// before anything was recorded.
    pub(crate) fn resume(&mut self, time: u64) {
        self.pause(time);
        let since = self.paused_since.take().unwrap_or(time);
        self.pauses.time = self.pauses.time.saturating_add(time.saturating_sub(since));
        self.close_gap();
    }

    /// Notes that a thread no longer loses events.
    pub(crate) fn close_gap(&mut self) {
        self.open_gaps = self.open_gaps.saturating_sub(1);
        self.gap_edges = self.gap_edges.wrapping_add(1).max(1);
    }
}
