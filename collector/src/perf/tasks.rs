//! Processes and threads as the kernel tells of them.
//!
//! | record | what it does |
//! |---|---|
//! | fork of a process | a new image with its parent's mappings |
//! | fork of a thread | a thread of the same image |
//! | comm with the exec flag | a new image without mappings |
//! | comm | another name |
//! | exit of a main thread | the end of the image |
//!
//! What is met without having been announced ran before: it is looked up in `/proc`, once.

use super::batch::{Batch, Image, Task};
use super::files::{FileId, Files};
use super::record::Map;
use super::regions::{Regions, region_of};
use super::space::{Mapping, Space};
use crate::glob;
use capture::Region;
use rustc_hash::FxHashMap;

/// Among the flags of `/proc/PID/stat`: `PF_KTHREAD`.
const THREAD_OF_KERNEL: u32 = 0x0020_0000;

/// Processes and threads.
pub(super) struct Tasks {
    processes: FxHashMap<u32, Process>,
    threads: FxHashMap<u32, Thread>,
    images: u32,
    /// Threads that were sampled.
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
    /// Beside the main one.
    threads: i64,
    /// Its main thread has ended.
    is_over: bool,
}

/// A thread that has a name, or was sampled.
#[derive(Default)]
struct Thread {
    pid: u32,
    name: String,
    /// Its id with the image for which that holds.
    task: Option<(u32, u32)>,
}

impl Tasks {
    pub(super) fn new(only: Vec<String>, skip: Vec<String>) -> Tasks {
        Tasks {
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            images: 0,
            sampled: 0,
            only,
            skip,
        }
    }

    /// A process or thread began.
    pub(super) fn fork(&mut self, pid: u32, parent: u32, tid: u32, ticks: u64, batch: &mut Batch) {
        let name = self.threads.get(&parent).map_or_else(String::new, |thread| thread.name.clone());
        self.threads.insert(tid, Thread { pid, name, task: None });
        if pid == parent || pid != tid {
            if let Some(process) = self.processes.get_mut(&pid) {
                process.threads += 1;
            }
            return;
        }
        // A parent that is not known began before us, and so its child is found in /proc when it is needed.
        let Some(parent) = self.processes.get(&parent) else { return };
        let image = Image {
            pid,
            parent: Some(parent.id),
            is_exec: false,
            started: ticks,
            ended: None,
            is_sampled: false,
            ..parent.image.clone()
        };
        let (space, regions) = (parent.space.clone(), parent.regions.clone());
        self.add(image, space, regions, batch);
    }

    /// A thread has another name, perhaps because its process executes another program.
    pub(super) fn comm(&mut self, pid: u32, tid: u32, name: &[u8], exec: Option<u64>, batch: &mut Batch) {
        let name = String::from_utf8_lossy(name).into_owned();
        let thread = self.threads.entry(tid).or_default();
        (thread.pid, thread.name) = (pid, name.clone());
        if let Some(ticks) = exec {
            let before = self.processes.get_mut(&pid);
            let parent = before.map(|process| {
                process.image.ended = Some(ticks);
                batch.images.push((process.id, process.image.clone()));
                process.id
            });
            let image = Image { pid, parent, is_exec: true, name, started: ticks, ..Image::default() };
            self.add(Image { is_chosen: true, ..image }, Space::default(), Regions::default(), batch);
        } else if let (true, Some(process)) = (pid == tid, self.processes.get_mut(&pid)) {
            process.image.name = name;
            batch.images.push((process.id, process.image.clone()));
        }
    }

    /// A process mapped code, or other memory where that is asked for.
    pub(super) fn map(&mut self, map: &Map<'_>, files: &mut Files, batch: &mut Batch) {
        let Some(process) = self.processes.get_mut(&map.pid) else { return };
        let end = map.start.saturating_add(map.length);
        process.regions.map(map.start, end, region_of(map.path));
        if !map.is_code {
            return;
        }
        let file = files.id(map.path, map.build_id, map.inode);
        let mapping = Mapping { end, offset: map.offset, file };
        // The kernel maps the program itself first, and then its loader.
        if process.space.is_empty() && process.image.executable.is_empty() {
            process.image.executable = String::from_utf8_lossy(map.path).into_owned();
            process.image.is_chosen = is_chosen(&process.image, &self.only, &self.skip);
            batch.images.push((process.id, process.image.clone()));
        }
        process.space.map(map.start, mapping);
    }

    /// A thread ended.
    pub(super) fn exit(&mut self, pid: u32, tid: u32, ticks: u64, batch: &mut Batch) {
        self.threads.remove(&tid);
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if pid == tid {
            process.is_over = true;
            process.image.ended = Some(ticks);
            batch.images.push((process.id, process.image.clone()));
        } else {
            process.threads -= 1;
        }
        if process.is_over && process.threads <= 0 {
            self.processes.remove(&pid);
        }
    }

    /// What a sample needs of its thread: the task's id, and the mappings. None where the user does not want it.
    pub(super) fn sampled(
        &mut self,
        pid: u32,
        tid: u32,
        files: &mut Files,
        batch: &mut Batch,
    ) -> Option<(u32, &Space)> {
        if !self.processes.contains_key(&pid) {
            self.look_up(pid, files, batch);
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
            let name = crate::process::thread_name(pid, pid, tid);
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

    /// What kind of memory an address of a known process is, when a thread whose stack is at `sp` touches it.
    pub(super) fn region(&self, pid: u32, address: u64, sp: Option<u64>) -> Region {
        self.processes.get(&pid).map_or(Region::Unknown, |process| process.regions.of(address, sp))
    }

    /// Reads of a process that was not announced what `/proc` has. One that is gone has a number only.
    pub(super) fn look_up(&mut self, pid: u32, files: &mut Files, batch: &mut Batch) {
        let (mut space, mut regions) = (Space::default(), Regions::default());
        let name = crate::process::thread_name(pid, pid, pid);
        let mut image = Image { pid, name, ..Image::default() };
        if let Ok(process) = procfs::process::Process::new(pid.cast_signed()) {
            image.executable =
                process.exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
            for map in process.maps().into_iter().flatten() {
                regions.map(map.address.0, map.address.1, region_of_map(&map));
                if !map.perms.contains(procfs::process::MMPermissions::EXECUTE) {
                    continue;
                }
                let file = file_of(&map, files);
                let (start, end) = map.address;
                space.map(start, Mapping { end, offset: map.offset, file });
            }
            // Of others' processes we may not know more than of these.
            let is_of_kernel = process.stat().is_ok_and(|stat| stat.flags & THREAD_OF_KERNEL != 0);
            if is_of_kernel && !image.name.is_empty() {
                image.name = format!("[{}]", image.name);
                self.threads.insert(pid, Thread { pid, name: image.name.clone(), task: None });
            }
        }
        image.is_chosen = is_chosen(&image, &self.only, &self.skip);
        self.add(image, space, regions, batch);
    }

    fn add(&mut self, image: Image, space: Space, regions: Regions, batch: &mut Batch) {
        let id = self.images;
        self.images += 1;
        batch.images.push((id, image.clone()));
        let threads = self.processes.get(&image.pid).map_or(0, |process| process.threads);
        // Other threads end when one executes a program, and each says so.
        let process = Process { id, space, regions, threads, is_over: false, image };
        self.processes.insert(process.image.pid, process);
    }
}

/// Whether the user asked for a program of this name.
fn is_chosen(image: &Image, only: &[String], skip: &[String]) -> bool {
    let name = image.executable.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&image.name);
    glob::is_chosen(name, only, skip)
}

/// The file of a mapping that `/proc` tells of.
fn file_of(map: &procfs::process::MemoryMap, files: &mut Files) -> Option<FileId> {
    use procfs::process::MMapPath;
    match &map.pathname {
        MMapPath::Path(path) => files.id(path.as_os_str().as_encoded_bytes(), &[], map.inode),
        MMapPath::Vdso => files.id(crate::modules::VDSO.as_bytes(), &[], 0),
        _ => None,
    }
}

/// The kind of memory of a mapping that `/proc` tells of.
fn region_of_map(map: &procfs::process::MemoryMap) -> Region {
    use procfs::process::MMapPath;
    match &map.pathname {
        MMapPath::Path(path) => region_of(path.as_os_str().as_encoded_bytes()),
        MMapPath::Heap => Region::Heap,
        MMapPath::Stack | MMapPath::TStack(_) => Region::Stack,
        MMapPath::Anonymous => Region::Anonymous,
        MMapPath::Other(name) if name.starts_with("anon:") => Region::Anonymous,
        MMapPath::Vsys(_) => Region::File,
        _ => Region::Unknown,
    }
}

#[cfg(test)]
mod tests;
