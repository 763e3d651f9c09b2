//! What the observer of a pass is told.

use super::ProfileBuilder;
use super::calls::Allocation;
use crate::base::cost::Amount;
use crate::count::failures::{Failure, Failures};
use crate::count::heap::Block;
use crate::count::sites::{SiteId, Sites};
use crate::count::watch::{Death, End, Instant, Life, Watch};
use capture::ProcessId;

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Reports a new block to the observer, and returns what to keep with it.
    // Cost: nothing without an observer.
    #[inline]
    pub(super) fn tell_born(
        &mut self,
        call: &Allocation,
        site: SiteId,
        old: Option<&Block<W::Attached>>,
    ) -> W::Attached {
        let mut birth = call.birth(self.instant());
        if W::LOOKS {
            birth.node = self.sites.get(site).node;
        }
        let old = old.filter(|_| W::LOOKS).map(|old| life(&self.sites, call.process, old));
        self.watch.born(&birth, old.as_ref())
    }

    /// Reports a block's end to the observer.
    // Cost: nothing without an observer.
    #[inline]
    pub(super) fn tell_died(&mut self, process: ProcessId, block: &Block<W::Attached>, end: End) {
        if W::LOOKS {
            let (life, at) = (life(&self.sites, process, block), self.instant());
            self.watch.died(&life, &Death { at, end });
        }
    }

    /// Calls of all processes that returned no memory.
    pub(super) fn failures(&self) -> Vec<Failure> {
        self.processes.iter().flat_map(|process| process.failures.iter().cloned()).collect()
    }

    /// What a process holds now, and its calls that returned no memory.
    pub(crate) fn held_and_failures(&mut self, process: ProcessId) -> (Amount, &mut Failures) {
        let state = &mut self.processes[process.index()];
        (self.estimator.whole(state.held), &mut state.failures)
    }

    pub(crate) fn instant(&self) -> Instant {
        Instant::after(self.events, self.now)
    }
}

/// What is known of a block that dies or is resized.
pub(super) fn life<K: Copy>(sites: &Sites, process: ProcessId, block: &Block<K>) -> Life<K> {
    let node = sites.get(block.site).node;
    let Block { address, size, thread, attached, .. } = *block;
    Life { process, thread, node, address, size, attached }
}
