//! Processes, threads and stacks of the profile, each created when first needed.

use super::samples::Work;
use crate::events::{end, sample_interval};
use crate::origin::creator_and_caveats;
use crate::places::is_kernels;
use analysis::LabelId;
use capture::{NodeId, ProcessId};
use engine::Loaded;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, ProcessHandle, Profile,
    ReferenceTimestamp, SamplingInterval, StackHandle, StringHandle, ThreadHandle, Timestamp,
};
use std::collections::HashMap;
use std::time::Duration;

/// A thread of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TrackId(usize);

/// The profile being built.
pub(super) struct Tracks<'a> {
    pub(super) profile: Profile,
    loaded: &'a Loaded,
    /// By process; only those with any content.
    processes: Vec<Option<Process>>,
    tracks: Vec<Track>,
    strings: HashMap<LabelId, StringHandle>,
    user: CategoryHandle,
    kernel: CategoryHandle,
    end: u64,
}

struct Process {
    handle: ProcessHandle,
    /// When the first of its content happened.
    since: u64,
    until: u64,
    /// Its first thread.
    main: TrackId,
    threads: HashMap<u32, TrackId>,
}

struct Track {
    handle: ThreadHandle,
    process: ProcessId,
    since: u64,
    until: u64,
    /// When its first sample was; none if it has none.
    first: Option<u64>,
    work: Work,
    stacks: HashMap<NodeId, Option<StackHandle>>,
}

impl Track {
    fn new(handle: ThreadHandle, process: ProcessId, since: u64, until: u64) -> Self {
        Self { handle, process, since, until, first: None, work: Work::default(), stacks: HashMap::new() }
    }
}

/// A time of the recording in the profile's form.
pub(super) fn at(time: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(time)
}

/// The end of something that lasted until then: a nanosecond after the last sample. The profile stores sample times
/// as differences; the profiler adds these up, and its command line tool fails on two times that differ only by
/// rounding.
fn after(time: u64) -> Timestamp {
    at(time.saturating_add(1))
}

impl<'a> Tracks<'a> {
    pub(super) fn new(loaded: &'a Loaded) -> Self {
        let started = Duration::from_nanos(loaded.tables.metadata.started_unix_ns);
        let started = ReferenceTimestamp::from_duration_since_unix_epoch(started);
        let interval = SamplingInterval::from_nanos(sample_interval(loaded));
        let mut profile = Profile::new(&creator_and_caveats(loaded), started, interval);
        profile.set_symbolicated(true);
        let user = profile.add_category("User", CategoryColor::Yellow);
        let kernel = profile.add_category("Kernel", CategoryColor::Orange);
        Self {
            profile,
            loaded,
            processes: loaded.tables.processes.iter().map(|_| None).collect(),
            tracks: Vec::new(),
            strings: HashMap::new(),
            user,
            kernel,
            end: end(loaded),
        }
    }

    /// A process in which something happened at this time.
    fn process(&mut self, process: ProcessId, time: u64) -> &mut Process {
        let Self { loaded, profile, processes, tracks, end, .. } = self;
        let known = processes[process.index()].get_or_insert_with(|| {
            let row = &loaded.tables.processes[process.index()];
            let name = &loaded.names.label(loaded.names.process(process)).name;
            let until = row.end.as_ref().map_or(*end, |end| end.time).max(time);
            let handle = profile.add_process(name, row.pid, at(time));
            profile.set_process_end_time(handle, after(until));
            let thread = profile.add_thread(handle, row.pid, at(time), true);
            profile.set_thread_end_time(thread, after(until));
            let main = TrackId(tracks.len());
            tracks.push(Track::new(thread, process, time, until));
            Process { handle, since: time, until, main, threads: HashMap::from([(row.pid, main)]) }
        });
        if time < known.since {
            known.since = time;
            profile.set_process_start_time(known.handle, at(time));
        }
        known
    }

    /// When the first of a process' content happened, and when it ended.
    pub(super) fn span(&self, process: ProcessId) -> (u64, u64) {
        self.processes[process.index()].as_ref().map_or((0, self.end), |known| (known.since, known.until))
    }

    /// The handle of a process, for counters.
    pub(super) fn process_handle(&mut self, process: ProcessId, time: u64) -> ProcessHandle {
        self.process(process, time).handle
    }

    /// The first thread of a process.
    pub(super) fn main(&mut self, process: ProcessId, time: u64) -> TrackId {
        let main = self.process(process, time).main;
        self.reached(main, time)
    }

    /// A thread of a process; its name may be empty.
    pub(super) fn thread(&mut self, process: ProcessId, tid: u32, name: &str, time: u64) -> TrackId {
        let owner = self.process(process, time);
        if let Some(known) = owner.threads.get(&tid) {
            let known = *known;
            return self.reached(known, time);
        }
        let (handle, until) = (owner.handle, owner.until);
        let id = TrackId(self.tracks.len());
        self.process(process, time).threads.insert(tid, id);
        let thread = self.profile.add_thread(handle, tid, at(time), false);
        self.profile.set_thread_end_time(thread, after(until));
        self.profile.set_thread_show_markers_in_timeline(thread, true);
        if !name.is_empty() {
            self.profile.set_thread_name(thread, name);
        }
        self.tracks.push(Track::new(thread, process, time, until));
        id
    }

    fn reached(&mut self, id: TrackId, time: u64) -> TrackId {
        let track = &mut self.tracks[id.0];
        if time < track.since {
            track.since = time;
            self.profile.set_thread_start_time(track.handle, at(time));
        }
        id
    }

    /// The profile's handle of a thread.
    pub(super) fn handle(&self, track: TrackId) -> ThreadHandle {
        self.tracks[track.0].handle
    }

    /// Adds samples of a stack, which stand for `worked` nanoseconds of CPU time.
    pub(super) fn add_samples(
        &mut self,
        track: TrackId,
        time: u64,
        stack: Option<StackHandle>,
        worked: u64,
        samples: i32,
    ) {
        let Track { handle, since, until, first, work, .. } = &mut self.tracks[track.0];
        if first.is_none() {
            (*first, *work) = (Some(time), Work::since(*since));
        }
        // A late sample is placed after those that are already there.
        let time = work.reached(time);
        *until = time.max(*until);
        self.profile.add_sample(*handle, at(time), stack, work.delta(time, worked), samples);
    }

    /// Adds samples without weight where threads with samples begin and end, since the profiler shows only what is
    /// between a thread's first sample and its last.
    pub(super) fn finish(mut self) -> Profile {
        for Track { handle, since, until, first, work, .. } in &mut self.tracks {
            let Some(first) = *first else { continue };
            if *since < first {
                self.profile.add_sample(*handle, at(*since), None, CpuDelta::ZERO, 0);
            }
            self.profile.add_sample(*handle, at(*until), None, work.delta(*until, 0), 0);
        }
        self.profile
    }

    /// The profile's stack for a recorded stack; new callers are created first. If nothing is known, it is the
    /// process.
    pub(super) fn stack(&mut self, track: TrackId, node: NodeId) -> Option<StackHandle> {
        let known = self.known_stack(track, node);
        known.or_else(|| {
            let Track { handle, process, .. } = self.tracks[track.0];
            let label = self.loaded.names.process(process);
            Some(self.frame(handle, None, label, CategoryHandle::OTHER))
        })
    }

    fn known_stack(&mut self, track: TrackId, node: NodeId) -> Option<StackHandle> {
        let loaded = self.loaded;
        let Track { handle, ref stacks, .. } = self.tracks[track.0];
        let mut missing = Vec::new();
        let mut stack = None;
        for (id, node) in loaded.tables.stack(node) {
            if let Some(known) = stacks.get(&id) {
                stack = *known;
                break;
            }
            missing.push((id, node.frame));
        }
        for (id, frame) in missing.into_iter().rev() {
            let category = if is_kernels(loaded, frame) { self.kernel } else { self.user };
            for step in loaded.names.steps(frame).iter().rev() {
                stack = Some(self.frame(handle, stack, step.label, category));
            }
            self.tracks[track.0].stacks.insert(id, stack);
        }
        stack
    }

    /// A stack with one more function.
    fn frame(
        &mut self,
        thread: ThreadHandle,
        caller: Option<StackHandle>,
        label: LabelId,
        category: CategoryHandle,
    ) -> StackHandle {
        let frame = FrameInfo {
            frame: Frame::Label(self.string(label)),
            category_pair: category.into(),
            flags: FrameFlags::empty(),
        };
        let frame = self.profile.intern_frame(thread, frame);
        self.profile.intern_stack(thread, caller, frame)
    }

    fn string(&mut self, label: LabelId) -> StringHandle {
        let Self { loaded, profile, strings, .. } = self;
        *strings.entry(label).or_insert_with(|| profile.intern_string(&loaded.names.label(label).name))
    }
}
