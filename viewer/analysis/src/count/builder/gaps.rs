//! Intervals in which a thread's events were lost.

use super::ProfileBuilder;
use crate::count::watch::Watch;
use capture::{ProcessId, ThreadId};

impl<W: Watch> ProfileBuilder<'_, W> {
    pub(super) fn gap_begin(&mut self, process: ProcessId, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        state.allocates(None);
        if !std::mem::replace(&mut state.in_gap, true) {
            state.gaps = state.gaps.wrapping_add(1);
            self.processes[process.index()].open_gap();
        }
    }

    pub(super) fn gap_end(&mut self, process: ProcessId, thread: ThreadId) {
        // An end without a beginning is a gap whose beginning was lost as well.
        self.gap_begin(process, thread);
        self.threads[thread.index()].in_gap = false;
        self.processes[process.index()].close_gap();
    }
}
