//! Process images and threads of the capture.

use crate::counters::{Subject, Subjects};
use crate::image::{End, Image, ImageId};
use crate::item::Origin;
use crate::process::{self, Info};
use capture::{Ended, Error, Process, ProcessEnd, ProcessId, Thread, ThreadId, Writer};
use rustc_hash::FxHashMap;
use std::process::ExitStatus;

/// A process that is alive as far as the merged records go.
#[derive(Debug)]
struct Alive {
    process: ProcessId,
    /// The thread that said it would exec, while it has said nothing since.
    execing: Option<ThreadId>,
    /// Code that it said it would exit with.
    code: Option<i32>,
    /// Number of the fork that made it, `None` once it has had a thread.
    begins_by: Option<u32>,
}

/// All images and threads seen.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    all: Vec<Process>,
    /// When each was first heard of, in nanoseconds of the recording.
    starts: Vec<u64>,
    threads: Vec<Thread>,
    alive: FxHashMap<(ImageId, u32), Alive>,
    /// Latest image by pid.
    by_pid: FxHashMap<u32, ProcessId>,
    /// By the slot that it has or had, with the pid in the process' own namespace.
    by_slot: FxHashMap<(ImageId, u32, u32), ProcessId>,
    store_command: bool,
    /// Those that are alive, for whoever reads their counters.
    pub(crate) subjects: Subjects,
}

impl Processes {
    pub(crate) fn new(store_command: bool) -> Processes {
        Processes { store_command, ..Processes::default() }
    }

    /// A thread of the process in a slot has a ring: the process, and if this is its first thread, the number of the
    /// fork that made the process, or 0.
    pub(crate) fn owner(&mut self, image: ImageId, slot: u32) -> Option<(ProcessId, Option<u32>)> {
        let alive = self.alive.get_mut(&(image, slot))?;
        Some((alive.process, alive.begins_by.take()))
    }

    /// The latest thread of a process.
    pub(crate) fn last_thread(&self, process: ProcessId) -> Option<ThreadId> {
        self.threads.iter().rposition(|thread| thread.process == process).map(ThreadId::from_index)
    }

    /// The thread that speaks for a process, or for all of them: the latest one, of a process that is alive.
    pub(crate) fn speaker(&self, pid: Option<u32>) -> Option<ThreadId> {
        let is_meant = |thread: &Thread| {
            let process = self.all.get(thread.process.index());
            process.is_some_and(|process| process.end.is_none() && pid.is_none_or(|pid| process.pid == pid))
        };
        self.threads.iter().rposition(is_meant).map(ThreadId::from_index)
    }

    /// A process has a slot: its image, unless it is known already; whether it is new. Its pid is as it tells it, and as it is here
    /// unless it is gone.
    pub(crate) fn start(
        &mut self,
        image: &Image,
        slot: u32,
        (told, pid): (u32, Option<u32>),
        origin: Option<Origin>,
        time: u64,
        writer: &mut Writer,
    ) -> Result<bool, Error> {
        if self.alive.contains_key(&(image.id, slot)) {
            return Ok(false);
        }
        let process = match origin {
            None => self.connected(&image.info),
            Some(origin) => self.forked(image, origin, told, pid),
        };
        let start_ticks = process.start_ticks;
        let id = writer.process(process.clone())?;
        self.all.push(process);
        self.starts.push(time);
        // What has the number of one that is gone may be anybody.
        if let Some(pid) = if origin.is_none() { Some(image.info.pid) } else { pid } {
            self.subjects.add(Subject { process: id, pid, start_ticks });
            self.by_pid.insert(pid, id);
        }
        self.by_slot.insert((image.id, slot, told), id);
        let begins_by = Some(origin.map_or(0, |origin| origin.fork));
        self.alive.insert((image.id, slot), Alive { process: id, execing: None, code: None, begins_by });
        Ok(true)
    }

    /// The image of a process that connected: perhaps after an exec.
    fn connected(&self, info: &Info) -> Process {
        let before = self.by_pid.get(&info.pid).and_then(|id| Some((*id, self.all.get(id.index())?)));
        // The start of a process that was gone before we could look is not known, but then its end is.
        let before = before.filter(|(_, process)| {
            let is_over = process.end.as_ref().is_some_and(|end| end.ended != Ended::Exec);
            process.start_ticks == info.start_ticks || (process.start_ticks == 0 && !is_over)
        });
        let parent = before.map(|(id, _)| id).or_else(|| self.by_pid.get(&info.parent_pid).copied());
        Process {
            pid: info.pid,
            parent_pid: info.parent_pid,
            parent,
            image: before.map_or(0, |(_, process)| process.image + 1),
            start_ticks: info.start_ticks,
            forked: false,
            name: info.name(),
            executable: info.executable.to_string_lossy().into_owned(),
            command: if self.store_command { info.command.clone() } else { Vec::new() },
            end: None,
            attached: info.attached,
        }
    }

    /// The image that fork made: in all but its pid a copy of its parent's.
    fn forked(&self, image: &Image, origin: Origin, told: u32, pid: Option<u32>) -> Process {
        let parent = self.by_slot.get(&(image.id, origin.slot, origin.pid)).copied();
        let origin = parent.and_then(|id| self.all.get(id.index()));
        let like = origin.cloned().unwrap_or_else(|| self.connected(&image.info));
        Process {
            pid: pid.unwrap_or(told),
            parent_pid: origin.map_or(image.info.pid, |origin| origin.pid),
            parent,
            image: 0,
            start_ticks: pid.and_then(process::start_ticks).unwrap_or(0),
            forked: true,
            end: None,
            ..like
        }
    }

    /// A thread of the process in a slot.
    pub(crate) fn thread(
        &mut self,
        process: ProcessId,
        tid: u32,
        writer: &mut Writer,
    ) -> Result<ThreadId, Error> {
        let pid = self.all.get(process.index()).map_or(0, |process| process.pid);
        let thread = Thread { process, tid, name: process::thread_name(pid, tid) };
        self.threads.push(thread.clone());
        writer.thread(thread)
    }

    /// Reads a thread's name again: threads name themselves after they have started.
    pub(crate) fn rename(&mut self, id: ThreadId, writer: &mut Writer) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(id.index()) else { return Ok(()) };
        let pid = self.all.get(thread.process.index()).map_or(0, |process| process.pid);
        let name = process::thread_name(pid, thread.tid);
        if !name.is_empty() && name != thread.name {
            thread.name = name;
            writer.update_thread(id, thread.clone())?;
        }
        Ok(())
    }

    /// The process said that it is about to exec.
    pub(crate) fn execing(&mut self, image: ImageId, slot: u32, thread: ThreadId) {
        if let Some(alive) = self.alive.get_mut(&(image, slot)) {
            alive.execing = Some(thread);
        }
    }

    /// A thread said something else: if it was about to exec, that failed.
    pub(crate) fn goes_on(&mut self, image: ImageId, slot: u32, thread: ThreadId) {
        if let Some(alive) = self.alive.get_mut(&(image, slot))
            && alive.execing == Some(thread)
        {
            alive.execing = None;
        }
    }

    /// The process said that it exits.
    pub(crate) fn exiting(&mut self, image: ImageId, slot: u32, code: i32) {
        if let Some(alive) = self.alive.get_mut(&(image, slot)) {
            alive.code = Some(code & 0xFF);
        }
    }

    /// The process in a slot ended; its id, if it ever started.
    pub(crate) fn end(
        &mut self,
        image: ImageId,
        slot: u32,
        end: End,
        time: u64,
        writer: &mut Writer,
    ) -> Result<Option<ProcessId>, Error> {
        let Some(alive) = self.alive.remove(&(image, slot)) else { return Ok(None) };
        self.subjects.remove(alive.process);
        let ended = match (end, alive.code) {
            (End::Exec, _) => Ended::Exec,
            (End::Running, _) => Ended::Running,
            (End::Gone(Some(status)), _) => of_wait_status(status),
            (End::Gone(None), Some(code)) => Ended::Exited(code),
            (End::Gone(None), None) if alive.execing.is_some() => Ended::Exec,
            (End::Gone(None), None) => Ended::Unknown,
        };
        self.set_end(alive.process, ended, Some(time), writer)?;
        Ok(Some(alive.process))
    }

    /// Whoever started a process knows best how it ended.
    pub(crate) fn note_exit(
        &mut self,
        pid: u32,
        status: ExitStatus,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        use std::os::unix::process::ExitStatusExt;
        let Some(id) = self.by_pid.get(&pid).copied() else { return Ok(()) };
        let is_exec = self
            .all
            .get(id.index())
            .is_some_and(|process| process.end.as_ref().is_some_and(|end| end.ended == Ended::Exec));
        if is_exec {
            // It went on as a program that was not recorded.
            return Ok(());
        }
        self.set_end(id, of_wait_status(status.into_raw()), None, writer)
    }

    fn set_end(
        &mut self,
        id: ProcessId,
        ended: Ended,
        time: Option<u64>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let Some(process) = self.all.get_mut(id.index()) else { return Ok(()) };
        let before = process.end.as_ref().map(|end| end.time);
        process.end = Some(ProcessEnd { ended, time: before.or(time).unwrap_or(0) });
        writer.update_process(id, process.clone())
    }

    /// Names of the processes that still run, as `pid name`.
    pub(crate) fn running(&self) -> Vec<String> {
        self.all
            .iter()
            .filter(|process| process.end.as_ref().is_some_and(|end| end.ended == Ended::Running))
            .map(|process| format!("{} {}", process.pid, process.name))
            .collect()
    }

    /// All images, each with the time when it was first heard of.
    pub(crate) fn with_starts(&self) -> impl Iterator<Item = (ProcessId, &Process, u64)> {
        let all = self.all.iter().zip(&self.starts).enumerate();
        all.map(|(index, (process, start))| (ProcessId::from_index(index), process, *start))
    }

    /// How many images there were.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }
}

fn of_wait_status(status: i32) -> Ended {
    match status & 0x7F {
        0 => Ended::Exited(status >> 8 & 0xFF),
        signal => Ended::Signaled(signal),
    }
}
