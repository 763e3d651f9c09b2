//! The rows of the tables: each gets its id at once and is written with the next flush.

use super::{Writer, known};
use crate::error::Error;
use crate::format::{MAX_RECORD, MAX_STRING};
use crate::ids::{FrameId, MarkId, ModuleId, NodeId, ProcessId, ScanId, StringId, TaskId, ThreadId};
use crate::intern::Identity;
use crate::meta;
use crate::model::{Frame, Mark, Module, Node, Process, Symbolized, Task, Thread};
use crate::observer::Observer;
use crate::scan::Scan;
use crate::sink::Sink;

impl<W: Sink, O: Observer> Writer<W, O> {
    /// The id of a string. Strings above 1 MiB are cut.
    ///
    /// # Errors
    /// As [`Writer::flush`], or when the table is full.
    pub fn string(&mut self, text: &str) -> Result<StringId, Error> {
        let text = &text[..text.floor_char_boundary(MAX_STRING)];
        if let Some(id) = self.interner.strings.get(text) {
            return Ok(id);
        }
        let id = self.interner.strings.insert(text.into())?;
        let rows = &mut self.pending.strings;
        meta::put_bytes(&mut rows.bytes, text.as_bytes());
        rows.count += 1;
        self.limit()?;
        Ok(id)
    }

    /// The id of a module. Modules with equal build ids share the id and row of the first.
    ///
    /// # Errors
    /// As [`Writer::flush`], or when the table is full.
    pub fn module(&mut self, module: Module) -> Result<ModuleId, Error> {
        let identity = Identity::of(&module);
        if let Some(id) = self.interner.modules.get(&identity) {
            return Ok(id);
        }
        let rows = &mut self.pending.modules;
        meta::put(&mut rows.bytes, "a module", &module)?;
        rows.count += 1;
        let id = self.interner.modules.insert(identity)?;
        self.limit()?;
        Ok(id)
    }

    /// The id of a code address or pseudo frame.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a module that is not of this capture; as [`Writer::flush`]; when the table is full.
    pub fn frame(&mut self, frame: Frame) -> Result<FrameId, Error> {
        if let Frame::Code { module: Some(module), .. } = frame {
            known("a frame", "module", module.0, self.interner.modules.len())?;
        }
        let (id, is_new) = self.interner.frames.enter(frame)?;
        if is_new {
            self.pending.frames.push(frame);
            self.limit()?;
        }
        Ok(id)
    }

    /// The id of a stack: `frame`, called from `parent`.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`]; when the table is full.
    pub fn node(&mut self, parent: NodeId, frame: FrameId) -> Result<NodeId, Error> {
        known("a stack", "stack", parent.0, self.interner.nodes.len())?;
        known("a stack", "frame", frame.0, self.interner.frames.len())?;
        let node = Node { parent, frame };
        let (id, is_new) = self.interner.nodes.enter(node)?;
        if is_new {
            self.pending.nodes.push(node);
            self.observer.stacks(self.interner.nodes.len() as usize);
            self.limit()?;
        }
        Ok(id)
    }

    /// Adds a process image. Its id identifies it, so a pid may occur again.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a parent that is not of this capture; as [`Writer::flush`].
    pub fn process(&mut self, process: Process) -> Result<ProcessId, Error> {
        let id = next_id("processes", self.processes)?;
        self.processes += 1;
        let result = self.update_process(ProcessId(id), process);
        if result.is_err() {
            self.processes -= 1;
        }
        result.map(|()| ProcessId(id))
    }

    /// Replaces what is known about a process image. Texts too long for a row are cut.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id, or a parent that does not come before it; as [`Writer::flush`].
    pub fn update_process(&mut self, id: ProcessId, process: Process) -> Result<(), Error> {
        known("an update of a process", "process", id.0, self.processes)?;
        if let Some(parent) = process.parent {
            known("a process", "parent", parent.0, id.0.into())?;
        }
        self.observer.process(id, &process);
        let rows = &mut self.pending.processes;
        let what = "a process with its command line";
        match meta::put(&mut rows.bytes, what, &(id, &process)) {
            Err(Error::TooLarge { .. }) => meta::put(&mut rows.bytes, what, &(id, cut(process)))?,
            put => put?,
        }
        rows.count += 1;
        self.limit()
    }

    /// Adds a thread.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a process that is not of this capture; as [`Writer::flush`].
    pub fn thread(&mut self, thread: Thread) -> Result<ThreadId, Error> {
        let id = next_id("threads", self.threads)?;
        self.threads += 1;
        let result = self.update_thread(ThreadId(id), thread);
        if result.is_err() {
            self.threads -= 1;
        }
        result.map(|()| ThreadId(id))
    }

    /// Replaces what is known about a thread.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn update_thread(&mut self, id: ThreadId, thread: Thread) -> Result<(), Error> {
        known("an update of a thread", "thread", id.0, self.threads)?;
        known("a thread", "process", thread.process.0, self.processes)?;
        self.observer.thread(id, &thread);
        let rows = &mut self.pending.threads;
        meta::put(&mut rows.bytes, "a thread", &(id, thread))?;
        rows.count += 1;
        self.limit()
    }

    /// Adds a mark. Its place among the events is where an [`crate::Action::Mark`] with its id is written.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn mark(&mut self, mark: Mark) -> Result<MarkId, Error> {
        known("a mark", "thread", mark.thread.0, self.threads)?;
        known("a mark", "name", mark.name.0, self.interner.strings.len())?;
        let id = next_id("marks", self.marks)?;
        let rows = &mut self.pending.marks;
        meta::put(&mut rows.bytes, "a mark", &mark)?;
        rows.count += 1;
        self.marks += 1;
        self.limit()?;
        Ok(MarkId(id))
    }

    /// Adds a scan of a process' memory, whose pointers follow.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`], or when the table is full.
    pub fn scan(&mut self, scan: &Scan) -> Result<ScanId, Error> {
        let what = "a scan";
        known(what, "process", scan.process.0, self.processes)?;
        for area in &scan.areas {
            known(what, "string", area.name.0, self.interner.strings.len())?;
        }
        let id = next_id("scans", self.scans)?;
        let rows = &mut self.pending.scans;
        meta::put(&mut rows.bytes, what, scan)?;
        rows.count += 1;
        self.scans += 1;
        self.limit()?;
        Ok(ScanId(id))
    }

    /// Adds a sampled thread.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a process that is not of this capture; as [`Writer::flush`].
    pub fn task(&mut self, task: Task) -> Result<TaskId, Error> {
        let id = next_id("tasks", self.tasks)?;
        self.tasks += 1;
        let result = self.update_task(TaskId(id), task);
        if result.is_err() {
            self.tasks -= 1;
        }
        result.map(|()| TaskId(id))
    }

    /// Replaces what is known about a sampled thread.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn update_task(&mut self, id: TaskId, task: Task) -> Result<(), Error> {
        known("an update of a task", "task", id.0, self.tasks)?;
        if let Some(process) = task.process {
            known("a task", "process", process.0, self.processes)?;
        }
        let rows = &mut self.pending.tasks;
        meta::put(&mut rows.bytes, "a task", &(id, task))?;
        rows.count += 1;
        self.limit()
    }

    /// Adds or replaces the names of a frame.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn symbolized(&mut self, symbolized: Symbolized) -> Result<(), Error> {
        let what = "a symbol";
        known(what, "frame", symbolized.frame.0, self.interner.frames.len())?;
        let names = symbolized.names.iter().flat_map(|name| [name.function, name.file]);
        for string in names.chain([symbolized.reason, symbolized.linkage]).flatten() {
            known(what, "string", string.0, self.interner.strings.len())?;
        }
        let rows = &mut self.pending.symbols;
        meta::put(&mut rows.bytes, what, &symbolized)?;
        rows.count += 1;
        self.limit()
    }
}

/// Cuts the texts of a process to what a row holds: whatever a process calls itself, the recording goes on.
fn cut(mut process: Process) -> Process {
    let mut room = MAX_RECORD / 2;
    let mut fit = |text: &mut String| {
        let left = room.checked_sub(size_of::<u64>());
        text.truncate(text.floor_char_boundary(left.unwrap_or(0)));
        room = left.map_or(0, |left| left - text.len());
        left.is_some()
    };
    fit(&mut process.name);
    fit(&mut process.executable);
    process.command.retain_mut(fit);
    process
}

fn next_id(table: &'static str, count: u64) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| Error::TableFull { table })
}
