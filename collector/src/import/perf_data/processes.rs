//! Processes and their mappings, from the records of a file.

use super::Problem;
use crate::import::budget::Budget;
use crate::proc::mapped_file::Identity;
use crate::remote_unwind::files::{FileId, Files};
use crate::remote_unwind::space::{Mapping, Space};
use crate::tables::module::module_of;
use capture::{Ended, Error, ModuleId, Process, ProcessEnd, ProcessId, Sink, Task, TaskId, Writer};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::time::SystemTime;

/// Longest path or name; no file has a longer one.
const LONGEST: usize = 4096;

/// All processes of a file.
pub(super) struct Processes {
    by_pid: FxHashMap<u32, Image>,
    tasks: FxHashMap<(u32, u32, ProcessId), TaskId>,
    names: FxHashMap<u32, Rc<str>>,
    modules: FxHashMap<FileId, ModuleId>,
    pub(super) files: Files,
    budget: Budget,
}

/// A program that a process executes.
struct Image {
    id: ProcessId,
    /// Everything but the strings, which forked processes share.
    row: Process,
    name: Rc<str>,
    executable: Rc<str>,
    space: Space,
}

impl Image {
    /// An image of which nothing else is known.
    fn of(row: Process) -> Image {
        Image { id: ProcessId(0), row, name: "".into(), executable: "".into(), space: Space::default() }
    }

    fn row(&self) -> Process {
        let [name, executable] = [&self.name, &self.executable].map(ToString::to_string);
        Process { name, executable, ..self.row.clone() }
    }
}

/// A mapping record.
pub(super) struct Map<'a> {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) offset: u64,
    pub(super) build_id: &'a [u8],
    pub(super) inode: u64,
    pub(super) path: &'a [u8],
}

impl Processes {
    /// Files are looked up by path on this machine, and nowhere else.
    pub(super) fn new(budget: Budget, written: Option<SystemTime>) -> Processes {
        Processes {
            by_pid: FxHashMap::default(),
            tasks: FxHashMap::default(),
            names: FxHashMap::default(),
            modules: FxHashMap::default(),
            files: Files::of_a_file(written),
            budget,
        }
    }

    fn image<S: Sink>(&mut self, pid: u32, writer: &mut Writer<S>) -> Result<&mut Image, Error> {
        if !self.by_pid.contains_key(&pid) {
            let name = self.names.get(&pid).cloned().unwrap_or_else(|| format!("[pid = {pid}]").into());
            let row = Process { pid, attached: true, ..Process::default() };
            self.begin(Image { name, ..Image::of(row) }, writer)?;
        }
        // The entry was just inserted.
        Ok(self.by_pid.entry(pid).or_insert_with(|| Image::of(Process::default())))
    }

    fn begin<S: Sink>(&mut self, image: Image, writer: &mut Writer<S>) -> Result<(), Error> {
        let id = writer.process(image.row())?;
        self.by_pid.insert(image.row.pid, Image { id, ..image });
        Ok(())
    }

    /// A thread changed its name; with `exec`, because its process executed another program at that time.
    pub(super) fn comm<S: Sink>(
        &mut self,
        (pid, tid): (u32, u32),
        name: &[u8],
        exec: Option<u64>,
        writer: &mut Writer<S>,
    ) -> Result<(), Error> {
        let name: Rc<str> = text(name).into();
        self.names.insert(tid, name.clone());
        if let Some(time) = exec {
            let before = self.end(pid, Ended::Exec, time, writer)?;
            let image = before.as_ref().map_or(0, |(_, row)| row.image) + 1;
            let row = Process { pid, image, parent: before.map(|(id, _)| id), ..Process::default() };
            return self.begin(Image { name, ..Image::of(row) }, writer);
        }
        if pid == tid {
            let image = self.image(pid, writer)?;
            if image.executable.is_empty() {
                image.name = name;
                let (id, row) = (image.id, image.row());
                writer.update_process(id, row)?;
            }
        }
        Ok(())
    }

    /// A process mapped code.
    pub(super) fn map<S: Sink>(&mut self, map: &Map<'_>, writer: &mut Writer<S>) -> Result<(), Problem> {
        let file = self.files.id(map.path, map.build_id, Identity { device: 0, inode: map.inode });
        let end = map.start.saturating_add(map.length);
        self.image(map.pid, writer)?;
        let Some(image) = self.by_pid.get_mut(&map.pid) else { return Ok(()) };
        self.budget.charge(image.space.cost_of_map())?;
        image.space.map(map.start, Mapping { end, offset: map.offset, file });
        // The kernel maps the program itself first, then its loader.
        if file.is_some() && image.executable.is_empty() {
            image.executable = text(map.path).into();
            image.name = super::super::program(&image.executable).into();
            let (id, row) = (image.id, image.row());
            writer.update_process(id, row)?;
        }
        Ok(())
    }

    /// A process began as a copy of another.
    pub(super) fn fork<S: Sink>(
        &mut self,
        pid: u32,
        parent: u32,
        writer: &mut Writer<S>,
    ) -> Result<(), Problem> {
        let above = self.image(parent, writer)?;
        let row = Process {
            pid,
            parent_pid: parent,
            parent: Some(above.id),
            forked: true,
            end: None,
            ..above.row.clone()
        };
        let image = Image {
            row,
            name: above.name.clone(),
            executable: above.executable.clone(),
            space: above.space.clone(),
            ..*above
        };
        // The image's row has the strings once more.
        self.budget.charge(2 * size_of::<Image>() + image.name.len() + image.executable.len())?;
        Ok(self.begin(image, writer)?)
    }

    /// A process ended; returns its image.
    pub(super) fn end<S: Sink>(
        &mut self,
        pid: u32,
        ended: Ended,
        time: u64,
        writer: &mut Writer<S>,
    ) -> Result<Option<(ProcessId, Process)>, Error> {
        let Some(mut image) = self.by_pid.remove(&pid) else { return Ok(None) };
        image.row.end = Some(ProcessEnd { ended, time });
        writer.update_process(image.id, image.row())?;
        Ok(Some((image.id, image.row)))
    }

    /// What a sample needs of its thread.
    pub(super) fn sampled<S: Sink>(
        &mut self,
        (pid, tid): (u32, u32),
        writer: &mut Writer<S>,
    ) -> Result<(TaskId, Space), Error> {
        let image = self.image(pid, writer)?;
        let (id, space, program) = (image.id, image.space.clone(), image.name.clone());
        let task = match self.tasks.get(&(pid, tid, id)) {
            Some(task) => *task,
            None => {
                let name = self.names.get(&tid).unwrap_or(&program).to_string();
                let task = writer.task(Task { pid, tid, name, process: Some(id) })?;
                self.tasks.insert((pid, tid, id), task);
                task
            }
        };
        Ok((task, space))
    }

    /// The capture's row for a file.
    pub(super) fn module<S: Sink>(
        &mut self,
        file: FileId,
        writer: &mut Writer<S>,
    ) -> Result<ModuleId, Error> {
        if let Some(known) = self.modules.get(&file) {
            return Ok(*known);
        }
        let id = writer.module(module_of(&self.files.file(file, 0).file))?;
        self.modules.insert(file, id);
        Ok(id)
    }
}

/// A string from a record, cut to the longest length that one can have.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..LONGEST).unwrap_or(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Create, Metadata};

    /// Check that the copies made for forks of a large process are limited by the budget, and that strings have their
    /// greatest length.
    #[test]
    fn forks_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.memprof");
        let mut writer = Writer::create(&path, Create::New, &Metadata::default()).unwrap();
        let mut processes = Processes::new(Budget::small(1 << 20), None);
        let long = [&b"/"[..], &[b'x'; 60_000]].concat();
        let map = |pid, start| Map { pid, start, length: 1, offset: 0, build_id: &[], inode: 1, path: &long };
        processes.map(&map(1, 0), &mut writer).unwrap();
        assert_eq!(
            (processes.by_pid[&1].executable.len(), processes.by_pid[&1].name.len()),
            (LONGEST, LONGEST - 1)
        );
        let forked = (2..).map(|pid| processes.fork(pid, 1, &mut writer)).take_while(Result::is_ok).count();
        assert!((50..(1 << 20) / (2 * LONGEST)).contains(&forked), "{forked}");
        // Shared mappings are copied when either side changes.
        let mut processes = Processes::new(Budget::small(1 << 20), None);
        let map = |pid, start| Map { path: b"/x", ..map(pid, start) };
        (0..1000).for_each(|start| processes.map(&map(1, start), &mut writer).unwrap());
        let mut one_more = |pid| {
            processes.fork(pid, 1, &mut writer)?;
            processes.map(&map(pid, 5000), &mut writer)
        };
        let forked = (2..).take_while(|pid| one_more(*pid).is_ok()).count();
        assert!((5..100).contains(&forked), "{forked}");
    }
}
