//! The options of a recording.

use super::cpu_options::CpuOptions;
use super::rights::Rights;
use super::triggers::Triggers;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Most frames of a stack, unless the user says otherwise …
pub const DEFAULT_DEPTH: u32 = 1024;
/// … and the most that can be asked for.
pub const MAX_DEPTH: u32 = 65_535;

/// What a thread does when its ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// Wait for the collector to make room, at most [`Options::max_wait`], then lose events and count them.
    #[default]
    Block,
    /// Lose events at once and count them.
    Drop,
}

/// Options of one recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The capture to write.
    pub output: PathBuf,
    /// Write the capture into this empty file, pipe or socket instead of creating one at `output`: for readers that
    /// follow it while it grows and keep nothing of it.
    pub passing: Option<Arc<File>>,
    /// What goes into `passing` is kept by its receiver.
    pub sends: bool,
    /// What goes into `passing` is aggregated, see `Session::aggregate`, and the result is kept at `output`.
    pub aggregates: bool,
    /// Replace an existing capture.
    pub replace: bool,
    /// How often whole chunks are written, so that readers of the file see it grow.
    pub flush_every: Duration,
    /// The recorded command, for the capture's metadata; empty for `record`.
    pub command: Vec<OsString>,
    /// Store command lines in the capture.
    pub store_command: bool,
    /// Record only processes that are attached to: the recording begins with the first of them.
    pub attaches: bool,
    /// Record the processes that the target starts.
    pub follow: bool,
    /// What a thread does when its ring is full.
    pub on_full: OnFull,
    /// Longest wait on a full ring.
    pub max_wait: Duration,
    /// Bytes of one thread's ring, rounded up to a power of two.
    pub ring_size: usize,
    /// Most frames of a stack.
    pub max_depth: u32,
    /// Record only samples, one per this many bytes allocated on average; 0 records every allocation.
    pub sample_interval: u64,
    /// Record nothing of a process until it calls `memprof_start`.
    pub paused: bool,
    /// Scan the memory of each process when it is about to exit; the process waits for that.
    pub scan_at_exit: bool,
    /// Record the stacks of frees, too.
    pub free_stacks: bool,
    /// Read the frames of interpreters.
    pub interpreters: bool,
    /// Record only processes whose name, or their executable's, matches one of these globs; empty means all.
    pub only: Vec<String>,
    /// Do not record processes whose name, or their executable's, matches one of these globs.
    pub skip: Vec<String>,
    /// Resolve names at the end and store them in the capture.
    pub symbolize: bool,
    /// Where files with names are found, and how names are stored.
    pub symbols: symbols::Options,
    /// Listen here for agents; `None` means a private socket.
    pub socket: Option<PathBuf>,
    /// Whom the file of that socket lets connect.
    pub rights: Rights,
    /// The private folder of the agent's file: processes in other network namespaces find a private socket there.
    pub agent_folder: Option<PathBuf>,
    /// When snapshots are marked automatically.
    pub triggers: Triggers,
    /// Take commands from other processes of this user; only one session of a process can.
    pub hears_commands: bool,
    /// Sample the processors, too.
    pub cpu: Option<CpuOptions>,
    /// Version of the tool, for the capture's metadata.
    pub tool_version: String,
    /// What the user says of the recording, as name and value.
    pub labels: Vec<(String, String)>,
}

impl Options {
    /// How often a capture grows unless somebody waits for it.
    pub const FLUSH: Duration = Duration::from_millis(900);
}
