//! What each process holds, in steps of time, for formats with tracks.

use super::events::end;
use capture::ProcessId;
use engine::Loaded;

/// Number of steps of a track.
const STEPS: u64 = 1000;

/// What a process holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    /// Bytes that it holds.
    pub(super) bytes: i64,
    /// Change of that in the current step.
    pub(super) change: i64,
    /// Number of changes in it.
    pub(super) changes: u32,
}

/// What all processes hold.
#[derive(Debug)]
pub(super) struct Held {
    processes: Vec<Holding>,
    length: u64,
    /// When the current step ends, in nanoseconds.
    next: u64,
    end: u64,
}

impl Held {
    pub(super) fn new(loaded: &Loaded) -> Self {
        let end = end(loaded);
        let length = (end / STEPS).max(1);
        Self { processes: vec![Holding::default(); loaded.tables.processes.len()], length, next: length, end }
    }

    /// The end of the step that is over at this time, if it is.
    // Cost: one comparison.
    pub(super) fn over(&self, time: u64) -> Option<u64> {
        (time >= self.next).then_some(self.next.min(self.end))
    }

    /// Ends the steps that are over at this time, and reports the changes in the first of them. If nothing happened
    /// for several steps, a track stays where it is.
    pub(super) fn step(&mut self, time: u64, mut tell: impl FnMut(ProcessId, Holding)) {
        for (place, holding) in self.processes.iter_mut().enumerate().filter(|(_, one)| one.changes > 0) {
            tell(ProcessId::from_index(place), *holding);
            (holding.change, holding.changes) = (0, 0);
        }
        self.next = (time / self.length).saturating_add(1).saturating_mul(self.length);
    }

    /// Adds what a process allocated, or subtracts what it freed.
    pub(super) fn change(&mut self, process: ProcessId, bytes: i64) {
        if let Some(holding) = self.processes.get_mut(process.index()) {
            holding.bytes = holding.bytes.wrapping_add(bytes);
            holding.change = holding.change.wrapping_add(bytes);
            holding.changes = holding.changes.saturating_add(1);
        }
    }
}
