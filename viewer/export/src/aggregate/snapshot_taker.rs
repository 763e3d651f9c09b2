//! Condenses all events to those of an aggregated capture.

use analysis::format::{bytes, counted};
use analysis::{PoolProfile, ProfileBuilder, Totals};
use capture::{Action, Event, ProcessId, Tables};

/// After this many snapshots the distance between them doubles.
pub const RUN: u32 = 360;

/// Marks between two regular snapshots that get a snapshot of their own; further ones share the snapshot before them.
const MARKS: u32 = 16;

/// The programs' own heaps (pools) that are reported individually.
const POOLS: usize = 64;

/// Receives the content of an aggregated capture.
pub trait Receiver {
    /// The receiver's error.
    type Error;

    /// Receives an action of a process at this time.
    ///
    /// # Errors
    /// Whatever the receiver fails with.
    fn receive(&mut self, time: u64, process: ProcessId, action: Action) -> Result<(), Self::Error>;
}

/// Counts events, and at each snapshot hands over what has changed.
#[derive(Debug)]
pub struct SnapshotTaker {
    totals: Totals,
    every: u64,
    due: u64,
    /// Snapshots taken at the present distance.
    taken: u32,
    /// Snapshots for marks since the last regular one.
    marks: u32,
    /// The programs' own heaps, at the end.
    pools: Vec<PoolProfile>,
    /// The process that events about all processes are attributed to: the first one there is.
    first: Option<ProcessId>,
    last: u64,
}

impl SnapshotTaker {
    /// With this many nanoseconds between the first snapshots.
    pub fn new(every: u64) -> Self {
        let every = every.max(1);
        let (totals, pools, first) = (Totals::default(), Vec::new(), None);
        Self { totals, every, due: every, taken: 0, marks: 0, pools, first, last: 0 }
    }

    /// Counts the next event.
    ///
    /// # Errors
    /// Those of the receiver.
    // Cost: one comparison on top of the pass, unless a snapshot is due.
    pub fn event<T: Receiver>(
        &mut self,
        builder: &mut ProfileBuilder<'_>,
        event: &Event,
        to: &mut T,
    ) -> Result<(), T::Error> {
        while event.time >= self.due {
            self.snapshot(builder, self.due, to)?;
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
            self.snapshot(builder, event.time, to)?;
        }
        builder.event(event);
        match event.action {
            Action::ProcessStart { process, .. } => {
                self.first.get_or_insert(process);
                // Inherited blocks are not counted, so the fork is left out.
                to.receive(event.time, process, Action::ProcessStart { process, fork: 0 })
            }
            Action::ProcessEnd { process } => to.receive(event.time, process, event.action),
            Action::Mark { .. } => {
                if self.marks < MARKS {
                    self.marks += 1;
                    self.snapshot(builder, event.time, to)?;
                }
                self.pass_on(builder, event, to)
            }
            Action::Pause | Action::Resume => self.pass_on(builder, event, to),
            _ => Ok(()),
        }
    }

    /// Takes the last snapshot, when there are no more events.
    ///
    /// # Errors
    /// Those of the receiver.
    pub fn finish<T: Receiver>(
        &mut self,
        builder: &mut ProfileBuilder<'_>,
        to: &mut T,
    ) -> Result<(), T::Error> {
        self.pools = builder.pools_so_far();
        self.snapshot(builder, self.last, to)
    }

    /// Time of the last event.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// What snapshots cannot hold, in words: the programs' own heaps, over the whole recording.
    pub fn remarks(&self, tables: &Tables) -> Vec<String> {
        let mut remarks: Vec<String> =
            self.pools.iter().take(POOLS).map(|pool| remark(pool, tables.string(pool.name))).collect();
        if let rest @ 1.. = self.pools.len().saturating_sub(POOLS) {
            remarks.push(format!("{} also had blocks.", counted(rest as u64, "more pool")));
        }
        remarks
    }

    fn pass_on<T: Receiver>(
        &self,
        builder: &ProfileBuilder<'_>,
        event: &Event,
        to: &mut T,
    ) -> Result<(), T::Error> {
        match builder.owner(event.thread) {
            Some(process) => to.receive(event.time, process, event.action),
            None => Ok(()),
        }
    }

    fn snapshot<T: Receiver>(
        &mut self,
        builder: &mut ProfileBuilder<'_>,
        time: u64,
        to: &mut T,
    ) -> Result<(), T::Error> {
        let first = &mut self.first;
        self.totals.take(builder, |process, action| {
            first.get_or_insert(process);
            to.receive(time, process, action)
        })?;
        // Before the first process there is nothing to report.
        self.first.map_or(Ok(()), |process| to.receive(time, process, Action::Snapshot))
    }
}

fn remark(pool: &PoolProfile, name: &str) -> String {
    let left = pool.leaked + pool.uncertain;
    format!(
        "Pool {name}: {} of {}, {}, at most {} held, {} of {} left. Its stacks and moments are not recorded.",
        counted(pool.allocated.blocks, "allocation"),
        bytes(pool.allocated.bytes),
        counted(pool.freed.blocks, "free"),
        bytes(pool.peak.held.bytes),
        counted(left.blocks, "block"),
        bytes(left.bytes)
    )
}
