//! Processes, threads and stacks that a pass learns of while it goes on.

use super::{ProfileBuilder, process_profile};
use crate::base::cost::{Amount, Cost};
use crate::count::estimate::Rounding;
use crate::count::process::{Phase, ProcessState};
use crate::count::profile::{Profile, Site, Span};
use crate::count::row_totals::{ProcessAnomalies, RowTotals};
use crate::count::thread::ThreadState;
use crate::count::watch::Watch;
use capture::{Process, ProcessId, Tables, Thread, ThreadId};

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Continues with the tables of the capture as they are now: those of before, possibly grown.
    pub fn grow(&mut self, tables: &Tables) {
        self.reported.grow(&tables.metadata);
        self.set_nodes(tables.nodes.len());
        for (index, row) in tables.processes.iter().enumerate() {
            self.set_process(ProcessId::from_index(index), row);
        }
        for (index, row) in tables.threads.iter().enumerate() {
            self.set_thread(ThreadId::from_index(index), row);
        }
    }

    /// The capture has this many stacks, the empty one included.
    #[inline]
    pub fn set_nodes(&mut self, nodes: usize) {
        self.sites.grow(nodes);
    }

    /// Reserves room for a recording of which nobody knows how many stacks it will have: more than most.
    pub(crate) fn make_room(&mut self) {
        self.sites.make_room(1 << 18);
    }

    /// Adds the next process, or says something else of one.
    pub fn set_process(&mut self, process: ProcessId, row: &Process) {
        match self.processes.get_mut(process.index()) {
            Some(state) => state.note_row(row),
            None => self.processes.push(ProcessState::new(self.sites.seed(), row)),
        }
    }

    /// Adds the next thread, or says something else of one.
    pub fn set_thread(&mut self, thread: ThreadId, row: &Thread) {
        match self.owners.get_mut(thread.index()) {
            Some(owner) => *owner = row.process,
            None => {
                self.owners.push(row.process);
                self.threads.push(ThreadState::default());
            }
        }
    }

    /// The present numbers of all rows. Each keeps its place.
    pub fn row_totals(&self) -> impl Iterator<Item = RowTotals> + '_ {
        self.sites.rows().iter().map(|row| RowTotals {
            process: row.process,
            node: row.node,
            held: row.held,
            allocated: row.cost.allocated,
            freed: row.cost.freed,
            temporary: row.cost.temporary,
            left: row.cost.leaked + row.cost.uncertain,
        })
    }

    /// What running processes hold and have allocated at this moment. Of the parts of a cost it has those that need
    /// no look at single blocks: `leaked` is all that is live. Processes that have ended hold nothing.
    // Cost: a copy of each row; blocks are not looked at.
    pub fn so_far(&self) -> Profile {
        let mut profile = Profile {
            sampling: self.sampling,
            span: Span::At(self.instant()),
            events: self.events - self.skipped,
            last_time: self.last_time,
            processes: self.processes.iter().map(|state| process_profile(state, self.estimator)).collect(),
            ..Profile::default()
        };
        let mut rounding = Rounding::new(self.estimator);
        profile.sites.reserve_exact(self.sites.len());
        for row in self.sites.rows().iter().filter(|row| !row.is_rest) {
            let is_over = self.processes[row.process.index()].phase == Phase::Ended;
            let Cost { allocated, freed, temporary, .. } = row.cost;
            let leaked = if is_over { Amount::ZERO } else { row.held };
            let cost = rounding.row(Cost { allocated, freed, temporary, leaked, ..Cost::default() });
            profile.total += cost;
            profile.processes[row.process.index()].cost += cost;
            profile.sites.push(Site { process: row.process, thread: row.thread(), node: row.node, cost });
        }
        profile
    }

    /// What is odd about a process so far; nothing for an unknown one.
    pub fn process_anomalies(&self, process: ProcessId) -> ProcessAnomalies {
        let state = self.processes.get(process.index());
        state.map_or_else(ProcessAnomalies::default, |state| ProcessAnomalies {
            anomalies: state.anomalies,
            gaps: state.gaps,
        })
    }

    /// A sum of row amounts, in whole blocks.
    pub fn whole(&self, sum: Amount) -> Amount {
        self.estimator.whole(sum)
    }

    /// What all processes together hold now.
    pub fn held(&self) -> Amount {
        self.estimator.whole(self.peak.held())
    }
}
