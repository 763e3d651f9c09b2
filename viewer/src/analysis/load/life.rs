//! Beginnings and ends of process images.

use super::Load;
use crate::analysis::cost::Amount;
use crate::analysis::heap::Block;
use crate::analysis::lineage;
use crate::analysis::process::Phase;
use capture::{Ended, ProcessId};

impl Load<'_> {
    pub(super) fn start(&mut self, process: ProcessId) {
        let row = self.tables.processes.get(process.index());
        let (Some(row), Some(state)) = (row, self.processes.get_mut(process.index())) else {
            self.stray_events += 1;
            return;
        };
        if state.phase != Phase::Unseen {
            self.stray_events += 1;
            return;
        }
        state.phase = Phase::Running;
        let parent = row.parent.filter(|_| row.forked);
        let parent = parent.filter(|parent| *parent != process && parent.index() < self.processes.len());
        if let Some(parent) = parent
            && self.processes[parent.index()].phase == Phase::Running
        {
            lineage::fork(&mut self.processes, parent, process);
        }
    }

    /// Ends a heap: what is left of it is leaked, uncertain or left behind by exec. `unless_known` is how the
    /// process ended where its row does not say: the file was cut before that was written.
    pub(super) fn end(&mut self, process: ProcessId, unless_known: Ended) {
        let Some(state) = self.processes.get_mut(process.index()) else {
            self.stray_events += 1;
            return;
        };
        if state.phase == Phase::Ended {
            self.stray_events += 1;
            return;
        }
        state.phase = Phase::Ended;
        if self.tables.processes[process.index()].end.is_none() {
            state.ended = unless_known;
        }
        let at_exec = state.ended == Ended::Exec;
        let mut left: Vec<Block> = state.heap.iter().copied().collect();
        for thread in std::mem::take(&mut state.reallocating) {
            let pending = std::mem::take(&mut self.threads[thread.index()].pending);
            for block in pending.into_iter().filter_map(|pending| pending.block) {
                state.in_realloc += Amount::block(block.size);
                left.push(block);
            }
        }
        for block in left {
            let amount = Amount::block(block.size);
            let uncertain = self.processes[process.index()].lived_through_gap(&block);
            let cost = &mut self.sites.get_mut(block.site).cost;
            match (at_exec, uncertain) {
                (true, _) => cost.at_exec += amount,
                (false, true) => cost.uncertain += amount,
                (false, false) => cost.leaked += amount,
            }
            self.release(process, block);
        }
        lineage::let_go(&mut self.processes, process);
    }
}
