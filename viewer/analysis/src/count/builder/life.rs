//! Beginnings and ends of process images.

use super::ProfileBuilder;
use super::observer::life;
use crate::base::cost::{Amount, Part};
use crate::count::heap::Block;
use crate::count::lineage;
use crate::count::process::{Phase, ProcessState};
use crate::count::watch::{Death, End, Instant, Left, Watch};
use capture::{Ended, ProcessId};

impl<W: Watch> ProfileBuilder<'_, W> {
    pub(super) fn start(&mut self, process: ProcessId, fork: u32) {
        let Some(state) = self.processes.get_mut(process.index()) else {
            self.stray_events += 1;
            return;
        };
        if state.phase != Phase::Unseen {
            self.stray_events += 1;
            return;
        }
        state.phase = Phase::Running;
        let parent = state.row.parent;
        let parent = parent.filter(|parent| *parent != process && parent.index() < self.processes.len());
        if let Some(parent) = parent {
            lineage::inherit(&mut self.processes, parent, process, fork);
            // The child also has the blocks that its parent's recording lacks.
            let ProcessState { had_gaps, was_paused, .. } = self.processes[parent.index()];
            let child = &mut self.processes[process.index()];
            child.had_gaps |= had_gaps;
            child.was_paused |= was_paused;
        }
    }

    /// Ends a heap: its remaining blocks are leaked, uncertain or left behind by exec. `unless_known` is how the
    /// process ended if its row does not say, because the file was truncated before that was written.
    pub(super) fn end(&mut self, process: ProcessId, unless_known: Ended) {
        let running = self.processes.get_mut(process.index()).filter(|state| state.phase != Phase::Ended);
        let Some(state) = running else {
            self.stray_events += 1;
            return;
        };
        state.phase = Phase::Ended;
        if !state.row.has_end {
            state.ended = unless_known;
        }
        let reallocating = std::mem::take(&mut state.reallocating);
        let pending =
            reallocating.iter().flat_map(|thread| std::mem::take(&mut self.threads[thread.index()].pending));
        let in_realloc: Vec<Block<W::Attached>> = pending.filter_map(|pending| pending.block).collect();
        let estimator = self.estimator;
        let count = |block: &Block<W::Attached>| estimator.count(block.size);
        // In an aggregated capture they were reported.
        let told = state.in_realloc;
        state.in_realloc = in_realloc.iter().fold(told, |sum, block| sum + count(block).amount);
        let begun = in_realloc.iter().map(|block| (*block, true));
        for (block, in_realloc) in begun.chain(state.heap.iter().map(|block| (block, false))) {
            let block = &block;
            let (part, left) = match (state.ended, state.lived_through_gap(block)) {
                (Ended::Exec, _) => (Part::AtExec, Left::AtExec),
                (_, true) => (Part::Uncertain, Left::Uncertain),
                (_, false) => (Part::Leaked, Left::Leaked),
            };
            if W::SUMS {
                let counted = count(block);
                self.sites.count(block.site, part, counted);
                self.peak.release(&mut self.sites, block.site, counted);
            }
            if W::LOOKS {
                let at = Instant::after(self.events, self.now);
                let end = End::Left { left, ended: state.ended, in_realloc };
                self.watch.died(&life(&self.sites, process, block), &Death { at, end });
            }
        }
        let ended = state.ended;
        state.held = Amount::ZERO;
        let (open, edges) = (state.open_gaps > 0, state.gap_edges);
        self.pools.end(process, |born| open || born != edges);
        if state.paused_since.is_some() {
            state.resume(self.now);
        }
        let pages = std::mem::take(&mut state.pages).held.cast_signed();
        self.own_pages = self.own_pages.wrapping_sub(pages);
        lineage::let_go(&mut self.processes, process);
        self.end_reported(process, ended);
    }
}
