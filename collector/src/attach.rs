//! Recording of processes that run already: they have the agent preloaded and lie dormant.
//!
//! ```text
//!  named ────── /proc/*/{stat,exe}: who is called so
//!  preloaded ── /proc/*/maps: who has the agent, who its doorbell, whose memory is whose ─► Preloaded
//!  bell ─────── the doorbell's file, locked while one calls: ring it
//!  confinement  filters on its system calls: whether they would kill it for that
//!  call ─────── the socket beside it: Hello, memory, "mapped" ─► Image
//! ```
//!
//! A dormant process has nothing open: no descriptor, no thread. The one thing that it looks at is the page of its
//! user's doorbell, which [`shared_ring::doorbell`] describes, and it can be called only by who may write that page:
//! its user, and root.

mod bell;
mod call;
mod confinement;
mod hindrance;
mod named;
mod preloaded;

pub use bell::{folders, make_doorbell};
pub(crate) use call::call;
pub use call::{Manner, is_callable};
pub use hindrance::Hindrance;
pub use named::named;
pub use preloaded::{Preloaded, State, preloaded};

use std::io;
use std::path::PathBuf;

/// Why a process cannot be recorded now; each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is none with this pid.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its pid.
        pid: u32,
    },
    /// What it has mapped cannot be read.
    #[error("process {pid} belongs to another user: only that user and root can attach to it")]
    NotYours {
        /// Its pid.
        pid: u32,
    },
    /// It has no agent.
    #[error(
        "process {pid} does not have the agent preloaded. Start it with LD_PRELOAD=$(sysprof-memprof preload-path), \
         or record it from its start with sysprof-memprof run"
    )]
    NotPreloaded {
        /// Its pid.
        pid: u32,
    },
    /// It has the agent, but cannot hear.
    #[error(
        "process {pid} has the agent preloaded, but there was no doorbell when it started: it hears nothing. \
         sysprof-memprof install-agent, run as root, makes one for all users; then restart the process"
    )]
    NoDoorbell {
        /// Its pid.
        pid: u32,
    },
    /// Somebody records it.
    #[error("process {pid} is already recorded by process {by}. sysprof-memprof detach {pid} ends that")]
    Recorded {
        /// Its pid.
        pid: u32,
        /// The collector's.
        by: u32,
    },
    /// Its doorbell is not what it has to be.
    #[error("the doorbell {path} of process {pid} cannot be used: {why}")]
    Doorbell {
        /// Its pid.
        pid: u32,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It has called nothing of the allocator.
    #[error("process {pid} did not answer. {why}{}", asleep(.unwoken.as_ref()))]
    Silent {
        /// Its pid.
        pid: u32,
        /// What keeps it from that.
        why: Hindrance,
        /// Why it could not be made to, where that was tried.
        unwoken: Option<crate::inject::Refusal>,
    },
    /// It was not called, since others were calling all the time.
    #[error(
        "process {pid} could not be called: other processes of sysprof-memprof were calling by the same doorbell. Try again"
    )]
    Taken {
        /// Its pid.
        pid: u32,
    },
    /// Filters on its system calls forbid what its agent would do.
    #[error(
        "process {pid} has filters on its system calls (seccomp) that {} what it takes to be recorded: {}. Restart it with \
         these allowed, as by SystemCallFilter= of its unit",
        if *.is_deadly { "would kill it for" } else { "refuse" },
        .calls.join(", "),
    )]
    Confined {
        /// Its pid.
        pid: u32,
        /// What it would call.
        calls: Vec<&'static str>,
        /// They would be its end; else they would fail.
        is_deadly: bool,
    },
    /// Threads of it are still in an earlier recording's memory.
    #[error("process {pid} is busy: a thread of it has not finished with its last recording. Try again")]
    Busy {
        /// Its pid.
        pid: u32,
    },
    /// Its agent is of another version.
    #[error(
        "process {pid} has an agent of protocol {theirs}, and this program speaks {ours}. Restart it with the agent \
         of this version"
    )]
    Version {
        /// Its pid.
        pid: u32,
        /// The agent's version.
        theirs: u32,
        /// This program's.
        ours: u32,
    },
    /// The system refused something.
    #[error("cannot attach to process {pid}: {source}")]
    System {
        /// Its pid.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
}

fn asleep(unwoken: Option<&crate::inject::Refusal>) -> String {
    unwoken.map_or_else(String::new, |why| format!(". It cannot be made to by us: {why}"))
}

impl Refusal {
    /// True when it may answer if it is called for longer.
    pub fn may_pass(&self) -> bool {
        matches!(self, Refusal::Silent { .. } | Refusal::Taken { .. })
    }
}
