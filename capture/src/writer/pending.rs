//! Table rows that wait to be written.

use super::{Writer, label};
use crate::error::Error;
use crate::format::ChunkKind;
use crate::ids::NodeId;
use crate::model::{Frame, Node};
use crate::observer::Observer;
use crate::sink::Sink;
use crate::stacks;

/// Rows that have ids but are not in the file yet.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) strings: Rows,
    pub(super) modules: Rows,
    pub(super) frames: Vec<Frame>,
    pub(super) nodes: Vec<Node>,
    pub(super) processes: Rows,
    pub(super) threads: Rows,
    pub(super) symbols: Rows,
    pub(super) marks: Rows,
    pub(super) tasks: Rows,
    pub(super) scans: Rows,
}

/// Encoded records of one table.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) count: u32,
    pub(super) bytes: Vec<u8>,
}

impl Pending {
    fn is_full(&self) -> bool {
        let Pending { strings, modules, frames, nodes, processes, threads, symbols, marks, tasks, scans } =
            self;
        let rows = [strings, modules, processes, threads, symbols, marks, tasks, scans];
        frames.len().max(nodes.len()) >= stacks::ROWS || rows.into_iter().any(Rows::is_full)
    }
}

impl Rows {
    /// True with enough for a chunk. One more record of any size still fits the format's limits.
    pub(super) fn is_full(&self) -> bool {
        self.count as usize >= stacks::ROWS || self.bytes.len() >= 1 << 20
    }
}

impl<W: Sink, O: Observer> Writer<W, O> {
    /// Writes the tables when one of them would fill a chunk.
    pub(super) fn limit(&mut self) -> Result<(), Error> {
        if self.pending.is_full() { self.write_tables() } else { Ok(()) }
    }

    /// Writes the tables, referenced ones first.
    pub(super) fn write_tables(&mut self) -> Result<(), Error> {
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
        self.write_rows(ChunkKind::Symbols, 0, pending.symbols)?;
        let first = self.marks - u64::from(pending.marks.count);
        self.write_rows(ChunkKind::Marks, first, pending.marks)?;
        self.write_rows(ChunkKind::Tasks, 0, pending.tasks)?;
        let first = self.scans - u64::from(pending.scans.count);
        self.write_rows(ChunkKind::Scans, first, pending.scans)
    }

    pub(super) fn write_rows(&mut self, kind: ChunkKind, first: u64, rows: Rows) -> Result<(), Error> {
        if rows.count == 0 { Ok(()) } else { self.write_chunk(label(kind, rows.count, first), rows.bytes) }
    }
}
