//! Reads table chunks into [`Tables`]: total, and bounded in memory.

use std::mem::size_of;

use serde::de::DeserializeOwned;

use crate::error::Malformed;
use crate::format::{ChunkHeader, ChunkKind};
use crate::ids::{FrameId, NodeId, ProcessId, TaskId, ThreadId};
use crate::meta;
use crate::model::{Frame, Mark, Node, Process, SourceFrame, Symbolized, Tables, Task, Thread};
use crate::scan::{Area, Scan};
use crate::stacks;

/// Tables under construction. Whatever a chunk refers to must have come before it.
pub(crate) struct Loader {
    pub(crate) tables: Tables,
    /// Processes whose rows were added or replaced, for readers that follow a growing file.
    pub(crate) changed_processes: Vec<ProcessId>,
    scratch: Vec<u8>,
    used: u64,
    limit: u64,
}

impl Loader {
    pub(crate) fn new() -> Self {
        let root = Node { parent: NodeId::ROOT, frame: FrameId(0) };
        let tables = Tables { nodes: vec![root], ..Tables::default() };
        Loader { tables, changed_processes: Vec::new(), scratch: Vec::new(), used: 0, limit: 0 }
    }

    /// Sets how much memory the tables may take, from the file's length. A few hostile bytes decompress to megabytes;
    /// the tables of a real capture take a few times its length.
    pub(crate) fn allow(&mut self, file_length: u64) {
        self.limit = file_length.saturating_mul(64).saturating_add(256 << 20);
    }

    /// Adds the content of a chunk, if it holds rows of a table: all of it or, on an error, nothing.
    pub(crate) fn add(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        match ChunkKind::from_number(header.kind) {
            Some(ChunkKind::Metadata) => {
                self.tables.metadata = meta::take(&mut &payload[..], &mut self.scratch)?
            }
            Some(ChunkKind::Summary) => {
                self.tables.summary = Some(meta::take(&mut &payload[..], &mut self.scratch)?);
            }
            Some(ChunkKind::Strings) => self.add_strings(header, payload)?,
            Some(ChunkKind::Modules) => self.add_modules(header, payload)?,
            Some(ChunkKind::Frames) => self.add_frames(header, payload)?,
            Some(ChunkKind::Nodes) => self.add_nodes(header, payload)?,
            Some(ChunkKind::Processes) => self.add_processes(header, payload)?,
            Some(ChunkKind::Threads) => self.add_threads(header, payload)?,
            Some(ChunkKind::Symbols) => self.add_symbols(header, payload)?,
            Some(ChunkKind::Marks) => self.add_marks(header, payload)?,
            Some(ChunkKind::Scans) => self.add_scans(header, payload)?,
            Some(ChunkKind::Tasks) => self.add_tasks(header, payload)?,
            Some(
                ChunkKind::Events
                | ChunkKind::Index
                | ChunkKind::Samples
                | ChunkKind::Counters
                | ChunkKind::Faults
                | ChunkKind::Copies
                | ChunkKind::Pointers
                | ChunkKind::Objects
                | ChunkKind::State
                | ChunkKind::Results,
            )
            | None => {}
        }
        Ok(())
    }

    fn add_strings(&mut self, header: &ChunkHeader, mut payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.strings.len())?;
        let mut strings = Vec::new();
        for _ in 0..header.records {
            let text = meta::take_bytes(&mut payload)?;
            self.charge(size_of::<String>() + text.len())?;
            let text = str::from_utf8(text).map_err(|_| Malformed("a name is not UTF-8"))?;
            strings.push(text.to_owned());
        }
        self.tables.strings.append(&mut strings);
        Ok(())
    }

    fn add_modules(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.modules.len())?;
        let mut modules = self.take_all(header, payload)?;
        self.tables.modules.append(&mut modules);
        Ok(())
    }

    fn add_frames(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.frames.len())?;
        let count = header.records as usize;
        self.charge(count.min(payload.len()) * size_of::<(Frame, Option<Symbolized>)>())?;
        let mut frames = stacks::take_frames(payload, count, self.tables.modules.len())?;
        self.tables.frames.append(&mut frames);
        self.tables.symbols.resize(self.tables.frames.len(), None);
        Ok(())
    }

    fn add_nodes(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let first = self.tables.nodes.len();
        continues(header, first)?;
        let count = header.records as usize;
        self.charge(count.min(payload.len()) * size_of::<Node>())?;
        let mut nodes = stacks::take_nodes(payload, count, first, self.tables.frames.len())?;
        self.tables.nodes.append(&mut nodes);
        Ok(())
    }

    fn add_processes(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let mut rows: Vec<(ProcessId, Process)> = self.take_all(header, payload)?;
        // A list that was decoded has room for twice its length.
        rows.iter_mut().for_each(|(_, process)| process.command.shrink_to_fit());
        if rows.iter().any(|(id, process)| process.parent.is_some_and(|parent| parent >= *id)) {
            return Err(Malformed("a process does not come after its parent"));
        }
        let changed: Vec<ProcessId> = rows.iter().map(|(id, _)| *id).collect();
        put_all(&mut self.tables.processes, rows.into_iter().map(|(id, row)| (id.index(), row)).collect())?;
        self.changed_processes.extend(changed);
        Ok(())
    }

    fn add_threads(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let rows: Vec<(ThreadId, Thread)> = self.take_all(header, payload)?;
        if rows.iter().any(|(_, thread)| thread.process.index() >= self.tables.processes.len()) {
            return Err(Malformed("a thread refers to an unknown process"));
        }
        put_all(&mut self.tables.threads, rows.into_iter().map(|(id, row)| (id.index(), row)).collect())
    }

    fn add_tasks(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let rows: Vec<(TaskId, Task)> = self.take_all(header, payload)?;
        let known = self.tables.processes.len();
        if rows.iter().any(|(_, task)| task.process.is_some_and(|process| process.index() >= known)) {
            return Err(Malformed("a task refers to an unknown process"));
        }
        put_all(&mut self.tables.tasks, rows.into_iter().map(|(id, row)| (id.index(), row)).collect())
    }

    fn add_symbols(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let mut payload = payload;
        let rows: Result<Vec<Symbolized>, Malformed> =
            (0..header.records).map(|_| self.take_symbol(&mut payload)).collect();
        let rows = rows?;
        let Tables { strings, frames, .. } = &self.tables;
        for Symbolized { frame, names, reason, linkage, .. } in &rows {
            if frame.index() >= frames.len() {
                return Err(Malformed("a symbol refers to an unknown frame"));
            }
            let named = names.iter().flat_map(|name| [name.function, name.file]);
            if named.chain([*reason, *linkage]).flatten().any(|string| string.index() >= strings.len()) {
                return Err(Malformed("a symbol refers to an unknown name"));
            }
        }
        for row in rows {
            let place = row.frame.index();
            self.tables.symbols[place] = Some(row);
        }
        Ok(())
    }

    fn add_marks(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.marks.len())?;
        let mut rows: Vec<Mark> = self.take_all(header, payload)?;
        if rows.iter().any(|mark| mark.thread.index() >= self.tables.threads.len()) {
            return Err(Malformed("a mark refers to an unknown thread"));
        }
        if rows.iter().any(|mark| mark.name.index() >= self.tables.strings.len()) {
            return Err(Malformed("a mark refers to an unknown name"));
        }
        self.tables.marks.append(&mut rows);
        Ok(())
    }

    fn add_scans(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.scans.len())?;
        let mut rows: Vec<Scan> = self.take_all(header, payload)?;
        let areas = rows.iter().map(|scan| scan.areas.len()).sum::<usize>();
        self.charge(areas * size_of::<Area>())?;
        if rows.iter().any(|scan| scan.process.index() >= self.tables.processes.len()) {
            return Err(Malformed("a scan refers to an unknown process"));
        }
        self.tables.scans.append(&mut rows);
        Ok(())
    }

    fn take_all<T: DeserializeOwned>(
        &mut self,
        header: &ChunkHeader,
        payload: &[u8],
    ) -> Result<Vec<T>, Malformed> {
        let mut payload = payload;
        (0..header.records).map(|_| self.take(&mut payload)).collect()
    }

    /// The next symbol. A name without any information takes three bytes in a file, and eight times as many in
    /// memory.
    fn take_symbol(&mut self, payload: &mut &[u8]) -> Result<Symbolized, Malformed> {
        let mut symbol: Symbolized = self.take(payload)?;
        symbol.names.shrink_to_fit();
        self.charge(symbol.names.len() * size_of::<SourceFrame>())?;
        Ok(symbol)
    }

    /// The next record. A record's lists take at most four times its bytes, plus the struct itself.
    fn take<T: DeserializeOwned>(&mut self, payload: &mut &[u8]) -> Result<T, Malformed> {
        let before = payload.len();
        let record = meta::take(payload, &mut self.scratch)?;
        self.charge(size_of::<T>() + 4 * (before - payload.len()))?;
        Ok(record)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.used = self.used.saturating_add(bytes as u64);
        if self.used > self.limit {
            Err(Malformed("the tables take more memory than a file of this length may"))
        } else {
            Ok(())
        }
    }
}

/// Rows of tables with implicit ids follow each other without holes.
fn continues(header: &ChunkHeader, rows: usize) -> Result<(), Malformed> {
    let fits = header.first == rows as u64 && rows + header.records as usize <= u32::MAX as usize;
    if fits { Ok(()) } else { Err(Malformed("a chunk's rows do not continue their table")) }
}

/// Replaces rows, or appends each directly after the last, in order.
fn put_all<T>(rows: &mut Vec<T>, changes: Vec<(usize, T)>) -> Result<(), Malformed> {
    let mut length = rows.len();
    for (index, _) in &changes {
        match *index {
            old if old < length => {}
            new if new == length => length += 1,
            _ => return Err(Malformed("a chunk's rows do not continue their table")),
        }
    }
    for (index, row) in changes {
        if index < rows.len() { rows[index] = row } else { rows.push(row) }
    }
    Ok(())
}
