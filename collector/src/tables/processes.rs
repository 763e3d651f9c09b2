//! Process images and threads of the capture.

mod ends;
mod images;
mod threads;

use crate::base::capture_writer::Writer;
use crate::drain::message::{Arrival, Origin};
use crate::image::exit_scan::Place;
use crate::image::{Image, ImageId};
use crate::proc::pid_map::ProcScan;
use crate::proc::process::{self, Info};
use crate::proc::subjects::{Subject, Subjects};
use capture::{Ended, Error, Process, ProcessId, Thread, ThreadId};
use images::{Images, Known};
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::Instant;
use threads::Threads;

/// A live process, as far as records are merged.
#[derive(Debug)]
struct Alive {
    process: ProcessId,
    /// The thread that announced an exec and has said nothing since.
    execing: Option<ThreadId>,
    /// The exit code it announced.
    code: Option<i32>,
    /// Number of the fork that made it; `None` once it has had a thread.
    begins_by: Option<u32>,
}

/// What to keep of processes and threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Store command lines in the capture.
    pub(crate) stores_command: bool,
    /// Processors are sampled: images that have ended stay known until [`Processes::forget`], since samples may
    /// belong to them, and samples may also provide names of threads.
    pub(crate) awaits_samples: bool,
    /// A thread may get the id of one that has ended: the capture's reader follows events and need not tell threads
    /// apart, so there need not be a row for every thread that ever ran.
    pub(crate) reuses_threads: bool,
}

/// The images and threads of the capture: live ones, and images that ended lately.
#[derive(Debug)]
pub(crate) struct Processes {
    rules: Rules,
    images: Images,
    threads: Threads,
    alive: FxHashMap<(ImageId, u32), Alive>,
    /// For pids that were not looked up yet.
    scan: ProcScan,
    /// The live processes, for the thread that reads their counters.
    pub(crate) subjects: Subjects,
}

impl Processes {
    pub(crate) fn new(rules: Rules, scan: ProcScan) -> Processes {
        Processes {
            rules,
            images: Images::default(),
            threads: Threads::default(),
            alive: FxHashMap::default(),
            scan,
            subjects: Subjects::default(),
        }
    }

    /// A thread of the process in a slot has a ring. Returns the process and, if this is its first thread, the number
    /// of the fork that made the process, or 0.
    pub(crate) fn owner(&mut self, image: ImageId, slot: u32) -> Option<(ProcessId, Option<u32>)> {
        let alive = self.alive.get_mut(&(image, slot))?;
        Some((alive.process, alive.begins_by.take()))
    }

    /// The latest thread of a process.
    pub(crate) fn last_thread(&self, process: ProcessId) -> Option<ThreadId> {
        self.images.get(process)?.last_thread
    }

    /// The thread that gets marks for a process, or for the whole recording: the latest one of a live process.
    pub(crate) fn speaker(&self, pid: Option<u32>) -> Option<ThreadId> {
        let alive = self.alive.values().filter_map(|alive| self.images.get(alive.process));
        alive
            .filter(|known| pid.is_none_or(|pid| known.process.pid == pid))
            .filter_map(|known| known.last_thread)
            .max()
    }

    /// The image that had a pid at this time.
    pub(crate) fn image_at(&self, pid: u32, time: u64) -> Option<ProcessId> {
        self.images.by_recorded_pid(pid, time)
    }

    /// The image that has or had this place.
    pub(crate) fn in_place(&self, place: Place) -> Option<ProcessId> {
        self.images.in_place(place)
    }

    /// Notes that a process has had a slot of this image since `time`; false if that was already known.
    pub(crate) fn start(
        &mut self,
        image: &Image,
        arrival: &Arrival,
        time: u64,
        writer: &mut Writer,
    ) -> Result<bool, Error> {
        let Arrival { slot, ref slot_process, origin } = *arrival;
        if self.alive.contains_key(&(image.id, slot)) {
            return Ok(false);
        }
        let ns_pid = slot_process.ns_pid();
        let (process, pid) = match origin {
            None => (self.connected(&image.info), Some(image.info.pid)),
            Some(origin) => {
                let pid = image.find(slot_process, &mut self.scan);
                (self.forked(image, origin, ns_pid, pid), pid)
            }
        };
        let start_ticks = process.start_ticks;
        let id = writer.process(process.clone())?;
        let known = Known {
            process,
            start: time,
            slot: (image.id, slot, ns_pid),
            last_thread: None,
            before: None,
            spare: Vec::new(),
            threads: process::Threads::default(),
        };
        self.images.add(id, pid, known);
        if let Some(pid) = pid {
            self.subjects.add(Subject { process: id, pid, start_ticks, is_forked: origin.is_some() });
        }
        let begins_by = Some(origin.map_or(0, |origin| origin.fork));
        self.alive.insert((image.id, slot), Alive { process: id, execing: None, code: None, begins_by });
        Ok(true)
    }

    /// The image of a process that connected, perhaps after an exec.
    fn connected(&self, info: &Info) -> Process {
        let before = self.images.latest(info.pid).and_then(|id| Some((id, self.images.process(id)?)));
        // A process that was gone before we could look has an unknown start, but then its end is known.
        let before = before.filter(|(_, process)| {
            let is_over = process.end.as_ref().is_some_and(|end| end.ended != Ended::Exec);
            process.start_ticks == info.start_ticks || (process.start_ticks == 0 && !is_over)
        });
        let parent = before.map(|(id, _)| id).or_else(|| self.images.latest(info.parent_pid));
        Process {
            pid: info.pid,
            parent_pid: info.parent_pid,
            parent,
            image: before.map_or(0, |(_, process)| process.image + 1),
            start_ticks: info.start_ticks,
            forked: false,
            name: info.name(),
            executable: info.executable.to_string_lossy().into_owned(),
            command: if self.rules.stores_command { info.command.clone() } else { Vec::new() },
            end: None,
            attached: info.attached,
            labels: info.labels.clone(),
        }
    }

    /// The image made by a fork: a copy of its parent's in all but pid.
    fn forked(&self, image: &Image, origin: Origin, ns_pid: u32, pid: Option<u32>) -> Process {
        let parent = self.images.in_place(Place { image: image.id, slot: origin.slot, ns_pid: origin.pid });
        let origin = parent.and_then(|id| self.images.process(id));
        let like = origin.cloned().unwrap_or_else(|| self.connected(&image.info));
        Process {
            pid: pid.unwrap_or(ns_pid),
            parent_pid: origin.map_or(image.info.pid, |origin| origin.pid),
            parent,
            image: 0,
            start_ticks: pid.and_then(process::start_ticks).unwrap_or(0),
            forked: true,
            end: None,
            ..like
        }
    }

    /// Adds a thread of the process.
    pub(crate) fn thread(
        &mut self,
        process: ProcessId,
        tid: u32,
        writer: &mut Writer,
    ) -> Result<ThreadId, Error> {
        let mut known = self.images.get_mut(process);
        let name = known.as_mut().map_or_else(String::new, |known| known.thread_name(tid));
        let thread = Thread { process, tid, name };
        let id = match known.as_mut().and_then(|known| known.spare.pop()) {
            Some(id) => writer.update_thread(id, thread.clone()).map(|()| id)?,
            None => writer.thread(thread.clone())?,
        };
        if let Some(known) = known {
            known.last_thread = Some(id);
        }
        self.threads.add(id, thread, self.rules.awaits_samples);
        Ok(id)
    }

    /// Takes out the threads without a name, of these processes or of all, each with its process's pid. Threads in
    /// other pid namespaces are left out: both ids differ in ours.
    pub(crate) fn take_nameless(
        &mut self,
        of: Option<&FxHashSet<ProcessId>>,
    ) -> Vec<(ThreadId, u32, Thread)> {
        let here = |thread: &Thread| {
            let known = self.images.get(thread.process)?;
            let (_, _, ns_pid) = known.slot;
            (ns_pid == known.process.pid).then_some(ns_pid)
        };
        let nameless = self.threads.take_nameless(of).into_iter();
        nameless.filter_map(|(id, thread)| Some((id, here(&thread)?, thread))).collect()
    }

    /// Notes that a thread no longer writes.
    pub(crate) fn leave(&mut self, id: ThreadId) {
        let Some(thread) = self.threads.writing.remove(&id).filter(|_| self.rules.reuses_threads) else {
            return;
        };
        if let Some(known) = self.images.get_mut(thread.process) {
            known.spare.push(id);
        }
    }

    /// Reads a thread's name again: threads set their names after they have started.
    pub(crate) fn rename(&mut self, id: ThreadId, writer: &mut Writer) -> Result<(), Error> {
        let Some(thread) = self.threads.writing.get_mut(&id) else { return Ok(()) };
        let Some(known) = self.images.get_mut(thread.process) else { return Ok(()) };
        let name = known.thread_name(thread.tid);
        if !name.is_empty() && name != thread.name {
            thread.name = name;
            writer.update_thread(id, thread.clone())?;
            self.threads.has_name(id);
        }
        Ok(())
    }

    /// True when [`Processes::forget`] has something to do.
    pub(crate) fn are_many(&self, before: Instant) -> bool {
        self.rules.awaits_samples && self.images.are_many(Some(before))
    }

    /// Samples up to this time are assigned: forgets images that ended before it, except the latest ones.
    pub(crate) fn forget(&mut self, before: Instant) {
        self.images.forget(Some(before));
        let images = &self.images;
        self.threads.forget_nameless(|process| images.get(process).is_some());
    }

    /// The processes that still run, as `pid name`.
    pub(crate) fn running(&self) -> Vec<String> {
        self.with_starts()
            .filter(|(_, process, _)| process.end.as_ref().is_some_and(|end| end.ended == Ended::Running))
            .map(|(_, process, _)| format!("{} {}", process.pid, process.name))
            .collect()
    }

    /// The known images in order, each with the time it was first heard of.
    pub(crate) fn with_starts(&self) -> impl Iterator<Item = (ProcessId, &Process, u64)> {
        self.images.in_order().map(|(id, known)| (id, &known.process, known.start))
    }

    /// Number of images so far.
    pub(crate) fn count(&self) -> usize {
        self.images.count()
    }
}

#[cfg(test)]
mod tests;
