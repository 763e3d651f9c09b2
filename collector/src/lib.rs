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
//!     │ if only something smaller is kept: the distiller, which reads what the writer wrote
//!  sampler ─── CPU samples, from the kernel's rings; sent to the writer in batches of their own
//!  counters ── reads memory and processor time of processes from /proc, ten times a second
//!  keeper ──── holds the robust futexes by which agents see that we died; one keeper per 1,024 images
//! ```

pub mod agent_file;
pub mod attach;
pub mod commands;
pub mod import;
pub mod launch;
pub mod target;

mod distil;
mod error;
mod failure;
mod log;
mod name_search;
#[expect(unsafe_code, reason = "asks the kernel for the number of a process")]
mod namespace;
mod numbers;
mod occupant;
mod options;
mod orders;
mod preloaded;
mod requests;
mod scan;
mod session;
mod snapshot;
mod triggers;

#[expect(unsafe_code, reason = "tells the allocator how many arenas to have")]
mod address_space;
mod alarm;
#[cfg(test)]
mod alone;
mod background;
mod backlog;
mod door;
mod exit_scans;
mod glob;
#[expect(unsafe_code, reason = "asks libc for a group")]
mod group;
mod image;
pub mod inject;
mod known_images;
mod listener;
mod listening_socket;
mod liveness;
#[expect(unsafe_code, reason = "maps a file to see how the kernel lists it")]
mod mapped_file;
#[expect(unsafe_code, reason = "maps the memory that is shared with agents")]
mod memory;
mod out_of_memory;
#[expect(unsafe_code, reason = "asks who is at the other end of a socket, which may have no number here")]
mod peer;
mod pending;
#[expect(unsafe_code, reason = "gives a thread a umask of its own")]
mod rights;
mod socket;
mod strangers;
mod successors;
mod unrecorded;
#[expect(unsafe_code, reason = "ioctl")]
mod wait_status;
mod watcher;

mod crowd;
mod drain;
mod drained;
mod merge_key;
mod sleeper;
mod stream;

mod counters;
mod perf;

mod batch;
mod item;
mod loser_tree;
mod merge;
mod queue;
#[expect(unsafe_code, reason = "tells the kernel how to schedule a thread")]
mod scheduling;
mod watermark;
mod writing;

mod addresses;
mod annotations;
mod anonymous_code;
mod beginning;
#[expect(unsafe_code, reason = "reads the time stamp counter")]
mod clock;
mod command_line;
mod file_copies;
mod handles;
mod live;
mod missed_allocators;
mod modules;
mod pipeline;
mod process;
mod processes;
mod stacks;
mod symbolize;
mod totals;
mod unnamed;

#[doc(hidden)]
pub mod stages;

pub use address_space::spare_address_space;
pub use distil::{Begin, Distil};
pub use error::{Error, LARGER_FILES, MORE_FILES, advice_for_file, is_too_many_files};
pub use group::group;
pub use log::{Sink, log_to};
pub use name_search::NameSearch;
pub use options::{DEFAULT_DEPTH, MAX_DEPTH, OnFull, Options};
pub use perf::{Again, CpuOptions, NoTrace, Probe, Scope, Trace, probe, unwind_again};
pub use requests::Requests;
pub use rights::Rights;
pub use session::{Finished, Progress, Session, cannot_create};
/// Version of the protocol between agent and collector.
pub use shared_ring::PROTOCOL_VERSION;
pub use shared_ring::control::MAX_SAMPLE_INTERVAL;
pub use snapshot::Taken;
pub use triggers::Triggers;
