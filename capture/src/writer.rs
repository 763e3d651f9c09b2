//! Writes a capture, chunk by chunk.

mod computed;
mod create;
mod output;
mod pending;
mod readings;
mod tables;

use std::fs::File;
use std::time::Duration;

pub use create::Create;

use crate::chunk::{Chunk, Label, Level};
use crate::counter::Counter;
use crate::error::Error;
use crate::event::{Action, Event, ReallocOutcome};
use crate::events::Encoder;
use crate::fault::Fault;
use crate::format::{ChunkKind, Header, Trailer};
use crate::ids::NodeId;
use crate::index;
use crate::intern::Interner;
use crate::meta;
use crate::model::{Metadata, Summary, Tables};
use crate::observer::{LiveBlocks, Observer};
use crate::sample::Sample;
use crate::sink::Sink;
use crate::version::VERSION;
use computed::Spacing;
use output::Output;
use pending::{Pending, Rows};

/// A recording so short is made again sooner than a busy disk has taken it. It survives whatever happens to the process,
/// and after some seconds a power cut, too.
const SHORT: Duration = Duration::from_secs(5);

/// Writes one capture.
///
/// Definitions are written before their users, in whole chunks, each with one call of [`std::io::Write::write_all`]:
/// whatever ends the recording, the file is valid up to its last whole chunk. [`Writer::flush`] writes what is
/// pending; call it at least once a second, so that readers which follow the file see it grow.
///
/// Memory: one chunk of events, the table rows since the last flush, and what recognises equal strings, modules,
/// frames and stacks.
pub struct Writer<W: Sink = File, O: Observer = LiveBlocks> {
    output: Output<W>,
    payload: Vec<u8>,
    interner: Interner,
    processes: u64,
    threads: u64,
    marks: u64,
    tasks: u64,
    scans: u64,
    pending: Pending,
    samples: Vec<Sample>,
    counters: Vec<Counter>,
    faults: Vec<Fault>,
    /// Samples given so far.
    sample_count: u64,
    copies: Rows,
    encoder: Encoder,
    observer: O,
    /// Events given so far.
    events: u64,
    states: Spacing,
    chunks: Vec<Chunk>,
    index_before: u64,
}

impl<W: Sink> Writer<W> {
    /// Writes the beginning of a capture to `sink`.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn new(sink: W, metadata: &Metadata) -> Result<Self, Error> {
        Writer::observed(sink, metadata, LiveBlocks::default())
    }
}

impl Writer<Vec<u8>> {
    /// Goes on with a finished capture, which has these chunks and tables, for names that are found afterwards: what this
    /// writer makes replaces the file's end from [`Writer::length`] on. None for one that was not finished.
    ///
    /// # Errors
    /// When there is no memory for the compressor.
    pub fn after(chunks: &[Chunk], tables: &Tables) -> Result<Option<Self>, Error> {
        let Some(summary) = chunks.iter().rposition(|chunk| chunk.is(ChunkKind::Summary)) else {
            return Ok(None);
        };
        let index = chunks[..summary].iter().rposition(|chunk| chunk.is(ChunkKind::Index));
        let mut writer = Writer::empty(Vec::new(), LiveBlocks::default())?;
        writer.interner = Interner::after(tables.strings.len(), tables.frames.len());
        writer.output.offset = chunks[summary].offset;
        writer.index_before = index.map_or(0, |index| chunks[index].offset);
        writer.chunks = chunks[index.unwrap_or(0)..summary].to_vec();
        Ok(Some(writer))
    }
}

impl<W: Sink, O: Observer> Writer<W, O> {
    /// The same, with an observer whose results the capture will have.
    ///
    /// # Errors
    /// As [`Writer::new`].
    pub fn observed(sink: W, metadata: &Metadata, observer: O) -> Result<Self, Error> {
        let mut writer = Writer::empty(sink, observer)?;
        let header = Header { version: VERSION, written_by: metadata.tool_version.clone() };
        writer.output.write(&header.encode())?;
        writer.write_record(ChunkKind::Metadata, "the recording's options", metadata)?;
        Ok(writer)
    }

    /// Replaces the metadata given to [`Writer::new`], as when the recording began later.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn metadata(&mut self, metadata: &Metadata) -> Result<(), Error> {
        self.write_record(ChunkKind::Metadata, "the recording's options", metadata)
    }

    /// Adds an event after all others: the capture has events in the order of the calls.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn event(&mut self, event: Event) -> Result<(), Error> {
        self.add(&event, event)
    }

    /// Adds an event of which the caller knows the kind. For the observer it stays where it was: a copy made just now
    /// could not yet be loaded 16 bytes at once.
    #[inline(always)]
    fn add(&mut self, given: &Event, event: Event) -> Result<(), Error> {
        known("an event", "thread", event.thread.0, self.threads)?;
        match event.action {
            Action::Alloc { stack, .. } | Action::Free { stack, .. } => {
                known("an event", "stack", stack.0, self.interner.nodes.len())?;
            }
            action => self.check_ids(action)?,
        }
        let freed = self.observer.event(given);
        self.encoder.push(&event, freed);
        self.events += 1;
        if self.encoder.is_full() { self.flush() } else { Ok(()) }
    }

    /// Adds events, [`AHEAD`](crate::AHEAD) at most, after all others.
    ///
    /// # Errors
    /// As [`Writer::event`]; events before the one that fails are added.
    pub fn events(&mut self, events: &[Event]) -> Result<(), Error> {
        self.observer.look_ahead(events);
        for event in events {
            // So that in each the kind of event is known at compile time.
            match event.action {
                Action::Alloc { address, size, alignment: 0, stack } => {
                    let action = Action::Alloc { address, size, alignment: 0, stack };
                    self.add(event, Event { action, ..*event })?;
                }
                Action::Free { address, stack: NodeId::ROOT } => {
                    self.add(
                        event,
                        Event { action: Action::Free { address, stack: NodeId::ROOT }, ..*event },
                    )?;
                }
                _ => self.event(*event)?,
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn check_ids(&self, action: Action) -> Result<(), Error> {
        match action {
            Action::ReallocEnd { outcome: ReallocOutcome::Block { stack, .. }, .. }
            | Action::Map { stack, .. }
            | Action::Remap { stack, .. }
            | Action::Break { stack, .. }
            | Action::Sum { stack, .. } => known("an event", "stack", stack.0, self.interner.nodes.len()),
            Action::ProcessStart { process, .. } | Action::ProcessEnd { process } => {
                known("an event", "process", process.0, self.processes)
            }
            Action::PoolAlloc { pool, stack, .. } | Action::PoolRealloc { pool, stack, .. } => {
                known("an event", "name", pool.0, self.interner.strings.len())?;
                known("an event", "stack", stack.0, self.interner.nodes.len())
            }
            Action::PoolFree { pool, .. } => known("an event", "name", pool.0, self.interner.strings.len()),
            Action::Mark { mark } => known("an event", "mark", mark.0, self.marks),
            _ => Ok(()),
        }
    }

    /// Trades file size for speed from here on if `is_behind`: events arrive faster than they are written. Otherwise
    /// compresses well again.
    pub fn hurry(&mut self, is_behind: bool) {
        self.output.set_level(if is_behind { Level::Fast } else { Level::Small });
    }

    /// Writes everything given so far as whole chunks: definitions, then events.
    ///
    /// # Errors
    /// When the sink does not take the bytes. The capture cannot go on then, and each later call says so; what was
    /// written before is readable.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_tables()?;
        if !self.encoder.is_empty() {
            let Writer { encoder, output, .. } = self;
            let chunk = encoder.finish(|done, parts| {
                let kind = ChunkKind::Events;
                let label =
                    Label { kind, records: done.events, first: done.first_time, last: done.last_time };
                output.chunk(label, parts)
            })?;
            self.states.bytes += chunk.length();
            self.enter(chunk)?;
            self.write_state_if_due()?;
        }
        self.write_readings()?;
        self.output.flush()
    }

    /// Writes the rest, the summary and the index, and syncs all of it to disk, unless it took less than five seconds.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn finish(mut self, summary: &Summary) -> Result<W, Error> {
        self.flush()?;
        self.write_results(summary)?;
        self.write_record(ChunkKind::Summary, "the recording's summary", summary)?;
        self.write_index()?;
        self.output.write(&Trailer { index_offset: self.index_before }.encode())?;
        self.output.flush()?;
        if summary.duration_ns >= SHORT.as_nanos() as u64 || !self.output.sink.is_local() {
            self.output.sink.sync().map_err(Error::io("write the capture to disk"))?;
        }
        Ok(self.output.sink)
    }

    /// Writes everything given so far, and returns what would have to follow if the capture ended here: the first
    /// [`Writer::length`] bytes of the file and these make a whole capture, however the file goes on.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn end_so_far(&mut self, summary: &Summary) -> Result<Vec<u8>, Error>
    where
        O: Clone,
    {
        let observer = self.observer.clone();
        self.end_with(observer, summary)
    }

    /// The same without results, for readers of the tables: it takes no time to speak of.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn index_so_far(&mut self, summary: &Summary) -> Result<Vec<u8>, Error> {
        self.end_with(LiveBlocks::default(), summary)
    }

    fn end_with<E: Observer>(&mut self, observer: E, summary: &Summary) -> Result<Vec<u8>, Error> {
        self.flush()?;
        let mut end = Writer::empty(Vec::new(), observer)?;
        (end.output.offset, end.index_before) = (self.output.offset, self.index_before);
        (end.chunks, end.events) = (self.chunks.clone(), self.events);
        end.finish(summary)
    }

    /// Bytes of the file so far.
    pub fn length(&self) -> u64 {
        self.output.offset
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// A writer that has written nothing.
    fn empty(sink: W, observer: O) -> Result<Self, Error> {
        Ok(Writer {
            output: Output::new(sink)?,
            payload: Vec::new(),
            interner: Interner::new(),
            processes: 0,
            threads: 0,
            marks: 0,
            tasks: 0,
            scans: 0,
            pending: Pending::default(),
            samples: Vec::new(),
            counters: Vec::new(),
            faults: Vec::new(),
            sample_count: 0,
            copies: Rows::default(),
            encoder: Encoder::new(),
            observer,
            events: 0,
            states: Spacing::default(),
            chunks: Vec::new(),
            index_before: 0,
        })
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
        self.index_before = self.output.offset;
        self.write_chunk(label, payload)
    }

    fn take_payload(&mut self) -> Vec<u8> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        payload
    }

    fn write_chunk(&mut self, label: Label, payload: Vec<u8>) -> Result<(), Error> {
        let chunk = self.output.chunk(label, &[&payload])?;
        self.payload = payload;
        self.enter(chunk)
    }

    /// Enters a written chunk into the index.
    fn enter(&mut self, chunk: Chunk) -> Result<(), Error> {
        self.chunks.push(chunk);
        if self.chunks.len() == index::ENTRIES { self.write_index() } else { Ok(()) }
    }
}

fn label(kind: ChunkKind, records: u32, first: u64) -> Label {
    Label { kind, records, first, last: 0 }
}

#[inline(always)]
fn known(what: &'static str, to: &'static str, id: u32, count: u64) -> Result<(), Error> {
    if u64::from(id) < count { Ok(()) } else { Err(Error::UnknownId { what, to, id }) }
}
