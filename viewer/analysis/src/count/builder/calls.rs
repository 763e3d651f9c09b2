//! Allocations and frees.

use super::ProfileBuilder;
use crate::base::cost::Part;
use crate::count::heap::{Block, MAX_BLOCK};
use crate::count::lineage;
use crate::count::sites::SiteId;
use crate::count::watch::{Birth, End, Instant, InvalidFree, Watch};
use capture::{BlockNumber, NodeId, ProcessId, ThreadId, Vacancy};

/// A call that returned a block.
#[derive(Clone, Copy)]
pub(super) struct Allocation {
    pub(super) process: ProcessId,
    pub(super) thread: ThreadId,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) stack: NodeId,
}

impl Allocation {
    /// The same for observers.
    #[inline]
    pub(super) fn birth(&self, at: Instant) -> Birth {
        let Self { process, thread, address, size, alignment, stack } = *self;
        Birth { at, process, thread, node: stack, address, size, alignment }
    }
}

impl<W: Watch> ProfileBuilder<'_, W> {
    /// A new block, which a `realloc` may have made from an old one.
    pub(super) fn allocate(&mut self, mut call: Allocation, old: Option<&Block<W::Attached>>) {
        call.size = call.size.min(MAX_BLOCK);
        let Allocation { process, thread, address, size, .. } = call;
        let site = self.site_of(&call);
        let vacancy = match self.processes[process.index()].heap.vacancy(address) {
            Some(vacancy) => vacancy,
            None => self.displace(process, address),
        };
        let attached = self.tell_born(&call, site, old);
        let state = &mut self.processes[process.index()];
        let block = Block {
            address,
            size,
            site,
            thread,
            gap_edges: state.gap_edges,
            forks: state.lineage.forks,
            number: BlockNumber(self.blocks.wrapping_sub(1)),
            attached,
        };
        state.heap.fill(vacancy, block);
        let pauses = state.pause_number;
        let thread = &mut self.threads[thread.index()];
        thread.pauses = pauses;
        thread.allocates(Some(address));
        self.count_part(site, Part::Allocated, size);
        self.hold(process, site, size);
    }

    /// The row that a block counts in.
    #[inline]
    fn site_of(&mut self, call: &Allocation) -> SiteId {
        match &self.only {
            Some(only) if !only(&call.birth(self.instant())) => self.sites.rest(call.process),
            _ => self.sites.of(call.process, call.thread, call.stack),
        }
    }

    #[inline]
    pub(super) fn free(
        &mut self,
        process: ProcessId,
        thread: ThreadId,
        address: u64,
        stack: NodeId,
    ) -> Option<BlockNumber> {
        let Some(block) = self.processes[process.index()].remove(address) else {
            self.free_unknown(&InvalidFree { process, thread, address, stack });
            return None;
        };
        let pauses = self.processes[process.index()].pause_number;
        let was_last = self.forget_last(block.thread, address).is_some();
        let is_temporary =
            was_last && block.thread == thread && self.threads[thread.index()].pauses == pauses;
        if is_temporary {
            self.count_part(block.site, Part::Temporary, block.size);
        }
        let freed = block.number;
        self.free_known(process, block, End::Freed { thread, stack, is_temporary });
        Some(freed)
    }

    /// A block that is freed or being resized is no longer its thread's last allocation: a later block at its address
    /// is another one, even if a failed realloc restores it. If it was its thread's last, returns that thread's
    /// number of allocations.
    #[inline]
    pub(super) fn forget_last(&mut self, owner: ThreadId, address: u64) -> Option<u32> {
        let owner = self.threads.get_mut(owner.index())?;
        owner.last.take_if(|last| *last == address).map(|_| owner.allocations)
    }

    pub(super) fn free_known(&mut self, process: ProcessId, block: Block<W::Attached>, end: End) {
        self.count_part(block.site, Part::Freed, block.size);
        if self.counts_frees {
            self.count_free(process, &block, end);
        }
        self.release(process, &block);
        self.tell_died(process, &block, end);
    }

    /// Counts a free at the stack that freed, if the block counts.
    fn count_free(&mut self, process: ProcessId, block: &Block<W::Attached>, end: End) {
        if let End::Freed { thread, stack, .. } | End::Resized { thread, stack, .. } = end
            && !self.sites.get(block.site).is_rest
        {
            let site = self.sites.of(process, thread, stack);
            self.count_part(site, Part::Frees, block.size);
        }
    }

    #[cold]
    pub(super) fn free_unknown(&mut self, free: &InvalidFree) {
        let &InvalidFree { process, address, .. } = free;
        let inherited = lineage::release(&mut self.processes, process, address);
        let state = &mut self.processes[process.index()];
        let (has_gaps, was_paused) = (state.has_gaps(), state.was_paused);
        let attached = state.attached;
        let anomalies = &mut state.anomalies;
        match (inherited, has_gaps, was_paused) {
            (true, _, _) => anomalies.inherited_frees += 1,
            (false, true, _) => anomalies.lost_allocations += 1,
            (false, false, true) => anomalies.paused_allocations += 1,
            (false, false, false) if attached => anomalies.frees_from_before += 1,
            (false, false, false) => {
                anomalies.unmatched_frees += 1;
                self.watch.freed_invalid(self.instant(), free);
            }
        }
    }

    /// Makes room for a block at an address where one is.
    #[cold]
    fn displace(&mut self, process: ProcessId, address: u64) -> Vacancy {
        if let Some(block) = self.processes[process.index()].remove(address) {
            self.end_uncounted(process, block);
        }
        self.processes[process.index()].heap.vacancy(address).expect("the block is gone")
    }

    /// Ends a block whose address was reused although no free of it was recorded.
    #[cold]
    pub(super) fn end_uncounted(&mut self, process: ProcessId, block: Block<W::Attached>) {
        let state = &mut self.processes[process.index()];
        let through_gap = state.lived_through_gap(&block);
        if through_gap && state.has_gaps() {
            state.anomalies.lost_frees += 1;
        } else if through_gap {
            state.anomalies.paused_frees += 1;
        } else {
            state.anomalies.conflicts += 1;
        }
        self.release(process, &block);
        self.tell_died(process, &block, End::Displaced { through_gap });
    }
}
