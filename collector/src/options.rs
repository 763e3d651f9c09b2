//! What a recording is asked to do.

use crate::{CpuOptions, Rights, Trace, Triggers};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a thread does when its ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// Wait until the collector made room, at most [`Options::max_wait`], then lose events and count them.
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
    /// Write the capture into this empty file, pipe or socket and make none at `output`: for those who read it while it grows,
    /// and keep nothing of it.
    pub passing: Option<Arc<File>>,
    /// What passes is kept by whoever it is sent to.
    pub sends: bool,
    /// What passes is distilled, see [`crate::Session::distil`], and what is kept lies at `output`.
    pub distils: bool,
    /// Replace an existing capture.
    pub replace: bool,
    /// How often whole chunks are written, so that readers of the growing file see it grow.
    pub flush_every: Duration,
    /// The command that is recorded, for the capture's metadata; empty for `record`.
    pub command: Vec<OsString>,
    /// Store command lines in the capture.
    pub store_command: bool,
    /// Only processes that are attached to are recorded: the recording begins with the first of them.
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
    /// Record samples only, one in so many bytes of allocations on average; 0: every allocation.
    pub sample_interval: u64,
    /// Record nothing of a process until it calls `memprof_start`.
    pub paused: bool,
    /// Scan the memory of each process when it is about to exit, which waits for that.
    pub scan_at_exit: bool,
    /// Record the stacks of frees, too.
    pub free_stacks: bool,
    /// Record only processes whose executable's name matches one of these globs; empty means all.
    pub only: Vec<String>,
    /// Do not record processes whose executable's name matches one of these globs.
    pub skip: Vec<String>,
    /// Resolve names at the end and store them in the capture.
    pub symbolize: bool,
    /// Where files with names are, and how names are stored.
    pub symbols: symbols::Options,
    /// Listen here for agents; none means a private socket.
    pub socket: Option<PathBuf>,
    /// Whom that socket's file lets connect.
    pub rights: Rights,
    /// The private folder in which the agent's file is: processes in other network namespaces find a private socket there.
    pub agent_folder: Option<PathBuf>,
    /// Keep a live table, so that [`crate::Progress::live_bytes`] is known.
    pub live: bool,
    /// When snapshots are marked without anybody asking.
    pub triggers: Triggers,
    /// Take commands from others of this user; one session of a process can.
    pub hears_commands: bool,
    /// Sample the processors, too.
    pub cpu: Option<CpuOptions>,
    /// Record hits of these tracepoints, too, of whatever is sampled; [`Trace::MOST`] at most.
    pub traces: Vec<Trace>,
    /// Version of the tool, for the capture's metadata.
    pub tool_version: String,
}

impl Options {
    /// How often a capture grows unless somebody waits for it.
    pub const FLUSH: Duration = Duration::from_millis(900);
}
