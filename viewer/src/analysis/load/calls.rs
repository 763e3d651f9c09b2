//! Allocations and frees.

use super::Load;
use crate::analysis::cost::Part;
use crate::analysis::heap::Block;
use crate::analysis::lineage;
use capture::{NodeId, ProcessId, ThreadId};

/// No block is larger than the address space of a process.
const MAX_SIZE: u64 = 1 << 47;

/// A call that returned a block.
#[derive(Clone, Copy)]
pub(super) struct Allocation {
    pub(super) process: ProcessId,
    pub(super) thread: ThreadId,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) stack: NodeId,
    pub(super) time: u64,
}

impl Load<'_> {
    pub(super) fn allocate(&mut self, call: Allocation) {
        let size = call.size.min(MAX_SIZE);
        let site = self.sites.of(call.process, call.stack);
        let state = &mut self.processes[call.process.index()];
        let displaced = state.insert(Block {
            address: call.address,
            size,
            site,
            thread: call.thread,
            gap_edges: state.gap_edges,
            forks: state.lineage.forks,
        });
        if let Some(block) = displaced {
            self.end_uncounted(call.process, block);
        }
        self.threads[call.thread.index()].last = Some(call.address);
        self.sites.count(site, Part::Allocated, self.estimator.count(size));
        self.hold(call.process, site, size, call.time);
    }

    pub(super) fn free(&mut self, process: ProcessId, thread: ThreadId, address: u64) {
        let Some(block) = self.processes[process.index()].remove(address) else {
            return self.free_unknown(process, address);
        };
        let last = &mut self.threads[thread.index()].last;
        if *last == Some(address) && block.thread == thread {
            *last = None;
            self.sites.count(block.site, Part::Temporary, self.estimator.count(block.size));
        }
        self.free_known(process, block);
    }

    pub(super) fn free_known(&mut self, process: ProcessId, block: Block) {
        self.sites.count(block.site, Part::Freed, self.estimator.count(block.size));
        self.release(process, block);
    }

    #[cold]
    pub(super) fn free_unknown(&mut self, process: ProcessId, address: u64) {
        let inherited = lineage::release(&mut self.processes, process, address);
        let state = &mut self.processes[process.index()];
        let lost = state.has_gaps();
        let anomalies = &mut state.anomalies;
        match (inherited, lost) {
            (true, _) => anomalies.inherited_frees += 1,
            (false, true) => anomalies.lost_allocations += 1,
            (false, false) => anomalies.unmatched_frees += 1,
        }
    }

    /// Ends a block whose address was handed out again although no free of it was recorded.
    #[cold]
    pub(super) fn end_uncounted(&mut self, process: ProcessId, block: Block) {
        let state = &mut self.processes[process.index()];
        if state.lived_through_gap(&block) {
            state.anomalies.lost_frees += 1;
        } else {
            state.anomalies.conflicts += 1;
        }
        self.release(process, block);
    }
}
