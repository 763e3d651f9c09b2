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
//!  ring             Drain::run ─► Round::run ─► Round::sweep ─► ImageDrain::sweep_ring      the drain thread
//!    │ words          Consumer::take ─► Stream::copy         copied out; the room is free again
//!    ▼                ImageDrain::check ─► Stream::check     whole and possible? what does it say of its process?
//!  stream           Round::emit ─► Merger::merge ─► Batch::run    runs of words, by time, up to the watermark
//!    ▼                Round::send ─► queue::Sender::send
//!  queue           ═════════════════════════════════════════════════════════════════════════════════════════
//!    ▼              writing::write ─► Pipeline::take ─► Pipeline::run                       the writer's thread
//!  records            Pipeline::short_records, Pipeline::record    ids of the segment become ids of the capture
//!    ▼                capture::Writer::event ─► Encoder::push
//!  columns            … a chunk is full, or a second is over: Writer::flush ─► Encoder::finish
//!    ▼                Output::chunk ─► Packer::pack ─► write_all
//!  file
//! ```
//!
//! # Folders
//!
//! Each is a stage of a recording. It imports only what stands below it.

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

pub use base::address_space::spare_address_space;
pub use base::cpu_options::{CpuOptions, Scope};
pub use base::error::cannot_create;
pub use base::error::{Error, LARGER_FILES, MORE_FILES, advice_for_file, is_too_many_files};
pub use base::group::group;
pub use base::log::{Sink, log_to};
pub use base::name_search::NameSearch;
pub use base::options::{DEFAULT_DEPTH, MAX_DEPTH, OnFull, Options};
pub use base::rights::Rights;
pub use base::triggers::Triggers;
pub use control::requests::Requests;
pub use cpu::{Probe, UnwoundAgain, probe, unwind_again};
pub use session::{Finished, Progress, Session};
/// Version of the protocol between agent and collector.
pub use shared_ring::PROTOCOL_VERSION;
pub use shared_ring::control::MAX_SAMPLE_INTERVAL;
pub use writer::aggregator::{Aggregator, Begin};
pub use writer::snapshot::Taken;
