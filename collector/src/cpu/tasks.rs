//! Processes and threads as the kernel reports them.
//!
//! | record | what it does |
//! |---|---|
//! | fork of a process | a new image with its parent's mappings |
//! | fork of a thread | a thread of the same image |
//! | comm with the exec flag | a new image without mappings |
//! | comm | another name |
//! | exit of a main thread | the end of the image |
//!
//! A process that appears without having been announced ran before the recording: it is looked up in `/proc`, once.
//!
//! If a ring had no room, any of these records may be missing, and a process may run something else than we believe:
//!
//! ```text
//!              gap      sample   now
//!   ───────────┬──────────┬───────┬──
//!   fork of sh ┆  exec?   │       │  /proc says sh   it is the same image; what it has mapped is read again
//!              ┆          │       │  /proc says cc   another image, of cc, from the gap on
//!              ┆          │ exec  │  … but then comes an exec from before now: what ran until then is not known
//!              ┆          │       │  it is gone      another image, of which nothing is known
//! ```
//!
//! So no sample is attributed to a program that may have been replaced. Mappings can be wrong only if something was
//! mapped over something else within that time.

mod found;

use super::batch::{Batch, Image, Task, ThreadName};
use super::record::Map;
use super::regions::{Regions, region_of};
use crate::base::clock::Clock;
use crate::base::glob;
use crate::remote_unwind::files::Files;
use crate::remote_unwind::space::{Mapping, Space};
use capture::Region;
use found::Found;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

/// Ticks for which a process is kept after its end: the kernel reports the end before it has finished with the
/// process, and still does work for it.
const LINGERS: u64 = 1 << 30;

/// All processes and threads.
pub(super) struct Tasks {
    clock: Clock,
    /// Ended processes: when they ended, pid, and image id.
    over: VecDeque<(u64, u32, u32)>,
    processes: FxHashMap<u32, Process>,
    threads: FxHashMap<u32, Thread>,
    images: u32,
    /// Number of threads that were sampled.
    sampled: u32,
    /// Names of programs that are wanted, and of those that are not.
    only: Vec<String>,
    skip: Vec<String>,
}

/// A process.
struct Process {
    id: u32,
    image: Image,
    space: Space,
    regions: Regions,
    /// Threads besides the main one.
    threads: i64,
    /// Its main thread has ended.
    is_over: bool,
    /// It has just executed a program and not mapped anything yet; its first mapping is that program.
    is_executing: bool,
    /// Since when records about it may be missing.
    doubted: Option<u64>,
    /// When it was looked up, which may be later than the record that caused it.
    looked_up: Option<u64>,
}

/// A thread that has a name, or was sampled.
#[derive(Default)]
struct Thread {
    pid: u32,
    name: String,
    /// Its task id, and the image for which that id is valid.
    task: Option<(u32, u32)>,
}

impl Tasks {
    pub(super) fn new(only: Vec<String>, skip: Vec<String>, clock: Clock) -> Tasks {
        Tasks {
            clock,
            over: VecDeque::new(),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            images: 0,
            sampled: 0,
            only,
            skip,
        }
    }

    /// A process or thread began.
    pub(super) fn fork(
        &mut self,
        (pid, parent, tid): (u32, u32, u32),
        parent_tid: u32,
        ticks: u64,
        files: &mut Files,
        batch: &mut Batch,
    ) {
        // A new thread has the name of the thread that made it.
        let named = self.threads.get(&parent_tid).filter(|thread| !thread.name.is_empty());
        let named = named.or_else(|| self.threads.get(&parent));
        let name = named.map_or_else(String::new, |thread| thread.name.clone());
        self.threads.insert(tid, Thread { pid, name, task: None });
        if pid == parent || pid != tid {
            if let Some(process) = self.processes.get_mut(&pid) {
                process.threads += 1;
            }
            return;
        }
        // Until it executes the program, our own child runs our code; by the time we would look it up, that is mostly
        // over.
        if parent == std::process::id() && !self.processes.contains_key(&parent) {
            self.look_up(parent, files, batch);
        }
        // Any other unknown parent began before us; its child is found in /proc when needed.
        let Some(parent) = self.processes.get(&parent) else { return };
        let image = Image {
            pid,
            parent: Some(parent.id),
            is_exec: false,
            is_unannounced: false,
            started: ticks,
            ended: None,
            is_sampled: false,
            ..parent.image.clone()
        };
        let process = Process {
            space: parent.space.clone(),
            regions: parent.regions.clone(),
            doubted: parent.doubted,
            ..Process::new(image)
        };
        self.add(process, batch);
    }

    /// A thread changed its name, perhaps because its process executed another program.
    pub(super) fn comm(&mut self, pid: u32, tid: u32, name: &[u8], exec: Option<u64>, batch: &mut Batch) {
        let name = String::from_utf8_lossy(name).into_owned();
        let thread = self.threads.entry(tid).or_default();
        (thread.pid, thread.name) = (pid, name.clone());
        if thread.task.is_some() {
            batch.names.push(ThreadName { pid, tid, name: name.clone() });
        }
        if let Some(ticks) = exec {
            let before = self.processes.get_mut(&pid);
            let parent = before.map(|process| {
                process.image.ended = Some(ticks);
                if process.looked_up.is_some_and(|then| ticks <= then) {
                    // The lookup found the program that is executed only now.
                    process.image.forget();
                }
                batch.images.push((process.id, process.image.clone()));
                process.id
            });
            let image = Image {
                pid,
                parent,
                is_exec: true,
                name,
                started: ticks,
                is_chosen: true,
                ..Image::default()
            };
            self.add(Process { is_executing: true, ..Process::new(image) }, batch);
        } else if let (true, Some(process)) = (pid == tid, self.processes.get_mut(&pid)) {
            process.image.name = name;
            batch.images.push((process.id, process.image.clone()));
        }
    }

    /// A process mapped code, or other memory if that was asked for.
    pub(super) fn map(&mut self, map: &Map<'_>, ticks: u64, files: &mut Files, batch: &mut Batch) {
        let Some(process) = self.processes.get_mut(&map.pid) else { return };
        let end = map.start.saturating_add(map.length);
        process.regions.map(map.start, end, region_of(map.path));
        if !map.is_code {
            return;
        }
        let file = files.id(map.path, map.build_id, map.identity);
        if let Some(file) = file {
            let ago = self.clock.duration(self.clock.ticks().saturating_sub(ticks));
            files.was_mapped(file, SystemTime::now().checked_sub(Duration::from_nanos(ago)));
        }
        let mapping = Mapping { end, offset: map.offset, file };
        // The kernel maps the program itself first, then its loader.
        if std::mem::take(&mut process.is_executing) {
            process.image.executable = String::from_utf8_lossy(map.path).into_owned();
            process.image.is_chosen = is_chosen(&process.image, &self.only, &self.skip);
            batch.images.push((process.id, process.image.clone()));
        }
        process.space.map(map.start, mapping);
    }

    /// Forgets processes that ended so long ago that the kernel has finished with them.
    fn forget(&mut self, ticks: u64, batch: &mut Batch) {
        while let Some((_, pid, id)) =
            self.over.pop_front_if(|(ended, ..)| ticks.saturating_sub(*ended) > LINGERS)
        {
            // Another process may have the pid by now.
            if self.processes.get(&pid).is_some_and(|process| process.id == id) {
                self.processes.remove(&pid);
                self.threads.remove(&pid);
                batch.gone.push(id);
            }
        }
    }

    /// A thread ended.
    pub(super) fn exit(&mut self, pid: u32, tid: u32, ticks: u64, batch: &mut Batch) {
        self.forget(ticks, batch);
        // The writer may come too late to read its name from /proc.
        if pid != tid
            && let Some(Thread { name, .. }) = self.threads.remove(&tid)
            && !name.is_empty()
        {
            batch.names.push(ThreadName { pid, tid, name });
        }
        let Some(process) = self.processes.get_mut(&pid) else {
            // No other record has mentioned the process, and none will.
            self.threads.remove(&tid);
            return;
        };
        if pid == tid {
            process.is_over = true;
            process.image.ended = Some(ticks);
            batch.images.push((process.id, process.image.clone()));
        } else {
            process.threads -= 1;
        }
        if process.is_over && process.threads <= 0 {
            self.over.push_back((ticks, pid, process.id));
        }
    }

    /// What a sample needs of its thread: the task's id and the mappings. `None` if the user does not want the
    /// process.
    pub(super) fn sampled(
        &mut self,
        pid: u32,
        tid: u32,
        files: &mut Files,
        batch: &mut Batch,
    ) -> Option<(u32, &Space)> {
        match self.processes.get_mut(&pid).map(|process| process.doubted.take()) {
            None => self.look_up(pid, files, batch),
            Some(Some(since)) => self.look_again(pid, since, files, batch),
            Some(None) => {}
        }
        let process = self.processes.get_mut(&pid)?;
        if !process.image.is_chosen {
            return None;
        }
        if !process.image.is_sampled {
            process.image.is_sampled = true;
            batch.images.push((process.id, process.image.clone()));
        }
        let thread = self.threads.entry(tid).or_default();
        if thread.pid != pid || thread.name.is_empty() {
            let name = crate::proc::process::thread_name(pid, tid);
            thread.pid = pid;
            thread.name = if name.is_empty() { process.image.name.clone() } else { name };
        }
        let task = match thread.task {
            Some((id, image)) if image == process.id => id,
            _ => {
                let id = self.sampled;
                self.sampled += 1;
                thread.task = Some((id, process.id));
                let name = thread.name.clone();
                batch.tasks.push((id, Task { image: process.id, pid, tid, name }));
                id
            }
        };
        Some((task, &process.space))
    }

    /// The kind of memory at an address of a known process, when touched by a thread whose stack pointer is `sp`.
    pub(super) fn region(&self, pid: u32, address: u64, sp: Option<u64>) -> Region {
        self.processes.get(&pid).map_or(Region::Unknown, |process| process.regions.of(address, sp))
    }

    /// True if a process has executed a program of which nothing is mapped yet: its registers are still those of the
    /// old program.
    pub(super) fn is_executing(&self, pid: u32) -> bool {
        self.processes.get(&pid).is_some_and(|process| process.is_executing)
    }

    /// Records of any process that were written after this may be missing.
    pub(super) fn doubt(&mut self, ticks: u64) {
        for process in self.processes.values_mut() {
            process.doubted.get_or_insert(ticks);
            process.is_executing = false;
        }
    }

    /// Adds an unannounced process with what `/proc` says about it. If it is already gone, only its pid is known.
    pub(super) fn look_up(&mut self, pid: u32, files: &mut Files, batch: &mut Batch) {
        let found = Found::of(pid);
        if found.is_of_kernel && !found.name.is_empty() {
            self.threads.insert(pid, Thread { pid, name: found.name.clone(), task: None });
        }
        self.add_found(&found, Image { pid, ..Image::default() }, files, batch);
    }

    /// Checks whether a process still runs the known program, after records of it may have been missed.
    fn look_again(&mut self, pid: u32, since: u64, files: &mut Files, batch: &mut Batch) {
        let found = Found::of(pid);
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let image = &mut process.image;
        if found.runs(image) {
            found.map(&mut process.space, &mut process.regions, files);
            if image.executable.is_empty() && !found.executable.is_empty() {
                image.executable = found.executable;
                image.is_chosen = is_chosen(image, &self.only, &self.skip);
                batch.images.push((process.id, image.clone()));
            }
            return;
        }
        image.ended = Some(since);
        batch.images.push((process.id, image.clone()));
        let parent = Some(process.id);
        // Their names may be outdated, too.
        for thread in self.threads.values_mut().filter(|thread| thread.pid == pid) {
            *thread = Thread { pid, ..Thread::default() };
        }
        let image =
            Image { pid, parent, is_exec: true, is_unannounced: true, started: since, ..Image::default() };
        self.add_found(&found, image, files, batch);
    }

    /// Adds a process that was found, as the given image.
    fn add_found(&mut self, found: &Found, image: Image, files: &mut Files, batch: &mut Batch) {
        let (mut space, mut regions) = (Space::default(), Regions::default());
        found.map(&mut space, &mut regions, files);
        let mut image = Image { name: found.name.clone(), executable: found.executable.clone(), ..image };
        image.is_chosen = is_chosen(&image, &self.only, &self.skip);
        let looked_up = Some(self.clock.ticks());
        self.add(Process { space, regions, looked_up, ..Process::new(image) }, batch);
    }

    fn add(&mut self, process: Process, batch: &mut Batch) {
        let id = self.images;
        self.images += 1;
        batch.images.push((id, process.image.clone()));
        // An exec ends the other threads, and each end is reported.
        let before = self.processes.remove(&process.image.pid);
        let threads = before.as_ref().map_or(0, |before| before.threads);
        batch.gone.extend(before.map(|before| before.id));
        self.processes.insert(process.image.pid, Process { id, threads, ..process });
    }
}

impl Process {
    /// A process without mappings; it gets its id when it is added.
    fn new(image: Image) -> Process {
        Process {
            id: 0,
            image,
            space: Space::default(),
            regions: Regions::default(),
            threads: 0,
            is_over: false,
            is_executing: false,
            doubted: None,
            looked_up: None,
        }
    }
}

/// Whether the user wants a program that has the image's name, or its executable's.
fn is_chosen(image: &Image, only: &[String], skip: &[String]) -> bool {
    let executable = image.executable.rsplit('/').next().unwrap_or_default();
    glob::is_chosen(&[&image.name, executable], only, skip)
}

#[cfg(test)]
mod tests;
