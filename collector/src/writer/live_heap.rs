//! The heap of the recorded processes at a moment, while the recording goes on.
//!
//! ```text
//!  writer's thread    numbers by stack, counters ──┐
//!                     length and index of the file ┼─► LiveHeap ──► tables, read from the file by whoever asks
//! ```
//!
//! It is made when somebody asks, in a time that depends on the number of stacks, not of events or blocks; nothing is
//! kept for it but the last values of counters.

use analysis::Profile;
use capture::{CounterKind, EndedFile, Error, Overhead, Process, ProcessId, Reader, Tables};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::path::PathBuf;

/// What is known of all processes at a moment.
#[derive(Debug)]
pub struct LiveHeap {
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// What running processes hold, and what they have allocated, by stack: see [`analysis::Counting::so_far`]. Stacks
    /// are those of [`LiveHeap::tables`].
    pub profile: Profile,
    /// The running processes.
    pub processes: Vec<(ProcessId, Process)>,
    /// The last value of each counter; of no process: the collector's own, and the machine's.
    pub counters: FxHashMap<(Option<ProcessId>, CounterKind), u64>,
    /// Events lost so far, in processes that have ended too.
    pub lost: u64,
    /// What the recording has cost so far.
    pub overhead: Overhead,
    /// The capture, if its tables can be read.
    pub(crate) capture: Option<PathBuf>,
    /// Bytes of it up to this moment.
    pub(crate) length: u64,
    /// What makes those a whole capture.
    pub(crate) end: Vec<u8>,
}

impl LiveHeap {
    /// Processes, stacks and strings at this moment; none if they are not kept, as in an aggregated recording.
    ///
    /// # Errors
    /// When the capture cannot be read.
    pub fn tables(&mut self) -> Result<Option<Tables>, Error> {
        let Some(path) = &self.capture else { return Ok(None) };
        let failed = |source| Error::Io { action: format!("open {}", path.display()), source };
        let file = File::open(path).map_err(failed)?;
        let source = EndedFile { file, length: self.length, end: std::mem::take(&mut self.end) };
        Reader::from_source(source).map(|reader| Some(reader.into_tables()))
    }
}
