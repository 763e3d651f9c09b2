//! Images, processes and threads come and go.

use super::Pipeline;
use super::known::{Known, Owner};
use crate::drain::message::{Arrival, Counters, Lifecycle, Message};
use crate::image::{End, ImageId};
use capture::{Action, Error, ThreadId};
use std::sync::atomic::Ordering;

impl Pipeline {
    /// Takes in a message that is not a record.
    pub(super) fn note(&mut self, message: Message) -> Result<(), Error> {
        if !matches!(message.event, Lifecycle::Image(_) | Lifecycle::Finished) {
            self.timeline.advance(message.time);
        }
        match message.event {
            Lifecycle::Image(image) => {
                self.timeline.met(image.info.connected, &mut self.writer)?;
                self.images.add(message.image, Known::new(image, self.files.clone()));
                self.has_met = true;
                Ok(())
            }
            Lifecycle::Started(arrival) => self.started(message.image, &arrival, self.timeline.last()),
            Lifecycle::Ended { slot, end, since, counters } => {
                self.ended(message.image, slot, (end, since), &counters)
            }
            Lifecycle::Finished => self.finished(message.image),
        }
    }

    fn started(&mut self, image: ImageId, arrival: &Arrival, time: u64) -> Result<(), Error> {
        let Some(known) = self.images.get(image) else { return Ok(()) };
        known.has_started = true;
        if self.processes.start(&known.image, arrival, time, &mut self.writer)? {
            known.modules.find_all(&known.segment, &mut self.writer)?;
        }
        Ok(())
    }

    /// Enters the process that connected, if it has recorded nothing that would have done so.
    fn started_silently(&mut self, image: ImageId) -> Result<(), Error> {
        let Some(known) = self.images.get(image).filter(|known| !known.has_started) else { return Ok(()) };
        let slot_process = known.image.slot_process(0, known.image.info.ns_pid);
        let arrival = slot_process.map(|slot_process| Arrival { slot: 0, slot_process, origin: None });
        let time = self.timeline.clock().nanoseconds(known.image.info.connected);
        arrival.map_or(Ok(()), |arrival| self.started(image, &arrival, time))
    }

    fn ended(
        &mut self,
        image: ImageId,
        slot: u32,
        (mut end, since): (End, u64),
        counters: &Counters,
    ) -> Result<(), Error> {
        self.started_silently(image)?;
        let (mut threads, mut records) = (Vec::new(), 0);
        if let Some(known) = self.images.get(image) {
            if end == End::Running {
                end = self.processes.end_by_now(&known.image, slot);
            }
            known.modules.find_all(&known.segment, &mut self.writer)?;
            if slot == 0 {
                self.addresses.made.extend(known.modules.jit_reports());
            }
            known.pools.forget(slot);
            threads = known.leave_all(slot);
            records = known.records.remove(&slot).unwrap_or(0);
        }
        threads.iter().for_each(|owner| self.processes.leave(owner.thread));
        self.totals.add(counters, records);
        let last = self.timeline.last();
        let since = self.timeline.clock().nanoseconds(since).max(last);
        let Some(process) = self.processes.end(image, slot, end, last..=since, &mut self.writer)? else {
            return Ok(());
        };
        // A process that never had a thread has no events either.
        match threads.first().map(|owner| owner.thread).or(self.processes.last_thread(process)) {
            Some(thread) => self.write(thread, Action::ProcessEnd { process }),
            None => Ok(()),
        }
    }

    fn finished(&mut self, image: ImageId) -> Result<(), Error> {
        self.started_silently(image)?;
        let Some(mut known) = self.images.remove(image) else { return Ok(()) };
        let totals = &mut self.totals;
        totals.shared_memory += known.image.memory.used();
        // Relaxed: a count of processes that have since gone on unrecorded.
        totals.refused += u64::from(known.segment.header().refused.load(Ordering::Relaxed));
        totals.full_logs += u64::from(known.segment.modules().is_full());
        totals.corrupt += known.stacks.corrupt;
        self.addresses.take(&mut known.modules);
        self.addresses.made.extend(known.modules.jit_reports());
        Ok(())
    }

    /// A thread takes over a ring.
    pub(super) fn owner(&mut self, image: ImageId, ring: u32, slot: u32, tid: u32) -> Result<(), Error> {
        let Some((process, begins)) = self.processes.owner(image, slot) else {
            self.totals.corrupt += 1;
            return Ok(());
        };
        let before = self.images.get(image).and_then(|known| known.leave(ring));
        if let Some(before) = before {
            // The previous owner could not report its end.
            self.left(before.thread)?;
        }
        let thread = self.processes.thread(process, tid, &mut self.writer)?;
        if let Some(known) = self.images.get(image) {
            known.take_over(ring, Owner { slot, thread, records: 0, execing: false });
        }
        if let Some(fork) = begins {
            self.write(thread, Action::ProcessStart { process, fork })?;
        }
        self.write(thread, Action::ThreadStart)
    }

    /// A thread stops writing to its ring.
    pub(super) fn left(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.processes.rename(thread, &mut self.writer)?;
        self.processes.leave(thread);
        self.write(thread, Action::ThreadEnd)
    }
}
