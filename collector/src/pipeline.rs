//! Merged records to events of the capture: the only place where the wire and the file format meet.

use crate::annotations::{Names, Pools};
use crate::anonymous_code::Told;
use crate::batch::{Batch, Part, Run};
use crate::beginning::Beginning;
use crate::clock::Clock;
use crate::exit_scans;
use crate::image::{Image, ImageId};
use crate::item::{Counters, Item, Origin, What};
use crate::live::Live;
use crate::modules::Modules;
use crate::orders::Rest;
use crate::perf;
use crate::processes::{Processes, Rules};
use crate::scan::{Place, Scanned};
use crate::stacks::{CodeFrame, Stacks};
use crate::totals::Totals;
use crate::unnamed::Unnamed;
use capture::{
    Action, Area, Counter, Error, Event, Metadata, ModuleId, NodeId, Object, ReallocOutcome, Scan, StringId,
    TIME_UNIT_NS, ThreadId, Writer,
};
use rustc_hash::FxHashMap;
use shared_ring::Segment;
use shared_ring::decode::{Short, decode};
use shared_ring::name::Name;
use shared_ring::record::{Record, TIME_SHIFT};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use symbols::ModuleFile;

/// Descriptors that are kept for names; the rest of what a process may have is for rings.
const MOST_HANDLES: usize = 256;

/// Who writes into a ring.
#[derive(Clone, Copy, Debug)]
struct Writing {
    slot: u32,
    thread: ThreadId,
    /// Records of this thread so far.
    records: u64,
    /// The thread said that it is about to exec, and nothing since.
    execing: bool,
}

/// What is known of one image.
struct Known {
    image: Arc<Image>,
    /// The view of its memory.
    segment: Segment,
    stacks: Stacks,
    modules: Modules,
    /// By ring: the slot and the thread that write, and whether the thread has told its name.
    rings: Vec<Option<Writing>>,
    pools: Pools,
    /// A `realloc`'s old block by thread, for the live table.
    reallocs: FxHashMap<(ThreadId, u16), u64>,
}

/// The translation, with the capture it writes.
pub(crate) struct Pipeline {
    pub(crate) writer: Writer,
    clock: Clock,
    /// By image id; images are few, records are many.
    images: Vec<Option<Box<Known>>>,
    pub(crate) processes: Processes,
    pub(crate) totals: Totals,
    /// What programs have named.
    pub(crate) names: Names,
    pub(crate) live: Option<Live>,
    /// Records by process slot, for the estimate of the hooks' cost.
    records: FxHashMap<(ImageId, u32), u64>,
    /// Time of the last event: the order is the truth, so time never runs backwards.
    pub(crate) last: u64,
    /// Code frames that want a name.
    pub(crate) frames: Unnamed,
    /// Each module, and where to open it.
    pub(crate) files: FxHashMap<ModuleId, ModuleFile>,
    /// Files that are kept open, at most [`MOST_HANDLES`]: programs are rebuilt while they are recorded.
    pub(crate) handles: FxHashMap<ModuleId, Arc<File>>,
    /// Modules that are no files, and what the process told of the code in them.
    pub(crate) made: FxHashMap<ModuleId, Told>,
    samples: perf::Entered,
    beginning: Beginning,
}

impl Pipeline {
    pub(crate) fn new(writer: Writer, clock: Clock, rules: Rules, live: Option<Live>) -> Pipeline {
        Pipeline {
            writer,
            clock,
            images: Vec::new(),
            processes: Processes::new(rules),
            totals: Totals::default(),
            names: Names::default(),
            live,
            records: FxHashMap::default(),
            last: 0,
            frames: Unnamed::default(),
            files: FxHashMap::default(),
            handles: FxHashMap::default(),
            made: FxHashMap::default(),
            samples: perf::Entered::default(),
            beginning: Beginning::default(),
        }
    }

    /// Takes samples of the processors in.
    pub(crate) fn sampled(&mut self, batch: perf::Batch) -> Result<(), Error> {
        let mut wanted = perf::Wanted { frames: &mut self.frames, files: &mut self.files };
        self.samples.take(batch, &self.clock, &mut self.writer, &mut wanted)
    }

    /// Frames of the kernel, which have names but no lines.
    pub(crate) fn kernel_frames(&mut self) -> Vec<CodeFrame> {
        std::mem::take(&mut self.samples.kernel_frames)
    }

    /// The same for a recording that begins with its first process, of which the capture says this until then.
    pub(crate) fn awaiting(mut self, metadata: Metadata) -> Pipeline {
        self.clock = self.clock.awaiting();
        self.beginning = Beginning::awaited(metadata);
        self
    }

    /// Takes readings of counters in.
    pub(crate) fn counted(&mut self, counters: &[Counter]) -> Result<(), Error> {
        let counters = counters.iter().filter_map(|counter| self.beginning.counter(counter));
        counters.into_iter().try_for_each(|counter| self.writer.counter(counter))
    }

    /// Says whose samples they are, when all are there; gives what the capture says about them.
    pub(crate) fn finish_samples(&mut self, mut sampled: perf::Sampled) -> Result<perf::Sampled, Error> {
        let summary = &mut sampled.cpu;
        self.samples.finish(&self.processes, &self.clock, &mut self.writer)?;
        for (module, told) in self.samples.told() {
            self.made.entry(module).or_insert(told);
        }
        summary.samples = self.samples.samples();
        (sampled.faults.faults, sampled.faults.without_stack) = self.samples.faults();
        sampled.trace.hits = self.samples.hits();
        sampled.without_agent = self.samples.without_agent();
        sampled.nameless = self.samples.nameless();
        if !summary.event.is_empty() || sampled.faults.is_recorded || sampled.trace.hits > 0 {
            // Ticks of the sampler, what conversion at another moment adds, and the rounding of events.
            let ticks = self.clock.duration(summary.clock_error_ns + (1 << TIME_SHIFT));
            summary.clock_error_ns = ticks + self.clock.bend_ns() + TIME_UNIT_NS;
        }
        Ok(sampled)
    }

    /// True when events of this time, in ticks, are written, and all before it.
    pub(crate) fn has_passed(&self, time: u64) -> bool {
        self.last >= self.clock.nanoseconds(time)
    }

    /// Writes when and where a process' memory was searched; what is left to write, unless the process is not known.
    pub(crate) fn scan(
        &mut self,
        mut scanned: Scanned,
        at_end: Option<exit_scans::Place>,
    ) -> Result<Option<Rest>, Error> {
        let time = self.clock.nanoseconds(scanned.time);
        let process = match at_end {
            Some(place) => self.processes.in_place(place),
            None => self.processes.image_at(scanned.pid, time),
        };
        let Some(process) = process else { return Ok(None) };
        let mut areas = Vec::with_capacity(scanned.places.len());
        for place in &scanned.places {
            let name = self.writer.string(&place.name)?;
            let Place { start, end, kind, tid, base, .. } = *place;
            areas.push(Area { start, end, kind, tid, name, base });
        }
        let scan = self.writer.scan(&Scan {
            process,
            time,
            still_ns: u64::try_from(scanned.still.as_nanos()).unwrap_or(u64::MAX),
            searched: scanned.searched,
            unread: scanned.unread,
            lost: scanned.found.lost,
            areas,
        })?;
        let names = scanned.classes.iter().map(|name| self.writer.string(name));
        let names = names.collect::<Result<Vec<StringId>, _>>()?;
        let object = move |(at, class)| Some(Object { at, class: *names.get(class as usize)? });
        Ok(Some(Rest {
            scan,
            objects: Box::new(scanned.found.take_objects().filter_map(object)),
            pointers: Box::new(scanned.found.into_pointers()),
        }))
    }

    /// True while the first process is waited for.
    pub(crate) fn is_awaiting(&self) -> bool {
        self.beginning.is_awaited()
    }

    /// The clock, to be measured again now and then.
    pub(crate) fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// Takes all of a batch in.
    pub(crate) fn take(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let mut result = Ok(());
        batch.take(|part| {
            if result.is_ok() {
                result = match part {
                    Part::Run(run, words) => self.run(run, words),
                    Part::Note(item) => self.note(item),
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
            self.last = self.clock.nanoseconds(time).max(self.last);
            self.record(run.image, run.ring, record, whole)?;
        }
    }

    /// Takes in short allocations and frees, which nearly all records are, up to the first record of another kind.
    // Cost: a load of the stack's translation, a multiplication for the time, and the writer's.
    fn short_records(&mut self, run: Run, words: &mut &[u64], time: &mut u64) -> Result<(), Error> {
        let Pipeline { writer, clock, images, live, last, .. } = self;
        let Some(known) = known(images, run.image) else { return Ok(()) };
        let Some(Some(writing)) = known.rings.get_mut(run.ring as usize) else { return Ok(()) };
        if writing.execing {
            return Ok(());
        }
        let (thread, slot) = (writing.thread, writing.slot);
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
            *last = clock.nanoseconds(*time).max(*last);
            writing.records += 1;
            let time = *last;
            let event = |action| Event { time, thread, action };
            // Two calls, each of which knows which kind it has.
            if let Some(second) = second {
                let (id, size) = ((second >> 32) as u32, second & u64::from(u32::MAX));
                let stack = known.stacks.node(id, &known.segment, &mut known.modules, writer)?;
                if let Some(live) = live {
                    live.add(run.image, slot, address, size);
                }
                writer.event(event(Action::Alloc { address, size, alignment: 0, stack }))?;
            } else {
                if let Some(live) = live {
                    live.remove(run.image, slot, address);
                }
                writer.event(event(Action::Free { address, stack: NodeId::ROOT }))?;
            }
        }
        Ok(())
    }

    /// Takes in something that is no record.
    fn note(&mut self, item: Item) -> Result<(), Error> {
        if !matches!(item.what, What::Image(_) | What::Finished) {
            self.last = self.clock.nanoseconds(item.time).max(self.last);
        }
        match item.what {
            What::Image(image) => {
                self.beginning.met(image.info.connected, &mut self.clock, &mut self.writer)?;
                let known = Known {
                    modules: Modules::new(image.info.clone()),
                    segment: image.memory.segment(),
                    image,
                    stacks: Stacks::default(),
                    rings: Vec::new(),
                    pools: Pools::default(),
                    reallocs: FxHashMap::default(),
                };
                let index = item.image.0 as usize;
                if self.images.len() <= index {
                    self.images.resize_with(index + 1, || None);
                }
                self.images[index] = Some(Box::new(known));
                Ok(())
            }
            What::Started { slot, told, pid, origin } => self.started(item.image, slot, (told, pid), origin),
            What::Ended { slot, end, counters } => self.ended(item.image, slot, end, &counters),
            What::Finished => self.finished(item.image),
        }
    }

    fn started(
        &mut self,
        image: ImageId,
        slot: u32,
        pids: (u32, Option<u32>),
        origin: Option<Origin>,
    ) -> Result<(), Error> {
        let Some(known) = known(&mut self.images, image) else { return Ok(()) };
        if self.processes.start(&known.image, slot, pids, origin, self.last, &mut self.writer)? {
            known.modules.find_all(&known.segment, &mut self.writer)?;
        }
        Ok(())
    }

    fn ended(
        &mut self,
        image: ImageId,
        slot: u32,
        end: crate::image::End,
        counters: &Counters,
    ) -> Result<(), Error> {
        let threads: Vec<ThreadId> = match known(&mut self.images, image) {
            Some(known) => {
                known.modules.find_all(&known.segment, &mut self.writer)?;
                if slot == 0 {
                    self.made.extend(known.modules.told());
                }
                known.pools.forget(slot);
                let rings = known.rings.iter_mut();
                let of_slot = rings.filter_map(|ring| ring.take_if(|writing| writing.slot == slot));
                of_slot
                    .map(|writing| {
                        self.processes.leave(writing.thread);
                        *self.records.entry((image, slot)).or_default() += writing.records;
                        writing.thread
                    })
                    .collect()
            }
            None => Vec::new(),
        };
        self.add(image, slot, counters);
        if let Some(live) = &mut self.live {
            live.end(image, slot);
        }
        let time = self.last;
        let Some(process) = self.processes.end(image, slot, end, time, &mut self.writer)? else {
            return Ok(());
        };
        // One that never had a thread has no events either.
        match threads.first().copied().or(self.processes.last_thread(process)) {
            Some(thread) => self.write(thread, Action::ProcessEnd { process }),
            None => Ok(()),
        }
    }

    /// Adds the counters of a process that ended to the sums.
    fn add(&mut self, image: ImageId, slot: u32, counters: &Counters) {
        let totals = &mut self.totals.counters;
        for (sum, count) in totals.lost.iter_mut().zip(counters.lost) {
            *sum += count;
        }
        totals.stash_full += counters.stash_full;
        totals.agent_allocations += counters.agent_allocations;
        totals.wait_ns += counters.wait_ns;
        let records = self.records.remove(&(image, slot)).unwrap_or(0);
        if let Some(each) = counters.timed_ticks.checked_div(counters.timed_events) {
            self.totals.agent_ticks += each * records;
        }
    }

    fn finished(&mut self, image: ImageId) -> Result<(), Error> {
        if let Some(known) = self.images.get_mut(image.0 as usize).and_then(Option::take) {
            self.totals.shared_memory += known.image.memory.used();
            // Relaxed: a count of processes that have gone their way since.
            self.totals.refused +=
                u64::from(known.image.memory.segment().header().refused.load(Ordering::Relaxed));
            self.totals.full_logs += u64::from(known.segment.modules().is_full());
            self.totals.corrupt += known.stacks.corrupt;
            self.keep(*known);
        }
        Ok(())
    }

    fn keep(&mut self, mut known: Known) {
        self.take_modules(&mut known.modules);
        self.made.extend(known.modules.told());
    }

    /// Takes what is new of an image's modules.
    fn take_modules(&mut self, modules: &mut Modules) {
        modules.new_frames.drain(..).for_each(|frame| self.frames.add(frame));
        self.files.extend(modules.new_files.drain(..));
        for (module, handle) in modules.new_handles.drain(..) {
            if self.handles.len() < MOST_HANDLES {
                self.handles.entry(module).or_insert(handle);
            }
        }
    }

    /// Takes in a record of these words.
    fn record(&mut self, image: ImageId, ring: u32, record: Record, words: &[u64]) -> Result<(), Error> {
        if let Record::Owner { slot, tid, .. } = record {
            return self.owner(image, ring, slot, tid);
        }
        let Some(known) = known(&mut self.images, image) else { return Ok(()) };
        // Records before the first owner can only come from an agent gone mad.
        let Some(Some(writing)) = known.rings.get_mut(ring as usize) else {
            self.totals.corrupt += 1;
            return Ok(());
        };
        writing.records += 1;
        let Writing { slot, thread, .. } = *writing;
        if std::mem::replace(&mut writing.execing, matches!(record, Record::Exec)) {
            // It said something else: the exec failed.
            self.processes.goes_on(image, slot, thread);
        }
        if let Some(live) = &mut self.live {
            follow(live, &mut known.reallocs, (image, slot), thread, &record);
        }
        let mut stack = |id: u32| known.stacks.node(id, &known.segment, &mut known.modules, &mut self.writer);
        let action = match record {
            Record::Alloc { address, size, alignment, stack: id } => {
                Action::Alloc { address, size, alignment, stack: stack(id)? }
            }
            Record::Free { address } => Action::Free { address, stack: NodeId::ROOT },
            Record::TracedFree { address, stack: id } => Action::Free { address, stack: stack(id)? },
            Record::ReallocBegin { address, serial } => Action::ReallocBegin { address, serial },
            Record::ReallocEnd { serial, address, size, stack: id } => {
                let outcome = ReallocOutcome::Block { address, size, stack: stack(id)? };
                Action::ReallocEnd { serial, outcome }
            }
            Record::ReallocFailed { serial } => {
                Action::ReallocEnd { serial, outcome: ReallocOutcome::Failed }
            }
            Record::ReallocFreed { serial } => Action::ReallocEnd { serial, outcome: ReallocOutcome::Freed },
            Record::Map { address, length, stack: id, in_hook } => {
                Action::Map { address, length, stack: stack(id)?, in_hook }
            }
            Record::Unmap { address, length } => Action::Unmap { address, length },
            Record::UnmapFailed { address, length } => Action::UnmapFailed { address, length },
            Record::Remap { old_address, old_length, address, length, stack: id } => {
                Action::Remap { old_address, old_length, address, length, stack: stack(id)? }
            }
            Record::Break { address, stack: id } => Action::Break { address, stack: stack(id)? },
            Record::GapBegin => Action::GapBegin,
            Record::Unsampled => Action::Unsampled,
            Record::Pause => Action::Pause,
            Record::Resume => Action::Resume,
            Record::ReportAlloc { .. } | Record::ReportFree { .. } | Record::ReportRealloc { .. } => {
                let Some(action) = known.pools.action(slot, &record, stack)? else {
                    // Pools have names before they have blocks.
                    self.totals.corrupt += 1;
                    return Ok(());
                };
                action
            }
            Record::Named(named) => return self.told((image, slot, thread), named, &Name::of(words)),
            Record::GapEnd { allocations, frees } => Action::GapEnd { allocations, frees },
            Record::End => {
                let writing = *writing;
                known.rings[ring as usize] = None;
                return self.left(image, writing);
            }
            Record::Exec => {
                self.processes.execing(image, slot, thread);
                return Ok(());
            }
            Record::Fork { fork } => Action::Fork { fork },
            Record::Exit { code } => {
                self.processes.exiting(image, slot, code);
                return Ok(());
            }
            Record::ExecFailed | Record::Time { .. } | Record::Owner { .. } => return Ok(()),
        };
        self.write(thread, action)
    }

    /// A thread takes a ring over.
    fn owner(&mut self, image: ImageId, ring: u32, slot: u32, tid: u32) -> Result<(), Error> {
        let Some((process, begins)) = self.processes.owner(image, slot) else {
            self.totals.corrupt += 1;
            return Ok(());
        };
        let before = known(&mut self.images, image)
            .and_then(|known| known.rings.get_mut(ring as usize).and_then(Option::take));
        if let Some(before) = before {
            // It could not say that it ends.
            self.left(image, before)?;
        }
        let thread = self.processes.thread(process, tid, &mut self.writer)?;
        if let Some(known) = known(&mut self.images, image) {
            let index = ring as usize;
            if known.rings.len() <= index {
                known.rings.resize(index + 1, None);
            }
            known.rings[index] = Some(Writing { slot, thread, records: 0, execing: false });
        }
        if let Some(fork) = begins {
            self.write(thread, Action::ProcessStart { process, fork })?;
        }
        self.write(thread, Action::ThreadStart)
    }

    /// A thread writes into its ring no more.
    fn left(&mut self, image: ImageId, Writing { slot, thread, records, .. }: Writing) -> Result<(), Error> {
        self.processes.rename(thread, &mut self.writer)?;
        *self.records.entry((image, slot)).or_default() += records;
        self.processes.leave(thread);
        self.write(thread, Action::ThreadEnd)
    }

    pub(crate) fn write(&mut self, thread: ThreadId, action: Action) -> Result<(), Error> {
        self.writer.event(Event { time: self.last, thread, action })
    }

    /// The pools of an image, while it is not finished.
    pub(crate) fn pools(&mut self, image: ImageId) -> Option<&mut Pools> {
        known(&mut self.images, image).map(|known| &mut known.pools)
    }

    /// Brings names of threads up to date and takes stock of frames: called about once a second.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        self.clock.measure();
        for known in self.images.iter_mut().flatten() {
            for writing in known.rings.iter().flatten() {
                self.processes.rename(writing.thread, &mut self.writer)?;
            }
        }
        let mut images = std::mem::take(&mut self.images);
        images.iter_mut().flatten().for_each(|known| self.take_modules(&mut known.modules));
        self.images = images;
        self.writer.flush()
    }
}

/// What is known of an image, while it is not finished.
fn known(images: &mut [Option<Box<Known>>], image: ImageId) -> Option<&mut Known> {
    images.get_mut(image.0 as usize)?.as_deref_mut()
}

/// Keeps the live table up to date.
fn follow(
    live: &mut Live,
    reallocs: &mut FxHashMap<(ThreadId, u16), u64>,
    (image, slot): (ImageId, u32),
    thread: ThreadId,
    record: &Record,
) {
    match *record {
        Record::Alloc { address, size, .. } => live.add(image, slot, address, size),
        Record::Free { address } | Record::TracedFree { address, .. } => live.remove(image, slot, address),
        Record::ReallocBegin { address, serial } => {
            reallocs.insert((thread, serial), address);
        }
        Record::ReallocEnd { serial, address, size, .. } => {
            if let Some(old) = reallocs.remove(&(thread, serial)) {
                live.remove(image, slot, old);
            }
            live.add(image, slot, address, size);
        }
        Record::ReallocFreed { serial } => {
            if let Some(old) = reallocs.remove(&(thread, serial)) {
                live.remove(image, slot, old);
            }
        }
        Record::ReallocFailed { serial } => {
            reallocs.remove(&(thread, serial));
        }
        // What becomes of its blocks is not known from here on.
        Record::Pause => live.end(image, slot),
        _ => {}
    }
}
