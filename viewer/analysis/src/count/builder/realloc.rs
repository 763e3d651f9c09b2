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

use super::ProfileBuilder;
use super::calls::Allocation;
use crate::count::heap::Block;
use crate::count::thread::Pending;
use crate::count::watch::{End, InvalidFree, Stage, Watch};
use capture::{BlockNumber, NodeId, ProcessId, ReallocOutcome, ThreadId};

/// The rest of a `realloc` of which only the new block was counted.
#[derive(Clone, Copy)]
pub(super) struct Copying {
    process: ProcessId,
    thread: ThreadId,
    serial: u16,
    end: End,
}

impl<W: Watch> ProfileBuilder<'_, W> {
    pub(super) fn realloc_begin(
        &mut self,
        process: ProcessId,
        thread: ThreadId,
        address: u64,
        serial: u16,
    ) -> Option<BlockNumber> {
        let pauses = self.processes[process.index()].pause_number;
        while let Some(abandoned) = self.threads[thread.index()].take_abandoned(serial, pauses) {
            if let Some(block) = abandoned.block {
                self.end_uncounted(process, block);
            }
        }
        let block = self.processes[process.index()].remove(address);
        let freed = block.as_ref().map(|block| block.number);
        let was_last = block.as_ref().and_then(|block| self.forget_last(block.thread, address));
        let state = &mut self.threads[thread.index()];
        state.pending.push(Pending { serial, address, block, was_last, gaps: state.interruptions(pauses) });
        if !state.listed {
            state.listed = true;
            self.processes[process.index()].reallocating.push(thread);
        }
        freed
    }

    pub(super) fn realloc_end(
        &mut self,
        process: ProcessId,
        thread: ThreadId,
        serial: u16,
        outcome: ReallocOutcome,
    ) {
        let pending = self.threads[thread.index()].take(serial);
        match outcome {
            ReallocOutcome::Failed => {
                if let Some(Pending { block: Some(block), was_last, .. }) = pending {
                    self.restore(process, block, was_last);
                }
            }
            ReallocOutcome::Freed => {
                let end = End::Freed { thread, stack: NodeId::ROOT, is_temporary: false };
                self.realloc_free((process, thread), pending, end);
            }
            ReallocOutcome::Block { address, size, stack } => {
                let call = Allocation { process, thread, address, size, alignment: 0, stack };
                let end = End::Resized { thread, stack, address, size };
                let old = pending.and_then(|pending| pending.block);
                if pending.is_some_and(|pending| pending.address == address) {
                    self.realloc_free((process, thread), pending, end);
                    self.allocate(call, old.as_ref());
                } else {
                    self.stage = if old.is_some() { Stage::Copying } else { Stage::Over };
                    self.allocate(call, old.as_ref());
                    self.stage = Stage::Over;
                    match pending {
                        Some(pending) if self.stops_at_copy && old.is_some() => {
                            // Whoever looks at this moment finds a `realloc` under way.
                            self.threads[thread.index()].pending.push(pending);
                            self.copying = Some(Copying { process, thread, serial, end });
                        }
                        pending => self.realloc_free((process, thread), pending, end),
                    }
                }
            }
        }
    }

    /// Counts the next events, each of which may be a `realloc` that moves its block: up to its copy, while both
    /// blocks exist. [`Self::copied`] counts the rest.
    pub fn up_to_copy(&mut self, count: impl FnOnce(&mut Self)) {
        self.stops_at_copy = true;
        count(self);
        self.stops_at_copy = false;
    }

    /// The rest of the `realloc` that was counted up to its copy, if the last event was one.
    pub fn copied(&mut self) {
        if let Some(Copying { process, thread, serial, end }) = self.copying.take() {
            let pending = self.threads[thread.index()].take(serial);
            self.realloc_free((process, thread), pending, end);
        }
    }

    /// The free half of a successful `realloc`. If its beginning was not recorded, either a gap explains that, or it
    /// is an anomaly.
    pub(super) fn realloc_free(
        &mut self,
        (process, thread): (ProcessId, ThreadId),
        pending: Option<Pending<W::Attached>>,
        end: End,
    ) {
        match pending {
            Some(Pending { block: Some(block), .. }) => self.free_known(process, block, end),
            Some(Pending { address, block: None, .. }) => {
                let stack = if let End::Resized { stack, .. } = end { stack } else { NodeId::ROOT };
                self.free_unknown(&InvalidFree { process, thread, address, stack });
            }
            None => {
                let state = &mut self.processes[process.index()];
                let is_explained = state.has_gaps() || state.was_paused;
                state.anomalies.unmatched_frees += u64::from(!is_explained);
            }
        }
    }

    /// Restores the block of a failed `realloc`. Its bytes never left the sums. If its thread has allocated nothing
    /// since, it is that thread's last allocation again.
    fn restore(&mut self, process: ProcessId, mut block: Block<W::Attached>, was_last: Option<u32>) {
        let state = &mut self.processes[process.index()];
        if state.heap.get(block.address).is_some() {
            return self.end_uncounted(process, block);
        }
        block.forks = state.lineage.forks;
        let (owner, address) = (block.thread, block.address);
        state.heap.insert(block);
        if let Some(owner) = self.threads.get_mut(owner.index())
            && was_last == Some(owner.allocations)
        {
            owner.last = Some(address);
        }
    }
}
