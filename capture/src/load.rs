//! Table chunks to [`Tables`]: total, and bounded in memory.

use std::mem::size_of;

use crate::error::Malformed;
use crate::format::{ChunkHeader, ChunkKind};
use crate::ids::{FrameId, NodeId, ProcessId, ThreadId};
use crate::meta;
use crate::model::{Frame, Module, Node, Process, Symbolized, Tables, Thread};
use crate::stacks;

/// Tables under construction. Whatever a chunk refers to must have come before it.
pub(crate) struct Loader {
    pub(crate) tables: Tables,
    scratch: Vec<u8>,
    used: u64,
    limit: u64,
}

impl Loader {
    pub(crate) fn new() -> Self {
        let root = Node { parent: NodeId::ROOT, frame: FrameId(0) };
        let tables = Tables { nodes: vec![root], ..Tables::default() };
        Loader { tables, scratch: Vec::new(), used: 0, limit: 0 }
    }

    /// Sets how much memory the tables may take, from the length of the file. A few hostile bytes decompress to
    /// megabytes; a real capture takes a few times its length.
    pub(crate) fn allow(&mut self, file_length: u64) {
        self.limit = file_length.saturating_mul(64).saturating_add(256 << 20);
    }

    /// Adds what a chunk holds, if it holds rows of a table.
    pub(crate) fn add(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<(), Malformed> {
        let count = header.records as usize;
        match ChunkKind::from_number(header.kind) {
            Some(ChunkKind::Metadata) => {
                self.tables.metadata = meta::take(&mut &payload[..], &mut self.scratch)?
            }
            Some(ChunkKind::Summary) => {
                self.tables.summary = Some(meta::take(&mut &payload[..], &mut self.scratch)?)
            }
            Some(ChunkKind::Strings) => self.add_strings(header, payload)?,
            Some(ChunkKind::Modules) => self.add_modules(header, payload)?,
            Some(ChunkKind::Frames) => {
                continues(header, self.tables.frames.len())?;
                self.charge(
                    payload.len() + count.min(payload.len()) * size_of::<(Frame, Option<Symbolized>)>(),
                )?;
                stacks::take_frames(payload, count, self.tables.modules.len(), &mut self.tables.frames)?;
                self.tables.symbols.resize(self.tables.frames.len(), None);
            }
            Some(ChunkKind::Nodes) => {
                continues(header, self.tables.nodes.len())?;
                self.charge(count.min(payload.len()) * size_of::<Node>())?;
                stacks::take_nodes(payload, count, self.tables.frames.len(), &mut self.tables.nodes)?;
            }
            Some(ChunkKind::Processes) => self.add_processes(count, payload)?,
            Some(ChunkKind::Threads) => self.add_threads(count, payload)?,
            Some(ChunkKind::Symbols) => self.add_symbols(count, payload)?,
            Some(ChunkKind::Events | ChunkKind::Index) | None => {}
        }
        Ok(())
    }

    fn add_strings(&mut self, header: &ChunkHeader, mut payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.strings.len())?;
        for _ in 0..header.records {
            let text = meta::take_bytes(&mut payload)?;
            self.charge(size_of::<String>() + text.len())?;
            let text = str::from_utf8(text).map_err(|_| Malformed("a name is not UTF-8"))?;
            self.tables.strings.push(text.to_owned());
        }
        Ok(())
    }

    fn add_modules(&mut self, header: &ChunkHeader, mut payload: &[u8]) -> Result<(), Malformed> {
        continues(header, self.tables.modules.len())?;
        for _ in 0..header.records {
            let module: Module = self.take(&mut payload)?;
            self.tables.modules.push(module);
        }
        Ok(())
    }

    fn add_processes(&mut self, count: usize, mut payload: &[u8]) -> Result<(), Malformed> {
        for _ in 0..count {
            let (id, process): (ProcessId, Process) = self.take(&mut payload)?;
            if process.parent.is_some_and(|parent| parent >= id) {
                return Err(Malformed("a process does not come after its parent"));
            }
            put(&mut self.tables.processes, id.index(), process)?;
        }
        Ok(())
    }

    fn add_threads(&mut self, count: usize, mut payload: &[u8]) -> Result<(), Malformed> {
        for _ in 0..count {
            let (id, thread): (ThreadId, Thread) = self.take(&mut payload)?;
            if thread.process.index() >= self.tables.processes.len() {
                return Err(Malformed("a thread refers to an unknown process"));
            }
            put(&mut self.tables.threads, id.index(), thread)?;
        }
        Ok(())
    }

    fn add_symbols(&mut self, count: usize, mut payload: &[u8]) -> Result<(), Malformed> {
        for _ in 0..count {
            let symbolized: Symbolized = self.take(&mut payload)?;
            let names = symbolized.names.iter().flat_map(|name| [name.function, name.file]);
            let strings = self.tables.strings.len();
            if names.chain([symbolized.reason]).flatten().any(|string| string.index() >= strings) {
                return Err(Malformed("a symbol refers to an unknown name"));
            }
            match self.tables.symbols.get_mut(symbolized.frame.index()) {
                Some(row) => *row = Some(symbolized),
                None => return Err(Malformed("a symbol refers to an unknown frame")),
            }
        }
        Ok(())
    }

    /// The next record. A record's lists take at most four times its bytes, plus the struct itself.
    fn take<T: serde::de::DeserializeOwned>(&mut self, payload: &mut &[u8]) -> Result<T, Malformed> {
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

/// Appends the row after the last, or replaces one.
fn put<T>(rows: &mut Vec<T>, index: usize, row: T) -> Result<(), Malformed> {
    match index {
        _ if index < rows.len() => rows[index] = row,
        _ if index == rows.len() => rows.push(row),
        _ => return Err(Malformed("a chunk's rows do not continue their table")),
    }
    Ok(())
}
