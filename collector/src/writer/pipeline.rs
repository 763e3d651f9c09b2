//! Translates merged records into events of the capture: the only place where wire and file format meet.

mod known;
mod lifecycle;
mod live_heap;
mod marks;
mod samples;
mod scans;
mod so_far;
mod timeline;

pub(crate) use marks::MarkRequest;
pub(crate) use scans::Rest;

use super::annotations::{Names, Pools};
use crate::base::capture_writer::Writer;
use crate::base::clock::Clock;
use crate::cpu;
use crate::drain::batch::{Batch, Part, Run};
use crate::drain::image_drain::Counts;
use crate::image::ImageId;
use crate::proc::out_of_memory::OutOfMemory;
use crate::proc::pid_map::ProcScan;
use crate::tables::addresses::Addresses;
use crate::tables::modules::KnownFiles;
use crate::tables::processes::{Processes, Rules};
use crate::tables::totals::Totals;
use capture::{AHEAD, Action, CounterKind, Error, Event, Metadata, NodeId, ProcessId, ThreadId};
use known::{Images, Owner};
use rustc_hash::FxHashMap;
use shared_ring::decode::{Short, decode};
use shared_ring::record::Record;
use shared_ring::record::name::Name;
use timeline::Timeline;

/// The translation, with the capture it writes.
pub(crate) struct Pipeline {
    pub(crate) writer: Writer,
    pub(crate) timeline: Timeline,
    images: Images,
    /// Some process has connected.
    pub(crate) has_met: bool,
    files: KnownFiles,
    pub(crate) processes: Processes,
    pub(crate) totals: Totals,
    out_of_memory: OutOfMemory,
    /// Names given by programs.
    pub(crate) names: Names,
    pub(crate) addresses: Addresses,
    samples: cpu::SampleWriter,
    /// The last value of each.
    counters: FxHashMap<(Option<ProcessId>, CounterKind), u64>,
    /// Events that are written together.
    events: Vec<Event>,
}

impl Pipeline {
    pub(crate) fn new(writer: Writer, clock: Clock, rules: Rules) -> Pipeline {
        let files = KnownFiles::default();
        let addresses = Addresses { copies: files.copies.clone(), ..Addresses::default() };
        Pipeline {
            writer,
            timeline: Timeline::new(clock),
            images: Images::default(),
            has_met: false,
            files,
            processes: Processes::new(rules, ProcScan::new(clock)),
            totals: Totals::default(),
            out_of_memory: OutOfMemory::now(),
            names: Names::default(),
            addresses,
            samples: cpu::SampleWriter::default(),
            counters: FxHashMap::default(),
            events: Vec::with_capacity(AHEAD),
        }
    }

    /// Remarks for the user besides losses.
    pub(crate) fn remarks(&self, counts: &Counts) -> Vec<String> {
        let processes = self.processes.with_starts().map(|(_, process, _)| process);
        let killed = self.out_of_memory.remark(processes);
        killed.into_iter().chain(self.totals.remarks(self.processes.count(), counts)).collect()
    }

    /// The same, for a recording that begins with its first process; until then the capture has this metadata.
    pub(crate) fn awaiting(self, metadata: Metadata) -> Pipeline {
        Pipeline { timeline: self.timeline.awaiting(metadata), ..self }
    }

    /// Takes in a whole batch.
    pub(crate) fn take(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let mut result = Ok(());
        batch.take(|part| {
            if result.is_ok() {
                result = match part {
                    Part::Run(run, words) => self.run(run, words),
                    Part::Note(message) => self.note(message),
                };
            }
        });
        result
    }

    /// Takes in the records of a run.
    fn run(&mut self, run: Run, mut words: &[u64]) -> Result<(), Error> {
        let mut time = run.time;
        loop {
            self.short_records(run, &mut words, &mut time)?;
            // The drain thread has checked that records are whole.
            let Ok((delta, record, length)) = decode(words) else { return Ok(()) };
            let (whole, rest) = words.split_at_checked(length).unwrap_or((words, &[]));
            words = rest;
            time = match record {
                Record::Time { time } | Record::Owner { time, .. } => time,
                _ => time.saturating_add(delta),
            };
            self.timeline.advance(time);
            self.record(run.image, run.ring, record, whole)?;
        }
    }

    /// Takes in short allocations and frees, which almost all records are, up to the first record of another kind.
    // Cost: a load of the stack's translation, a multiplication for the time, and the writer's.
    fn short_records(&mut self, run: Run, words: &mut &[u64], time: &mut u64) -> Result<(), Error> {
        let Pipeline { writer, timeline, images, events, .. } = self;
        let Some(known) = images.get(run.image) else { return Ok(()) };
        let Some(Some(owner)) = known.rings.get_mut(run.ring as usize) else { return Ok(()) };
        if owner.execing {
            return Ok(());
        }
        let thread = owner.thread;
        events.clear();
        while let [first, rest @ ..] = *words
            && let Some(short) = Short::of(*first)
        {
            let (second, rest) = match rest {
                _ if short.is_free => (None, rest),
                [second, rest @ ..] => (Some(*second), rest),
                [] => break,
            };
            *words = rest;
            let address = short.address;
            *time = time.saturating_add(short.delta);
            owner.records += 1;
            let time = timeline.advance(*time);
            let action = if let Some(second) = second {
                let (id, size) = ((second >> 32) as u32, second & u64::from(u32::MAX));
                let stack = known.stacks.node(id, &known.segment, &mut known.modules, writer)?;
                Action::Alloc { address, size, alignment: 0, stack }
            } else {
                Action::Free { address, stack: NodeId::ROOT }
            };
            events.push(Event { time, thread, action });
            if events.len() == AHEAD {
                writer.events(events)?;
                events.clear();
            }
        }
        writer.events(events)
    }

    /// Takes in a record encoded in these words.
    fn record(&mut self, image: ImageId, ring: u32, record: Record, words: &[u64]) -> Result<(), Error> {
        if let Record::Owner { slot, tid, .. } = record {
            return self.owner(image, ring, slot, tid);
        }
        let Some(known) = self.images.get(image) else { return Ok(()) };
        // Only a misbehaving agent writes records before the first owner.
        let Some(Some(owner)) = known.rings.get_mut(ring as usize) else {
            self.totals.corrupt += 1;
            return Ok(());
        };
        owner.records += 1;
        let Owner { slot, thread, .. } = *owner;
        if std::mem::replace(&mut owner.execing, matches!(record, Record::Exec)) {
            // It wrote another record: the exec failed.
            self.processes.goes_on(image, slot, thread);
        }
        match record {
            Record::Named(named) => return self.take_name((image, slot, thread), named, &Name::of(words)),
            Record::End => {
                known.leave(ring);
                return self.left(thread);
            }
            Record::Exec => self.processes.execing(image, slot, thread),
            Record::Exit { code } => self.processes.exiting(image, slot, code),
            Record::ExecFailed | Record::Time { .. } => {}
            _ => match known.action(slot, &record, &mut self.writer)? {
                Some(action) => return self.write(thread, action),
                None => self.totals.corrupt += 1,
            },
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, thread: ThreadId, action: Action) -> Result<(), Error> {
        self.writer.event(Event { time: self.timeline.last(), thread, action })
    }

    /// The pools of an image, until that is finished.
    pub(crate) fn pools(&mut self, image: ImageId) -> Option<&mut Pools> {
        self.images.get(image).map(|known| &mut known.pools)
    }

    /// Sizes of the tables that translate an image's stacks.
    #[cfg(test)]
    pub(crate) fn stack_tables(&mut self, image: ImageId) -> Option<[usize; 2]> {
        self.images.get(image).map(|known| known.stacks.sizes())
    }

    /// Updates names of threads, collects new frames, and flushes: called about once a second.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        self.timeline.measure();
        for known in self.images.iter_mut() {
            for owner in known.rings.iter().flatten() {
                self.processes.rename(owner.thread, &mut self.writer)?;
            }
            self.addresses.take(&mut known.modules);
        }
        self.settle()?;
        self.writer.flush()
    }
}
