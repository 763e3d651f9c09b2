//! Process images and threads of the capture.

use crate::counters::{Subject, Subjects};
use crate::exit_scans::Place;
use crate::image::{End, Image, ImageId};
use crate::item::Origin;
use crate::process::{self, Info};
use capture::{Ended, Error, Process, ProcessEnd, ProcessId, Thread, ThreadId, Writer};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::process::ExitStatus;

/// So many images that have ended are known on: their children, and the images that follow them, are told of after their ends. What is
/// recorded for days starts any number.
const ENDED: usize = 4096;

/// So many threads without a name are known on, for samples to tell it.
const NAMELESS: usize = 1 << 16;

/// Times of the beginning and the end of a recording are this many nanoseconds apart at most when they are converted, since its
/// clock's rate is measured better and better. No pid is used again so soon.
const SLACK: u64 = 1_000_000;

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

/// An image that lives, or has ended lately.
#[derive(Debug)]
struct Known {
    process: Process,
    /// When it was first heard of, in nanoseconds of the recording.
    start: u64,
    /// The slot that it has or had, with the pid in its own namespace.
    slot: (ImageId, u32, u32),
    last_thread: Option<ThreadId>,
    /// The image that had its pid before.
    before: Option<ProcessId>,
    /// Ids of threads that have ended, for others.
    spare: Vec<ThreadId>,
    /// The numbers of its threads, where these are others here.
    threads: process::Threads,
}

impl Known {
    fn thread_name(&mut self, tid: u32) -> String {
        let (pid, (_, _, told)) = (self.process.pid, self.slot);
        if told == pid { process::thread_name(pid, tid) } else { self.threads.name(pid, tid) }
    }
}

/// What is kept of processes and threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Command lines are in the capture.
    pub(crate) stores_command: bool,
    /// No image is forgotten, for samples of the CPU: which image a task belongs to is told at the end.
    pub(crate) keeps_all: bool,
    /// A thread may have the id of one that has ended: whoever reads the capture follows its events and does not tell threads apart, so
    /// it need not have a row for each that ever was.
    pub(crate) reuses_threads: bool,
}

/// The images and threads of the capture: those that live, and images that have ended lately.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: FxHashMap<ProcessId, Known>,
    /// Those of them that have ended, the first one first.
    ended: VecDeque<ProcessId>,
    /// Images of the capture.
    count: usize,
    rules: Rules,
    /// The process that began the recording: how it ends is told last.
    first_pid: Option<u32>,
    threads: FxHashMap<ThreadId, Thread>,
    /// Those that were gone before their names could be read, as long as samples may tell these.
    nameless: FxHashMap<ThreadId, Thread>,
    alive: FxHashMap<(ImageId, u32), Alive>,
    /// Latest image by pid.
    by_pid: FxHashMap<u32, ProcessId>,
    by_slot: FxHashMap<(ImageId, u32, u32), ProcessId>,
    /// Those that are alive, for whoever reads their counters.
    pub(crate) subjects: Subjects,
}

impl Processes {
    pub(crate) fn new(rules: Rules) -> Processes {
        Processes { rules, ..Processes::default() }
    }

    /// A thread of the process in a slot has a ring: the process, and if this is its first thread, the number of the
    /// fork that made the process, or 0.
    pub(crate) fn owner(&mut self, image: ImageId, slot: u32) -> Option<(ProcessId, Option<u32>)> {
        let alive = self.alive.get_mut(&(image, slot))?;
        Some((alive.process, alive.begins_by.take()))
    }

    /// The latest thread of a process.
    pub(crate) fn last_thread(&self, process: ProcessId) -> Option<ThreadId> {
        self.known.get(&process)?.last_thread
    }

    /// The thread that speaks for a process, or for all of them: the latest one, of a process that is alive.
    pub(crate) fn speaker(&self, pid: Option<u32>) -> Option<ThreadId> {
        let alive = self.alive.values().filter_map(|alive| self.known.get(&alive.process));
        alive
            .filter(|known| pid.is_none_or(|pid| known.process.pid == pid))
            .filter_map(|known| known.last_thread)
            .max()
    }

    /// The image that had a pid at a time.
    pub(crate) fn image_at(&self, pid: u32, time: u64) -> Option<ProcessId> {
        let images = self.known.iter().filter(|(_, known)| known.process.pid == pid && known.start <= time);
        images.map(|(id, _)| *id).max()
    }

    /// The image that has or had a place.
    pub(crate) fn in_place(&self, place: Place) -> Option<ProcessId> {
        self.by_slot.get(&(place.image, place.slot, place.told)).copied()
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
        self.count += 1;
        self.first_pid = self.first_pid.or(Some(process.pid));
        let mut known = Known {
            process,
            start: time,
            slot: (image.id, slot, told),
            last_thread: None,
            before: None,
            spare: Vec::new(),
            threads: process::Threads::default(),
        };
        // What has the number of one that is gone may be anybody.
        if let Some(pid) = if origin.is_none() { Some(image.info.pid) } else { pid } {
            self.subjects.add(Subject { process: id, pid, start_ticks });
            known.before = self.by_pid.insert(pid, id);
        }
        self.known.insert(id, known);
        self.by_slot.insert((image.id, slot, told), id);
        let begins_by = Some(origin.map_or(0, |origin| origin.fork));
        self.alive.insert((image.id, slot), Alive { process: id, execing: None, code: None, begins_by });
        Ok(true)
    }

    /// The image of a process that connected: perhaps after an exec.
    fn connected(&self, info: &Info) -> Process {
        let before = self.by_pid.get(&info.pid).and_then(|id| Some((*id, self.process(*id)?)));
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
            command: if self.rules.stores_command { info.command.clone() } else { Vec::new() },
            end: None,
            attached: info.attached,
        }
    }

    /// The image that fork made: in all but its pid a copy of its parent's.
    fn forked(&self, image: &Image, origin: Origin, told: u32, pid: Option<u32>) -> Process {
        let parent = self.by_slot.get(&(image.id, origin.slot, origin.pid)).copied();
        let origin = parent.and_then(|id| self.process(id));
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

    fn process(&self, id: ProcessId) -> Option<&Process> {
        self.known.get(&id).map(|known| &known.process)
    }

    /// A thread of the process in a slot.
    pub(crate) fn thread(
        &mut self,
        process: ProcessId,
        tid: u32,
        writer: &mut Writer,
    ) -> Result<ThreadId, Error> {
        let mut known = self.known.get_mut(&process);
        let name = known.as_mut().map_or_else(String::new, |known| known.thread_name(tid));
        let thread = Thread { process, tid, name };
        let id = match known.as_mut().and_then(|known| known.spare.pop()) {
            Some(id) => writer.update_thread(id, thread.clone()).map(|()| id)?,
            None => writer.thread(thread.clone())?,
        };
        if let Some(known) = known {
            known.last_thread = Some(id);
        }
        if self.rules.keeps_all && thread.name.is_empty() && self.nameless.len() < NAMELESS {
            self.nameless.insert(id, thread.clone());
        } else {
            // The id may be that of a thread that has ended.
            self.nameless.remove(&id);
        }
        self.threads.insert(id, thread);
        Ok(id)
    }

    /// Threads without a name, each with the pid of its process; not those of other namespaces, of which both numbers are others here.
    pub(crate) fn nameless_threads(&self) -> impl Iterator<Item = (ThreadId, u32, &Thread)> {
        let here = |thread: &Thread| {
            let known = self.known.get(&thread.process)?;
            let (_, _, told) = known.slot;
            (told == known.process.pid).then_some(told)
        };
        self.nameless.iter().filter_map(move |(id, thread)| Some((*id, here(thread)?, thread)))
    }

    /// A thread writes no more.
    pub(crate) fn leave(&mut self, id: ThreadId) {
        let Some(thread) = self.threads.remove(&id).filter(|_| self.rules.reuses_threads) else { return };
        if let Some(known) = self.known.get_mut(&thread.process) {
            known.spare.push(id);
        }
    }

    /// Reads a thread's name again: threads name themselves after they have started.
    pub(crate) fn rename(&mut self, id: ThreadId, writer: &mut Writer) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(&id) else { return Ok(()) };
        let Some(known) = self.known.get_mut(&thread.process) else { return Ok(()) };
        let name = known.thread_name(thread.tid);
        if !name.is_empty() && name != thread.name {
            thread.name = name;
            self.nameless.remove(&id);
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
        self.ended.push_back(alive.process);
        self.forget_oldest();
        Ok(Some(alive.process))
    }

    /// Forgets the image that ended first, when there are too many.
    fn forget_oldest(&mut self) {
        if self.rules.keeps_all || self.ended.len() <= ENDED {
            return;
        }
        let Some(id) = self.ended.pop_front() else { return };
        let Some(known) = self.known.remove(&id) else { return };
        let pid = known.process.pid;
        if Some(pid) == self.first_pid && self.by_pid.get(&pid) == Some(&id) {
            self.known.insert(id, known);
            return;
        }
        // Both may be of a later one by now.
        if self.by_pid.get(&pid) == Some(&id) {
            self.by_pid.remove(&pid);
        }
        if self.by_slot.get(&known.slot) == Some(&id) {
            self.by_slot.remove(&known.slot);
        }
    }

    /// Whoever started a process knows best how it ended, and by when. A process that began later has its pid, and is another one.
    pub(crate) fn note_exit(
        &mut self,
        pid: u32,
        time: u64,
        status: ExitStatus,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        use std::os::unix::process::ExitStatusExt;
        let known = |id: ProcessId| Some((id, self.known.get(&id)?));
        let latest = self.by_pid.get(&pid).and_then(|id| known(*id));
        let mut images = std::iter::successors(latest, |(_, image)| known(image.before?));
        let Some((id, _)) = images.find(|(_, image)| image.start <= time + SLACK) else { return Ok(()) };
        let end = self.process(id).and_then(|process| process.end.as_ref());
        let is_exec = end.is_some_and(|end| end.ended == Ended::Exec);
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
        let Some(process) = self.known.get_mut(&id).map(|known| &mut known.process) else { return Ok(()) };
        let before = process.end.as_ref().map(|end| end.time);
        process.end = Some(ProcessEnd { ended, time: before.or(time).unwrap_or(0) });
        writer.update_process(id, process.clone())
    }

    /// Names of the processes that still run, as `pid name`.
    pub(crate) fn running(&self) -> Vec<String> {
        self.with_starts()
            .filter(|(_, process, _)| process.end.as_ref().is_some_and(|end| end.ended == Ended::Running))
            .map(|(_, process, _)| format!("{} {}", process.pid, process.name))
            .collect()
    }

    /// The images that are known, in order, each with the time when it was first heard of.
    pub(crate) fn with_starts(&self) -> impl Iterator<Item = (ProcessId, &Process, u64)> {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_unstable_by_key(|(id, _)| **id);
        all.into_iter().map(|(id, known)| (*id, &known.process, known.start))
    }

    /// How many images there were.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

fn of_wait_status(status: i32) -> Ended {
    match status & 0x7F {
        0 => Ended::Exited(status >> 8 & 0xFF),
        signal => Ended::Signaled(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::Liveness;
    use crate::memory::{Memory, Policy};
    use capture::{Create, Metadata, Reader, Summary};
    use shared_ring::Geometry;
    use std::sync::Arc;

    const GEOMETRY: Geometry =
        Geometry { rings: 1, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };
    const FORKS: u32 = 3 * ENDED as u32;
    /// No process has such a number.
    const FIRST: u32 = 1 << 30;

    /// Check that of processes that had one pid after each other each has its own end, whoever asks for it when, and that one which
    /// nobody has waited for has none.
    #[test]
    fn pid_used_again_has_its_own_end() {
        let liveness = Arc::new(Liveness::start().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("again.memprof");
        let mut writer = Writer::create(&path, Create::New, &Metadata::default()).unwrap();
        let mut processes = Processes::new(Rules::default());
        let seconds = |number: u64| number * 1_000_000_000;
        for (number, begins) in [10, 20, 30].map(seconds).into_iter().enumerate() {
            let memory = Memory::new(GEOMETRY, Policy::default(), liveness.thread_id()).unwrap();
            let info = Info { pid: FIRST, own_pid: FIRST, start_ticks: begins, ..Info::default() };
            let image = Image::new(ImageId(number as u32), memory, info, liveness.clone(), Arc::default());
            processes.start(&image, 0, (FIRST, Some(FIRST)), None, begins, &mut writer).unwrap();
            processes.end(image.id, 0, End::Gone(None), begins + seconds(5), &mut writer).unwrap();
        }
        for (time, code) in [(9, 9), (17, 1), (27, 2)] {
            let status = std::os::unix::process::ExitStatusExt::from_raw(code << 8);
            processes.note_exit(FIRST, seconds(time), status, &mut writer).unwrap();
        }
        writer.finish(&Summary::default()).unwrap();
        let ends = Reader::open(&path).unwrap().into_tables().processes;
        let ends: Vec<Ended> = ends.into_iter().map(|process| process.end.unwrap().ended).collect();
        assert_eq!(ends, [Ended::Exited(1), Ended::Exited(2), Ended::Unknown]);
    }

    /// Check that any number of forks, each with threads, leaves no more than what ended lately, that the first process is known to the
    /// end, and that the capture has them all.
    #[test]
    fn what_ended_long_ago_is_forgotten() {
        for keeps_all in [false, true] {
            let liveness = Arc::new(Liveness::start().unwrap());
            let memory = Memory::new(GEOMETRY, Policy::default(), liveness.thread_id()).unwrap();
            let info = Info { pid: FIRST, own_pid: FIRST, ..Info::default() };
            let image = Image::new(ImageId(0), memory, info, liveness, Arc::default());
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("forks.memprof");
            let mut writer = Writer::create(&path, Create::New, &Metadata::default()).unwrap();
            let rules = Rules { keeps_all, reuses_threads: !keeps_all, ..Rules::default() };
            let mut processes = Processes::new(rules);
            processes.start(&image, 0, (FIRST, Some(FIRST)), None, 0, &mut writer).unwrap();
            for fork in 1..=FORKS {
                let origin = Some(Origin { slot: 0, pid: FIRST, fork });
                let told = FIRST + fork;
                processes.start(&image, 1, (told, Some(told)), origin, 0, &mut writer).unwrap();
                let (process, _) = processes.owner(image.id, 1).unwrap();
                assert_eq!(processes.last_thread(process), None);
                for tid in [told, 1] {
                    let thread = processes.thread(process, tid, &mut writer).unwrap();
                    assert_eq!(processes.speaker(Some(told)), Some(thread));
                    processes.leave(thread);
                }
                processes.end(image.id, 1, End::Gone(None), 0, &mut writer).unwrap();
                assert_eq!(processes.speaker(None), None);
            }
            let ended = if keeps_all { FORKS as usize } else { ENDED };
            let kept = (processes.known.len(), processes.by_pid.len(), processes.by_slot.len());
            assert_eq!(kept, (ended + 1, ended + 1, ended + 1));
            assert!(processes.threads.is_empty());

            processes.end(image.id, 0, End::Running, 0, &mut writer).unwrap();
            assert_eq!(processes.running().len(), 1);
            let status = std::os::unix::process::ExitStatusExt::from_raw(7 << 8);
            processes.note_exit(FIRST, 0, status, &mut writer).unwrap();
            writer.finish(&Summary::default()).unwrap();
            let reader = Reader::open(&path).unwrap();
            let all = &reader.tables().processes;
            assert_eq!((all.len(), processes.count()), (FORKS as usize + 1, FORKS as usize + 1));
            let threads = FORKS as usize * if keeps_all { 2 } else { 1 };
            assert_eq!(reader.tables().threads.len(), threads);
            assert_eq!(all[0].end.as_ref().map(|end| &end.ended), Some(&Ended::Exited(7)));
            assert!(all[1..].iter().all(|process| process.parent == Some(ProcessId::from_index(0))));
        }
    }
}
