//! Drains the rings of recorded processes into one capture.
//!
//! # What it promises
//!
//! - Whatever a recorded process committed reaches the capture, no matter who dies: the process, its threads or its
//!   children. What could not be recorded is counted by reason.
//! - Draining never waits for disk, terminal, network or `/proc`: other threads do that.
//! - Recorded processes are not trusted. A ring or table with impossible contents is abandoned and counted.
//!
//! # Threads, and what each owns
//!
//! ```text
//!  listener ── accepts agents, makes their memory ────────────► Image ─┐
//!  attach ──── calls running processes, likewise ──────────────► Image  │
//!  watcher ─── finds pids, polls pidfds: who is gone ─── flags ► Image │
//!  drain ───── copies rings, checks, merges by time ◄──────────────────┘
//!     │ queue of batches in merged order, bounded by bytes
//!  writer ──── stacks, processes, threads, the capture file; names (symbols) at the end
//!     │ if only something smaller is kept: the aggregator, which reads what the writer wrote
//!  sampler ─── CPU samples, from the kernel's rings; sent to the writer in batches of their own
//!  counters ── reads memory and processor time of processes from /proc, ten times a second
//!  keeper ──── holds the robust futexes by which agents see that we died; one keeper per 1,024 images
//! ```
//!
//! # The path of one record
//!
//! ```text
//!  ring             Drain::run ─► Round::run ─► sweep ─► ImageDrain::sweep ─► sweep_ring    the drain thread
//!    │ words          Consumer::take ─► Stream::copy         copied out; the room is free again
//!    ▼                ImageDrain::check ─► Stream::check     whole and possible? what does it say of its process?
//!  stream           Round::emit ─► Merger::merge ─► Batch::run    runs of words, by time, up to the watermark
//!    ▼                Round::send ─► queue::Sender::send
//!  queue           ═════════════════════════════════════════════════════════════════════════════════════════
//!    ▼              writing::write ─► Pipeline::take ─► Pipeline::run                       the writer's thread
//!  records            Pipeline::short_records, Pipeline::record    ids of the segment become ids of the capture
//!    ▼                capture::Writer::events ─► add ─► Observer::event (counts it) ─► Encoder::push
//!  columns            … a chunk is full, or a second is over: Writer::flush ─► Encoder::finish
//!    ▼                Output::chunk ─► Packer::pack ─► write_all
//!  file
//! ```
//!
//! # Folders
//!
//! Each is a stage of a recording. It imports only what stands below it.
//!
//! | folder | what is in it |
//! |---|---|
//! | `session` | one recording: starts all threads, and stops them in the order that their types enforce |
//! | `attach` | running processes: which may be recorded, and how they are called |
//! | `control` | what others ask of a running recording: commands, scans at exit |
//! | `accept` | the sockets where agents connect, and who is admitted |
//! | `writer` | the writer's thread: the pipeline from records to events, the capture, its names at the end |
//! | `cpu` | CPU samples and page faults from the kernel's perf events, and counters |
//! | `tables` | what events refer to: processes, stacks, modules; live blocks, totals |
//! | `drain` | the drain thread: empties the rings, merges up to a watermark |
//! | `inject` | loads the agent into a process that runs without it |
//! | `scan` | the words of a process' memory that are addresses of its memory |
//! | `image` | one executed image: its memory, its processes, their ends, and how they learn of ours |
//! | `ptrace` | stops threads of others: a library of its own, with the tracer |
//! | `remote_unwind` | unwinds stacks of others by the tables of their files: a library of its own |
//! | `proc` | what `/proc` says, and which process a pid means |
//! | `base` | options, errors, clock, and small helpers that know nothing of a recording |
//!
//! `stages` runs the stages one by one for `scripts/bench-collector`.

pub mod attach;
mod session;

pub mod control;

mod accept;

mod writer;

mod cpu;

mod tables;

mod drain;
pub mod inject;
mod scan;

mod image;

mod ptrace;
mod remote_unwind;

mod proc;

mod base;

#[doc(hidden)]
pub mod stages;

pub use base::arena::keep_to_one_arena;
pub use base::clock::note_time;
pub use base::cpu_options::{CpuOptions, Scope};
pub use base::error::cannot_create;
pub use base::error::{Error, LARGER_FILES, MORE_FILES, advice_for_file, is_too_many_files};
pub use base::file_lock::FileLock;
pub use base::group::group;
pub use base::log::{Sink, log_to};
pub use base::name_search::NameSearch;
pub use base::options::{DEFAULT_DEPTH, MAX_DEPTH, OnFull, Options};
pub use base::rights::Rights;
pub use base::triggers::{TriggerMonitor, Triggers};
pub use control::requests::Requests;
pub use cpu::{Probe, UnwoundAgain, probe, unwind_again};
pub use session::{Finished, Progress, Session};
/// Version of the protocol between agent and collector.
pub use shared_ring::PROTOCOL_VERSION;
pub use shared_ring::control::MAX_SAMPLE_INTERVAL;
pub use writer::aggregator::{Aggregator, Begin};
pub use writer::live_heap::LiveHeap;
pub use writer::snapshot::Taken;
