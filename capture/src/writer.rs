//! Writes a capture, chunk by chunk.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::atomic::{self, AtomicFile};
use crate::chunk::{Label, Packer};
use crate::error::Error;
use crate::event::{Action, Event, ReallocOutcome};
use crate::events::Encoder;
use crate::format::{ChunkKind, Header, MAX_STRING, Trailer, VERSION};
use crate::ids::{FrameId, ModuleId, NodeId, ProcessId, StringId, ThreadId};
use crate::index::{self, Chunk};
use crate::intern::{Identity, Interner};
use crate::meta;
use crate::model::{Frame, Metadata, Module, Node, Process, Summary, Symbolized, Thread};
use crate::sink::Sink;
use crate::stacks;

/// What to do when the capture's name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Fail, and touch nothing.
    New,
    /// Take its place, once the beginning of the new capture is on disk.
    Replace,
}

/// Writes one capture.
///
/// Definitions go into the file before what uses them, in whole chunks, each with one call of [`Write::write_all`]:
/// whatever ends the recording, the file is valid up to its last whole chunk. [`Writer::flush`] writes what there is;
/// call it at least once a second, so that readers which follow the file see it grow.
///
/// Memory: one chunk of events, the tables' rows since the last flush, and what recognises equal strings, modules,
/// frames and stacks.
pub struct Writer<W: Sink = File> {
    sink: W,
    offset: u64,
    given_up: bool,
    packer: Packer,
    payload: Vec<u8>,
    interner: Interner,
    processes: u64,
    threads: u64,
    pending: Pending,
    encoder: Encoder,
    chunks: Vec<Chunk>,
    index_before: u64,
}

/// Rows that have ids but are not in the file yet.
#[derive(Default)]
struct Pending {
    strings: Rows,
    modules: Rows,
    frames: Vec<Frame>,
    nodes: Vec<Node>,
    processes: Rows,
    threads: Rows,
    symbols: Rows,
}

/// Encoded records of one table.
#[derive(Default)]
struct Rows {
    count: u32,
    bytes: Vec<u8>,
}

impl Rows {
    /// Enough for a chunk. One more record of any size still fits the format's limits.
    fn is_full(&self) -> bool {
        self.count as usize >= stacks::ROWS || self.bytes.len() >= 1 << 20
    }
}

impl Writer<File> {
    /// Makes the file, readable by its owner only, and writes its beginning.
    ///
    /// # Errors
    /// When the name is taken (with [`Create::New`]) or the folder does not take the file.
    pub fn create(path: impl AsRef<Path>, create: Create, metadata: &Metadata) -> Result<Self, Error> {
        let path = path.as_ref();
        match create {
            Create::New => {
                let file =
                    atomic::create_new(path).map_err(Error::io(format!("create {}", path.display())))?;
                Writer::new(file, metadata)
            }
            Create::Replace => {
                let file = AtomicFile::create(path)?;
                let writer = Writer::new(file.file()?, metadata)?;
                file.commit()?;
                Ok(writer)
            }
        }
    }
}

impl<W: Sink> Writer<W> {
    /// Writes the beginning of a capture to `sink`.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn new(sink: W, metadata: &Metadata) -> Result<Self, Error> {
        let mut writer = Writer {
            sink,
            offset: 0,
            given_up: false,
            packer: Packer::new()?,
            payload: Vec::new(),
            interner: Interner::new(),
            processes: 0,
            threads: 0,
            pending: Pending::default(),
            encoder: Encoder::new(),
            chunks: Vec::new(),
            index_before: 0,
        };
        let header = Header { version: VERSION, written_by: metadata.tool_version.clone() };
        writer.write(&header.encode())?;
        writer.write_record(ChunkKind::Metadata, "the recording's options", metadata)?;
        Ok(writer)
    }

    /// The id of a name. Names above 1 MiB are cut.
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
        self.limit(rows_full)?;
        Ok(id)
    }

    /// The id of a file with code; of the one given first, where several are the same by build id.
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
        self.limit(rows_full)?;
        Ok(id)
    }

    /// The id of a code address or pseudo frame.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a module that is not of this capture; as [`Writer::flush`]; when the table is full.
    pub fn frame(&mut self, frame: Frame) -> Result<FrameId, Error> {
        if let Some(id) = self.interner.frames.get(&frame) {
            return Ok(id);
        }
        if let Frame::Code { module: Some(module), .. } = frame {
            known("a frame", "module", module.0, self.interner.modules.len())?;
        }
        let id = self.interner.frames.insert(frame)?;
        self.pending.frames.push(frame);
        self.limit(|pending| pending.frames.len() >= stacks::ROWS)?;
        Ok(id)
    }

    /// The id of a stack: `frame`, called from `parent`.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`]; when the table is full.
    pub fn node(&mut self, parent: NodeId, frame: FrameId) -> Result<NodeId, Error> {
        let node = Node { parent, frame };
        if let Some(id) = self.interner.nodes.get(&node) {
            return Ok(id);
        }
        known("a stack", "stack", parent.0, self.interner.nodes.len())?;
        known("a stack", "frame", frame.0, self.interner.frames.len())?;
        let id = self.interner.nodes.insert(node)?;
        self.pending.nodes.push(node);
        self.limit(|pending| pending.nodes.len() >= stacks::ROWS)?;
        Ok(id)
    }

    /// Adds a process image. What distinguishes it is its id, so a pid may occur again.
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

    /// Replaces what is known about a process image.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id, or a parent that does not come before it; as [`Writer::flush`].
    pub fn update_process(&mut self, id: ProcessId, process: Process) -> Result<(), Error> {
        known("an update of a process", "process", id.0, self.processes)?;
        if let Some(parent) = process.parent {
            known("a process", "parent", parent.0, id.0.into())?;
        }
        let rows = &mut self.pending.processes;
        meta::put(&mut rows.bytes, "a process with its command line", &(id, process))?;
        rows.count += 1;
        self.limit(rows_full)
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
        let rows = &mut self.pending.threads;
        meta::put(&mut rows.bytes, "a thread", &(id, thread))?;
        rows.count += 1;
        self.limit(rows_full)
    }

    /// Adds or replaces the names of a frame.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn symbolized(&mut self, symbolized: Symbolized) -> Result<(), Error> {
        let what = "a symbol";
        known(what, "frame", symbolized.frame.0, self.interner.frames.len())?;
        let names = symbolized.names.iter().flat_map(|name| [name.function, name.file]);
        for string in names.chain([symbolized.reason]).flatten() {
            known(what, "string", string.0, self.interner.strings.len())?;
        }
        let rows = &mut self.pending.symbols;
        meta::put(&mut rows.bytes, what, &symbolized)?;
        rows.count += 1;
        self.limit(rows_full)
    }

    /// Adds an event after all others: the order of the calls is the order of the capture.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn event(&mut self, event: Event) -> Result<(), Error> {
        known("an event", "thread", event.thread.0, self.threads)?;
        match event.action {
            Action::Alloc { stack, .. }
            | Action::Free { stack, .. }
            | Action::ReallocEnd { outcome: ReallocOutcome::Block { stack, .. }, .. }
            | Action::Map { stack, .. }
            | Action::Remap { stack, .. }
            | Action::Break { stack, .. } => known("an event", "stack", stack.0, self.interner.nodes.len())?,
            Action::ProcessStart { process } | Action::ProcessEnd { process } => {
                known("an event", "process", process.0, self.processes)?;
            }
            _ => {}
        }
        self.encoder.push(&event);
        if self.encoder.is_full() { self.flush() } else { Ok(()) }
    }

    /// Writes everything given so far as whole chunks: definitions, then events.
    ///
    /// # Errors
    /// When the sink does not take the bytes. The capture cannot go on then and each later call says so; what was
    /// written before is readable.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_tables()?;
        if !self.encoder.is_empty() {
            let mut payload = self.take_payload();
            let done = self.encoder.finish(&mut payload);
            let kind = ChunkKind::Events;
            let label = Label { kind, records: done.events, first: done.first_time, last: done.last_time };
            self.write_chunk(label, payload)?;
        }
        self.sink.flush().map_err(Error::io("write the capture")).inspect_err(|_| self.given_up = true)
    }

    /// Writes the rest, the summary, the index, and makes sure that all of it is on disk.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn finish(mut self, summary: &Summary) -> Result<W, Error> {
        self.flush()?;
        self.write_record(ChunkKind::Summary, "the recording's summary", summary)?;
        self.write_index()?;
        self.write(&Trailer { index_offset: self.index_before }.encode())?;
        self.sink.flush().map_err(Error::io("write the capture"))?;
        self.sink.sync().map_err(Error::io("write the capture to disk"))?;
        Ok(self.sink)
    }

    /// Bytes written so far.
    pub fn length(&self) -> u64 {
        self.offset
    }

    fn limit(&mut self, is_full: impl Fn(&Pending) -> bool) -> Result<(), Error> {
        if is_full(&self.pending) { self.write_tables() } else { Ok(()) }
    }

    /// Tables in the order in which they refer to each other.
    fn write_tables(&mut self) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let first = self.interner.strings.len() - u64::from(pending.strings.count);
        self.write_rows(ChunkKind::Strings, first, pending.strings)?;
        let first = self.interner.modules.len() - u64::from(pending.modules.count);
        self.write_rows(ChunkKind::Modules, first, pending.modules)?;
        let first = self.interner.frames.len() - pending.frames.len() as u64;
        if !pending.frames.is_empty() {
            let mut payload = self.take_payload();
            stacks::put_frames(&pending.frames, &mut payload);
            self.write_chunk(label(ChunkKind::Frames, pending.frames.len() as u32, first), payload)?;
        }
        let first = self.interner.nodes.len() - pending.nodes.len() as u64;
        if !pending.nodes.is_empty() {
            let mut payload = self.take_payload();
            stacks::put_nodes(NodeId(first as u32), &pending.nodes, &mut payload);
            self.write_chunk(label(ChunkKind::Nodes, pending.nodes.len() as u32, first), payload)?;
        }
        self.write_rows(ChunkKind::Processes, 0, pending.processes)?;
        self.write_rows(ChunkKind::Threads, 0, pending.threads)?;
        self.write_rows(ChunkKind::Symbols, 0, pending.symbols)
    }

    fn write_rows(&mut self, kind: ChunkKind, first: u64, rows: Rows) -> Result<(), Error> {
        if rows.count == 0 { Ok(()) } else { self.write_chunk(label(kind, rows.count, first), rows.bytes) }
    }

    fn write_record<T: serde::Serialize>(
        &mut self,
        kind: ChunkKind,
        what: &'static str,
        record: &T,
    ) -> Result<(), Error> {
        let mut payload = self.take_payload();
        meta::put(&mut payload, what, record)?;
        self.write_chunk(label(kind, 1, 0), payload)
    }

    fn write_index(&mut self) -> Result<(), Error> {
        let mut payload = self.take_payload();
        index::put(&self.chunks, &mut payload);
        let label = label(ChunkKind::Index, self.chunks.len() as u32, self.index_before);
        self.chunks.clear();
        self.index_before = self.offset;
        self.write_chunk(label, payload)
    }

    fn take_payload(&mut self) -> Vec<u8> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        payload
    }

    fn write_chunk(&mut self, label: Label, payload: Vec<u8>) -> Result<(), Error> {
        let (header, bytes) = self.packer.pack(label, &payload).inspect_err(|_| self.given_up = true)?;
        let offset = self.offset;
        write(&mut self.sink, &mut self.offset, &mut self.given_up, bytes)?;
        self.payload = payload;
        self.chunks.push(Chunk { offset, header });
        if self.chunks.len() == index::ENTRIES { self.write_index() } else { Ok(()) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        write(&mut self.sink, &mut self.offset, &mut self.given_up, bytes)
    }
}

fn write(sink: &mut impl Write, offset: &mut u64, given_up: &mut bool, bytes: &[u8]) -> Result<(), Error> {
    if *given_up {
        return Err(Error::GivenUp);
    }
    *given_up = true;
    sink.write_all(bytes).map_err(Error::io("write the capture"))?;
    *given_up = false;
    *offset += bytes.len() as u64;
    Ok(())
}

fn rows_full(pending: &Pending) -> bool {
    let Pending { strings, modules, processes, threads, symbols, .. } = pending;
    [strings, modules, processes, threads, symbols].into_iter().any(Rows::is_full)
}

fn label(kind: ChunkKind, records: u32, first: u64) -> Label {
    Label { kind, records, first, last: 0 }
}

fn known(what: &'static str, to: &'static str, id: u32, count: u64) -> Result<(), Error> {
    if u64::from(id) < count { Ok(()) } else { Err(Error::UnknownId { what, to, id }) }
}

fn next_id(table: &'static str, count: u64) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| Error::TableFull { table })
}
