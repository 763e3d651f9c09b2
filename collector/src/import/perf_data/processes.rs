//! Processes as the records of a file tell of them, and what they had mapped.

use crate::perf::{FileId, Files, Mapping, Space};
use capture::{Ended, Error, Module, ModuleId, Process, ProcessEnd, ProcessId, Sink, Task, TaskId, Writer};
use rustc_hash::FxHashMap;

/// All processes of a file.
#[derive(Default)]
pub(super) struct Processes {
    by_pid: FxHashMap<u32, Image>,
    tasks: FxHashMap<(u32, u32, ProcessId), TaskId>,
    names: FxHashMap<u32, String>,
    modules: FxHashMap<FileId, ModuleId>,
    pub(super) files: Files,
}

/// The program that a process executes.
struct Image {
    id: ProcessId,
    row: Process,
    space: Space,
}

/// A mapping, as records have it.
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
    /// Of a file whose paths are looked for here, and nowhere else.
    pub(super) fn new() -> Processes {
        Processes { files: Files::of_a_file(), ..Processes::default() }
    }

    fn image<S: Sink>(&mut self, pid: u32, writer: &mut Writer<S>) -> Result<&mut Image, Error> {
        if !self.by_pid.contains_key(&pid) {
            let name = self.names.get(&pid).cloned().unwrap_or_else(|| format!("[pid = {pid}]"));
            let row = Process { pid, name, attached: true, ..Process::default() };
            self.begin(row, Space::default(), writer)?;
        }
        // It was just put there.
        Ok(self.by_pid.entry(pid).or_insert_with(|| Image {
            id: ProcessId(0),
            row: Process::default(),
            space: Space::default(),
        }))
    }

    fn begin<S: Sink>(&mut self, row: Process, space: Space, writer: &mut Writer<S>) -> Result<(), Error> {
        let id = writer.process(row.clone())?;
        self.by_pid.insert(row.pid, Image { id, row, space });
        Ok(())
    }

    /// A thread has a name; with `exec`, because its process executes another program from that time on.
    pub(super) fn comm<S: Sink>(
        &mut self,
        (pid, tid): (u32, u32),
        name: &[u8],
        exec: Option<u64>,
        writer: &mut Writer<S>,
    ) -> Result<(), Error> {
        let name = String::from_utf8_lossy(name).into_owned();
        self.names.insert(tid, name.clone());
        if let Some(time) = exec {
            let before = self.end(pid, Ended::Exec, time, writer)?;
            let image = before.as_ref().map_or(0, |(_, row)| row.image) + 1;
            let row = Process { pid, name, image, parent: before.map(|(id, _)| id), ..Process::default() };
            return self.begin(row, Space::default(), writer);
        }
        if pid == tid {
            let image = self.image(pid, writer)?;
            if image.row.executable.is_empty() {
                image.row.name = name;
                let (id, row) = (image.id, image.row.clone());
                writer.update_process(id, row)?;
            }
        }
        Ok(())
    }

    /// A process has mapped code.
    pub(super) fn map<S: Sink>(&mut self, map: &Map<'_>, writer: &mut Writer<S>) -> Result<(), Error> {
        let file = self.files.id(map.path, map.build_id, map.inode);
        let end = map.start.saturating_add(map.length);
        let image = self.image(map.pid, writer)?;
        image.space.map(map.start, Mapping { end, offset: map.offset, file });
        // The kernel maps the program itself first, and then its loader.
        if file.is_some() && image.row.executable.is_empty() {
            image.row.executable = String::from_utf8_lossy(map.path).into_owned();
            image.row.name = super::super::program(&image.row.executable);
            let (id, row) = (image.id, image.row.clone());
            writer.update_process(id, row)?;
        }
        Ok(())
    }

    /// A process began as a copy of another one.
    pub(super) fn fork<S: Sink>(
        &mut self,
        pid: u32,
        parent: u32,
        writer: &mut Writer<S>,
    ) -> Result<(), Error> {
        let above = self.image(parent, writer)?;
        let (space, id) = (above.space.clone(), above.id);
        let row = Process {
            pid,
            parent_pid: parent,
            parent: Some(id),
            forked: true,
            end: None,
            ..above.row.clone()
        };
        self.begin(row, space, writer)
    }

    /// A process has ended; gives what it was.
    pub(super) fn end<S: Sink>(
        &mut self,
        pid: u32,
        ended: Ended,
        time: u64,
        writer: &mut Writer<S>,
    ) -> Result<Option<(ProcessId, Process)>, Error> {
        let Some(Image { id, mut row, .. }) = self.by_pid.remove(&pid) else { return Ok(None) };
        row.end = Some(ProcessEnd { ended, time });
        writer.update_process(id, row.clone())?;
        Ok(Some((id, row)))
    }

    /// What a sample needs of its thread.
    pub(super) fn sampled<S: Sink>(
        &mut self,
        (pid, tid): (u32, u32),
        writer: &mut Writer<S>,
    ) -> Result<(TaskId, Space), Error> {
        let image = self.image(pid, writer)?;
        let (id, space, program) = (image.id, image.space.clone(), image.row.name.clone());
        let task = match self.tasks.get(&(pid, tid, id)) {
            Some(task) => *task,
            None => {
                let name = self.names.get(&tid).cloned().unwrap_or(program);
                let task = writer.task(Task { pid, tid, name, process: Some(id) })?;
                self.tasks.insert((pid, tid, id), task);
                task
            }
        };
        Ok((task, space))
    }

    /// A file's row.
    pub(super) fn module<S: Sink>(
        &mut self,
        file: FileId,
        writer: &mut Writer<S>,
    ) -> Result<ModuleId, Error> {
        if let Some(known) = self.modules.get(&file) {
            return Ok(*known);
        }
        let file_row = self.files.file(file, 0);
        let id = writer.module(Module {
            path: file_row.path.to_string_lossy().into_owned(),
            build_id: file_row.build_id.clone(),
            device: file_row.device,
            inode: file_row.inode,
            modified_ns: file_row.modified_ns,
        })?;
        self.modules.insert(file, id);
        Ok(id)
    }
}
