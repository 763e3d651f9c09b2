//! Prefetches the memory that the next events will need.
//!
//! With a large heap, counting an event misses the cache twice, for the block and then for its row, and each event
//! waits for the one before. Independent reads overlap. So for a few events, what says where their blocks are, then the
//! blocks, then their rows, are read before the events are counted; the values are discarded, but the memory is in the
//! cache afterwards:
//!
//! ```text
//!  32 events ──► where their blocks are ──► these, which say in which rows they count ──► the rows ──► counted
//! ```

use super::ProfileBuilder;
use crate::count::heap::Heap;
use crate::count::process::ProcessState;
use crate::count::sites::SiteId;
use crate::count::watch::Watch;
use capture::{AHEAD, Action, BlockSlot, Event};
use std::hint::black_box;

/// Number of blocks that fits into a core's own caches.
const SMALL: usize = 1 << 14;

/// What says in which row an event counts.
#[derive(Clone, Copy)]
enum Place<'h, K> {
    /// The event's stack, if its row exists.
    Row(Option<SiteId>),
    /// The block that it frees.
    Block(&'h Heap<K>, BlockSlot),
}

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Counts the next events, as [`ProfileBuilder::event`] does one by one, faster where heaps are large.
    pub fn events(&mut self, events: &[Event]) {
        for window in events.chunks(AHEAD) {
            self.look_ahead(window);
            for event in window {
                self.event(event);
            }
        }
    }

    /// Reads what counting the next events, [`AHEAD`] at most, will read, if the heap is large.
    #[inline]
    pub(crate) fn look_ahead(&self, events: &[Event]) {
        // Without sums there are fewer cache misses: with some ten thousand blocks, prefetching costs more than it
        // saves.
        let small = if W::SUMS { SMALL } else { 16 * SMALL };
        let heap = events.first().and_then(|event| self.heap_of(event));
        if heap.is_some_and(|process| process.heap.len() >= small) {
            self.prefetch(events);
        }
    }

    // Cost: the loads of one loop do not depend on each other, so the processor waits for all of them at once.
    #[inline(never)]
    fn prefetch(&self, events: &[Event]) {
        let mut places = [Place::Row(None); AHEAD];
        let mut added = 0;
        for (place, event) in places.iter_mut().zip(events) {
            *place = self.place_of(event, &mut added);
        }
        let mut rows = [None; AHEAD];
        for (row, place) in rows.iter_mut().zip(places) {
            *row = match place {
                Place::Row(row) => row,
                Place::Block(heap, slot) => heap.glance(slot),
            };
        }
        black_box(rows.iter().flatten().fold(0, |all, row| all ^ self.sites.glance(*row)));
    }

    /// What says in which row an event will most likely count. `added` is how many blocks there are more by then.
    #[inline(always)]
    fn place_of(&self, event: &Event, added: &mut usize) -> Place<'_, W::Attached> {
        let place = match event.action {
            Action::Alloc { address, stack, .. } => self.heap_of(event).map(|process| {
                // The address is not in the heap as a rule: the probe reads the slot where the new block will go.
                black_box(process.heap.slot(address));
                process.heap.glance_at_hole(*added);
                *added += 1;
                Place::Row(self.sites.last_of(stack))
            }),
            Action::Free { address, .. } | Action::ReallocBegin { address, .. } => {
                *added = added.saturating_sub(1);
                let process = self.heap_of(event);
                process.and_then(|process| Some(Place::Block(&process.heap, process.heap.slot(address)?)))
            }
            _ => None,
        };
        place.unwrap_or(Place::Row(None))
    }

    fn heap_of(&self, event: &Event) -> Option<&ProcessState<W::Attached>> {
        self.processes.get(self.owners.get(event.thread.index())?.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::profile::Profile;
    use capture::{FrameId, Node, NodeId, Process, ProcessId, Tables, Thread, ThreadId};

    /// Check that prefetching changes nothing, in a heap that is large enough for it, including events with threads,
    /// stacks and frees that the capture does not define.
    #[test]
    fn sums_are_those_of_single_events() {
        let mut tables = Tables::default();
        tables.processes.push(Process::default());
        tables.threads.extend((0..3).map(|_| Thread { process: ProcessId(0), ..Thread::default() }));
        tables.threads[2].process = ProcessId(9);
        tables.nodes = vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }; 50];
        let mut random = 1_u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) % limit
        };
        let events: Vec<Event> = (0..10 * SMALL as u64)
            .map(|time| {
                let address = 16 * below(4 * SMALL as u64);
                let stack = NodeId(below(60) as u32);
                let action = match below(3) {
                    0 => Action::Free { address, stack },
                    _ => Action::Alloc { address, size: below(1000), alignment: 0, stack },
                };
                Event { time, thread: ThreadId(below(4) as u32), action }
            })
            .collect();
        let count = |hand_over: &dyn Fn(&mut ProfileBuilder<'_>)| -> Profile {
            let mut builder = ProfileBuilder::new(&tables);
            hand_over(&mut builder);
            assert!(builder.processes[0].heap.len() > SMALL, "a heap that is looked ahead in");
            builder.finish()
        };
        let one_by_one = count(&|builder| {
            for event in &events {
                builder.event(event);
            }
        });
        let together = count(&|builder| events.chunks(1000).for_each(|some| builder.events(some)));
        assert_eq!(format!("{one_by_one:?}"), format!("{together:?}"));
    }
}
