//! From all events to those of an aggregated capture.

use crate::analysis::{Load, PoolProfile, Totals};
use crate::format::{bytes, counted};
use capture::{Action, Event, ProcessId, Tables};

/// After so many snapshots the distance between them doubles.
pub const RUN: u32 = 360;

/// Marks that have a snapshot of their own between two others; those beyond stand after the one before them.
const MARKS: u32 = 16;

/// Heaps of the programs' own that are told of one by one.
const POOLS: usize = 64;

/// Who is told of what an aggregated capture has.
pub trait Teller {
    /// What may go wrong.
    type Error;

    /// At this time, something of a process.
    ///
    /// # Errors
    /// Whatever may go wrong.
    fn tell(&mut self, time: u64, process: ProcessId, action: Action) -> Result<(), Self::Error>;
}

/// Counts events, and tells at each snapshot what has changed.
#[derive(Debug)]
pub struct Condenser {
    totals: Totals,
    every: u64,
    due: u64,
    /// Snapshots at this distance so far.
    taken: u32,
    /// Snapshots for marks since the last one that was due.
    marks: u32,
    /// Heaps of the programs' own, at the end.
    pools: Vec<PoolProfile>,
    /// A process that everything can be told of that is about all of them: the first one that there is.
    first: Option<ProcessId>,
    last: u64,
}

impl Condenser {
    /// With so many nanoseconds between the first snapshots.
    pub fn new(every: u64) -> Self {
        let every = every.max(1);
        let (totals, pools, first) = (Totals::default(), Vec::new(), None);
        Self { totals, every, due: every, taken: 0, marks: 0, pools, first, last: 0 }
    }

    /// Counts the next event.
    ///
    /// # Errors
    /// Those of who is told.
    // Cost: a comparison more than the pass, unless a snapshot is due.
    pub fn event<T: Teller>(
        &mut self,
        load: &mut Load<'_>,
        event: &Event,
        to: &mut T,
    ) -> Result<(), T::Error> {
        while event.time >= self.due {
            self.snapshot(load, self.due, to)?;
            self.marks = 0;
            self.taken += 1;
            if self.taken == RUN {
                (self.taken, self.every) = (0, self.every.saturating_mul(2));
            }
            self.due = self.due.saturating_add(self.every);
            if self.due == u64::MAX {
                break;
            }
        }
        self.last = self.last.max(event.time);
        if let Action::ProcessEnd { .. } = event.action {
            self.snapshot(load, event.time, to)?;
        }
        load.event(event);
        match event.action {
            Action::ProcessStart { process, .. } => {
                self.first.get_or_insert(process);
                // Nothing is inherited but what was never counted.
                to.tell(event.time, process, Action::ProcessStart { process, fork: 0 })
            }
            Action::ProcessEnd { process } => to.tell(event.time, process, event.action),
            Action::Mark { .. } => {
                if self.marks < MARKS {
                    self.marks += 1;
                    self.snapshot(load, event.time, to)?;
                }
                self.pass_on(load, event, to)
            }
            Action::Pause | Action::Resume => self.pass_on(load, event, to),
            _ => Ok(()),
        }
    }

    /// Takes the last snapshot, when there are no more events.
    ///
    /// # Errors
    /// Those of who is told.
    pub fn finish<T: Teller>(&mut self, load: &mut Load<'_>, to: &mut T) -> Result<(), T::Error> {
        self.pools = load.pools_so_far();
        self.snapshot(load, self.last, to)
    }

    /// Time of the last event.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// What snapshots do not have, in words: the heaps of the programs' own, of the whole recording.
    pub fn remarks(&self, tables: &Tables) -> Vec<String> {
        let mut remarks: Vec<String> =
            self.pools.iter().take(POOLS).map(|pool| remark(pool, tables.string(pool.name))).collect();
        if let rest @ 1.. = self.pools.len().saturating_sub(POOLS) {
            remarks
                .push(format!("{} of the program's own had blocks, too.", counted(rest as u64, "more heap")));
        }
        remarks
    }

    fn pass_on<T: Teller>(&self, load: &Load<'_>, event: &Event, to: &mut T) -> Result<(), T::Error> {
        match process_of(load.tables(), event) {
            Some(process) => to.tell(event.time, process, event.action),
            None => Ok(()),
        }
    }

    fn snapshot<T: Teller>(&mut self, load: &mut Load<'_>, time: u64, to: &mut T) -> Result<(), T::Error> {
        let first = &mut self.first;
        self.totals.take(load, |process, action| {
            first.get_or_insert(process);
            to.tell(time, process, action)
        })?;
        // Before the first process there is nothing that could be told.
        self.first.map_or(Ok(()), |process| to.tell(time, process, Action::Snapshot))
    }
}

fn remark(pool: &PoolProfile, name: &str) -> String {
    let left = pool.leaked + pool.uncertain;
    format!(
        "Heap {name} of the program's own: {} of {}, {}, at most {} held, {} of {} left. Of its stacks and moments nothing is kept.",
        counted(pool.allocated.blocks, "allocation"),
        bytes(pool.allocated.bytes),
        counted(pool.freed.blocks, "free"),
        bytes(pool.peak.held.bytes),
        counted(left.blocks, "block"),
        bytes(left.bytes)
    )
}

fn process_of(tables: &Tables, event: &Event) -> Option<ProcessId> {
    tables.threads.get(event.thread.index()).map(|thread| thread.process)
}
