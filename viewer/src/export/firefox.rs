//! The format of the Firefox Profiler (<https://profiler.firefox.com>): allocations and frees of each process, and a track
//! of what it held.
//!
//! ```text
//!  process ──► its first thread ──► native allocations   time, stack, address, bytes (negative: freed)
//!          └─► counter `malloc`                          a track of what was held, in steps
//! ```
//!
//! All allocations of a process stand on one thread, as Firefox itself has it, since the profiler matches frees with
//! allocations thread by thread.
//!
//! The profiler holds a profile in memory, and so does this writer. So the blocks of a capture that has more than
//! [`MOST_BLOCKS`] are summed up: one allocation for each stack with the bytes of all its blocks, and one free with those
//! that were freed. The sums stay, and so does the track of what was held.

use super::CREATOR;
use super::events::{Events, Weight, end, observe};
use crate::analysis::{Birth, Death, End, LabelId, Life, Watch};
use crate::loaded::Loaded;
use crate::open::Error;
use capture::{NodeId, ProcessId};
use fxprof_processed_profile::{
    CategoryHandle, CounterHandle, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, StackHandle, StringHandle, ThreadHandle, Timestamp,
};
use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

/// Blocks that the profiler can show one by one.
const MOST_BLOCKS: i64 = 1 << 19;

/// Steps of the track.
const STEPS: u64 = 1000;

/// Writes the allocations of all processes.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let mut writer = observe(loaded, events, Writer::new(loaded))?;
    writer.step(u64::MAX);
    writer.sum_up();
    serde_json::to_writer(&mut *out, &writer.profile).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// A process with allocations.
struct Place {
    thread: ThreadHandle,
    counter: CounterHandle,
    /// Bytes that changed since the last step, and how often.
    change: i64,
    changes: u32,
    stacks: HashMap<NodeId, Option<StackHandle>>,
}

struct Writer<'a> {
    loaded: &'a Loaded,
    weight: Weight,
    profile: Profile,
    /// By process, those that allocated.
    places: Vec<Option<Place>>,
    strings: HashMap<LabelId, StringHandle>,
    /// Too many blocks to show.
    is_summed: bool,
    /// The next step ends then, nanoseconds.
    next: u64,
    length: u64,
    end: u64,
}

impl<'a> Writer<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let started = Duration::from_nanos(loaded.tables.metadata.started_unix_ns);
        let started = ReferenceTimestamp::from_duration_since_unix_epoch(started);
        let end = end(loaded);
        let length = (end / STEPS).max(1);
        Self {
            loaded,
            weight: Weight::new(loaded),
            profile: Profile::new(CREATOR, started, SamplingInterval::from_millis(1)),
            places: loaded.tables.processes.iter().map(|_| None).collect(),
            strings: HashMap::new(),
            is_summed: loaded.profile.total.allocated.blocks > MOST_BLOCKS,
            next: length,
            length,
            end,
        }
    }

    /// The place of a process, made when it allocates first.
    fn place(&mut self, process: ProcessId, time: u64) -> &mut Place {
        let Self { loaded, profile, places, end, .. } = self;
        places[process.index()].get_or_insert_with(|| {
            let tables = &loaded.tables;
            let (row, name) = (&tables.processes[process.index()], loaded.names.process(process));
            let start = Timestamp::from_nanos_since_reference(time);
            let ended = row.end.as_ref().map_or(*end, |end| end.time).max(time);
            let handle = profile.add_process(&loaded.names.label(name).name, row.pid, start);
            profile.set_process_end_time(handle, Timestamp::from_nanos_since_reference(ended));
            let mut threads = tables.threads.iter().filter(|thread| thread.process == process);
            let tid = threads.next().map_or(row.pid, |thread| thread.tid);
            let thread = profile.add_thread(handle, tid, start, true);
            profile.set_thread_end_time(thread, Timestamp::from_nanos_since_reference(ended));
            let counter =
                profile.add_counter(handle, "malloc", "Memory", "Bytes that were allocated and not freed");
            Place { thread, counter, change: 0, changes: 0, stacks: HashMap::new() }
        })
    }

    /// Ends the steps that are over at this time.
    // Cost: one comparison, unless one is.
    fn step(&mut self, time: u64) {
        if time < self.next {
            return;
        }
        // Where nothing happened for several steps, the track stays where it is.
        let at = Timestamp::from_nanos_since_reference(self.next.min(self.end));
        for place in self.places.iter_mut().flatten().filter(|place| place.changes > 0) {
            self.profile.add_counter_sample(place.counter, at, place.change as f64, place.changes);
            (place.change, place.changes) = (0, 0);
        }
        self.next = (time / self.length).saturating_add(1).saturating_mul(self.length);
    }

    fn change(&mut self, process: ProcessId, time: u64, bytes: i64) {
        self.step(time);
        let place = self.place(process, time);
        place.change = place.change.wrapping_add(bytes);
        place.changes = place.changes.saturating_add(1);
    }

    fn add(&mut self, process: ProcessId, node: NodeId, time: u64, address: u64, bytes: i64) {
        let stack = self.stack(process, node, time);
        let thread = self.place(process, time).thread;
        let time = Timestamp::from_nanos_since_reference(time);
        self.profile.add_allocation_sample(thread, time, stack, address, bytes);
    }

    /// The profile's stack of a stack: those of callers that are new are made first.
    fn stack(&mut self, process: ProcessId, node: NodeId, time: u64) -> Option<StackHandle> {
        let loaded = self.loaded;
        let place = self.place(process, time);
        let thread = place.thread;
        let mut missing = Vec::new();
        let mut stack = None;
        for (id, node) in loaded.tables.stack(node) {
            if let Some(known) = place.stacks.get(&id) {
                stack = *known;
                break;
            }
            missing.push((id, node.frame));
        }
        for (id, frame) in missing.into_iter().rev() {
            for step in loaded.names.steps(frame).iter().rev() {
                let name = self.string(step.label);
                let frame = FrameInfo {
                    frame: Frame::Label(name),
                    category_pair: CategoryHandle::OTHER.into(),
                    flags: FrameFlags::empty(),
                };
                let frame = self.profile.intern_frame(thread, frame);
                stack = Some(self.profile.intern_stack(thread, stack, frame));
            }
            self.place(process, time).stacks.insert(id, stack);
        }
        stack
    }

    fn string(&mut self, label: LabelId) -> StringHandle {
        let Self { loaded, profile, strings, .. } = self;
        *strings.entry(label).or_insert_with(|| profile.intern_string(&loaded.names.label(label).name))
    }

    /// One allocation and one free for all blocks of each stack, where there are too many. Addresses are made up.
    fn sum_up(&mut self) {
        let loaded = self.loaded;
        if !self.is_summed {
            return;
        }
        for (number, site) in loaded.profile.sites.iter().enumerate() {
            let address = 16 * (number as u64 + 1);
            self.add(site.process, site.node, 0, address, site.cost.allocated.bytes);
            let gone = site.cost.allocated.bytes.wrapping_sub(site.cost.live().bytes);
            if gone != 0 {
                self.add(site.process, site.node, self.end, address, gone.wrapping_neg());
            }
        }
    }
}

impl Watch for Writer<'_> {
    type Kept = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let bytes = self.weight.bytes(birth.size);
        self.change(birth.process, birth.at.time, bytes);
        if !self.is_summed {
            self.add(birth.process, birth.node, birth.at.time, birth.address, bytes);
        }
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        // What was never freed stays: the profiler shows it as retained.
        if matches!(death.end, End::Left { .. }) {
            return;
        }
        let bytes = self.weight.bytes(life.size).wrapping_neg();
        self.change(life.process, death.at.time, bytes);
        if !self.is_summed {
            self.add(life.process, life.node, death.at.time, life.address, bytes);
        }
    }
}
