//! The two halves of a `realloc`.
//!
//! What happens to the block, by address and in the sums:
//!
//! ```text
//!                 Begin(old)            End(new)
//!  by address  old ─┤                     ├─ new        old's address may be handed out in between
//!  live, peak  old ───────────────────────┤
//!                                         ├─ new        moved: new counts before old leaves, a copy holds both
//!  counted                              one free, one allocation
//! ```

use super::Load;
use super::calls::Allocation;
use crate::analysis::heap::Block;
use crate::analysis::thread::Pending;
use capture::{Event, ProcessId, ReallocOutcome, ThreadId};

impl Load<'_> {
    pub(super) fn realloc_begin(&mut self, process: ProcessId, thread: ThreadId, address: u64, serial: u16) {
        while let Some(abandoned) = self.threads[thread.index()].take_abandoned(serial) {
            if let Some(block) = abandoned.block {
                self.end_uncounted(process, block);
            }
        }
        let process = &mut self.processes[process.index()];
        let block = process.remove(address);
        let state = &mut self.threads[thread.index()];
        state.pending.push(Pending { serial, address, block, gaps: state.gaps });
        if !state.listed {
            state.listed = true;
            process.reallocating.push(thread);
        }
    }

    pub(super) fn realloc_end(
        &mut self,
        process: ProcessId,
        event: &Event,
        serial: u16,
        outcome: ReallocOutcome,
    ) {
        let pending = self.threads[event.thread.index()].take(serial);
        match outcome {
            ReallocOutcome::Failed => {
                if let Some(block) = pending.and_then(|pending| pending.block) {
                    self.restore(process, block);
                }
            }
            ReallocOutcome::Freed => self.realloc_free(process, pending),
            ReallocOutcome::Block { address, size, stack } => {
                let thread = event.thread;
                let call = Allocation { process, thread, address, size, stack, time: event.time };
                if pending.is_some_and(|pending| pending.address == address) {
                    self.realloc_free(process, pending);
                    self.allocate(call);
                } else {
                    self.allocate(call);
                    self.realloc_free(process, pending);
                }
            }
        }
    }

    /// The free half of a `realloc` that succeeded. Where its beginning was not recorded, a gap explains that, or
    /// nothing does.
    pub(super) fn realloc_free(&mut self, process: ProcessId, pending: Option<Pending>) {
        match pending {
            Some(Pending { block: Some(block), .. }) => self.free_known(process, block),
            Some(Pending { address, block: None, .. }) => self.free_unknown(process, address),
            None => {
                let state = &mut self.processes[process.index()];
                state.anomalies.unmatched_frees += u64::from(!state.has_gaps());
            }
        }
    }

    /// Puts the block of a failed `realloc` back. Its bytes never left the sums.
    pub(super) fn restore(&mut self, process: ProcessId, mut block: Block) {
        let state = &mut self.processes[process.index()];
        if state.heap.get(block.address).is_some() {
            return self.end_uncounted(process, block);
        }
        block.forks = state.lineage.forks;
        state.insert(block);
    }
}
