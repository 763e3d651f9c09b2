//! Kinds of chunks.

use crate::numbered::numbered;

numbered! {
    /// What a chunk holds. Numbers not listed here are skipped and counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ChunkKind: u16 {
        /// One [`crate::Metadata`]; the first chunk.
        Metadata = 1,
        /// Rows of the string table.
        Strings = 2,
        /// Rows of the module table.
        Modules = 3,
        /// Rows of the frame table.
        Frames = 4,
        /// Rows of the node table.
        Nodes = 5,
        /// New and changed rows of the process table.
        Processes = 6,
        /// New and changed rows of the thread table.
        Threads = 7,
        /// Names of frames.
        Symbols = 8,
        /// Events.
        Events = 9,
        /// One [`crate::Summary`].
        Summary = 10,
        /// Where the chunks since the last index are.
        Index = 11,
        /// Rows of the table of marks.
        Marks = 13,
        /// New and changed rows of the task table.
        Tasks = 20,
        /// Samples of the processors.
        Samples = 21,
        /// Counters over time.
        Counters = 22,
        /// Page faults.
        Faults = 23,
        /// Stack copies that samples were unwound from.
        Copies = 26,
        /// Rows of the table of scans.
        Scans = 28,
        /// Pointers that a scan found.
        Pointers = 29,
        /// C++ objects that a scan found, with their classes.
        Objects = 31,
        /// Part of what a reader needs to go on from a moment.
        State = 33,
        /// Part of what was computed from all events.
        Results = 34,
    }
}

impl ChunkKind {
    /// True for chunks that are read when a capture is opened; the others are read on demand.
    pub(crate) fn holds_tables(self) -> bool {
        let is_reading = matches!(
            self,
            ChunkKind::Samples
                | ChunkKind::Counters
                | ChunkKind::Faults
                | ChunkKind::Copies
                | ChunkKind::Pointers
                | ChunkKind::Objects
                | ChunkKind::State
                | ChunkKind::Results
        );
        !is_reading && !matches!(self, ChunkKind::Events | ChunkKind::Index)
    }
}
