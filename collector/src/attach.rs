//! Recording of running processes: they have the agent preloaded and lie dormant.
//!
//! ```text
//!  named ────── /proc/*/{stat,exe}: who is called so
//!  preloaded ── /proc/*/maps: who has the agent, who its doorbell, whose memory is whose ─► Preloaded
//!  doorbell ─── the doorbell's file, locked while one calls: ring it
//!  confinement  filters on its system calls: whether they would kill it for that
//!  call ─────── the socket beside it: Hello, memory, "mapped" ─► Image
//! ```
//!
//! A dormant process has no descriptor and no thread for this. All it looks at is the page of its user's doorbell,
//! see [`shared_ring::doorbell`]; only those who may write that page can call it: its user, and root.

pub mod agent_file;
mod call;
mod confinement;
mod doorbell;
pub mod launch;
mod named;
mod no_answer;
mod preloaded;
pub mod target;

pub(crate) use call::call;
pub use call::{CallMode, is_callable};
pub use doorbell::make_doorbell;
pub use named::named;
pub use no_answer::NoAnswerReason;
pub use preloaded::{Preloaded, State, preloaded};

use std::io;
use std::path::PathBuf;

/// Why a process cannot be recorded now; each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No process has this pid.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its pid.
        pid: u32,
    },
    /// We may not look at it.
    #[error("process {pid} {why}")]
    Denied {
        /// Its pid.
        pid: u32,
        /// Why not, and who may.
        why: &'static str,
    },
    /// It has no agent.
    #[error(
        "process {pid} does not have the agent preloaded. Start it with LD_PRELOAD=$(sysprof-memprof agent path), \
         or record it from its start with sysprof-memprof run"
    )]
    NotPreloaded {
        /// Its pid.
        pid: u32,
    },
    /// It has the agent, but no doorbell to hear.
    #[error(
        "process {pid} has the agent preloaded, but cannot be called: there was no doorbell when it \
         started. Run sysprof-memprof agent install as root to make one for all users, or see \
         docs/tasks/containers.md for a container, and restart the process"
    )]
    NoDoorbell {
        /// Its pid.
        pid: u32,
    },
    /// Another collector records it.
    #[error("process {pid} is already recorded by process {by}. End that with sysprof-memprof detach {pid}")]
    Recorded {
        /// Its pid.
        pid: u32,
        /// The collector's pid.
        by: u32,
    },
    /// Its doorbell is not as it has to be.
    #[error("the doorbell {path} of process {pid} cannot be used: {why}")]
    Doorbell {
        /// Its pid.
        pid: u32,
        /// The doorbell's file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It did not call the allocator.
    #[error("process {pid} did not answer. {why}{}", asleep(.unwoken.as_ref()))]
    Silent {
        /// Its pid.
        pid: u32,
        /// What keeps it from answering.
        why: NoAnswerReason,
        /// Why it could not be made to answer, if that was tried.
        unwoken: Option<crate::ptrace::refusal::Refusal>,
    },
    /// It was not called, since others were calling all the time.
    #[error("process {pid} could not be called: another sysprof-memprof was using its doorbell. Try again")]
    Taken {
        /// Its pid.
        pid: u32,
    },
    /// Filters on its system calls forbid calls its agent would make.
    #[error(
        "process {pid} has filters on system calls (seccomp) that {} what recording needs: {}. Restart it \
         with these allowed, for example by SystemCallFilter= in its unit",
        if *.is_deadly { "would kill it for" } else { "refuse" },
        .calls.join(", "),
    )]
    Confined {
        /// Its pid.
        pid: u32,
        /// The forbidden calls.
        calls: Vec<&'static str>,
        /// True if they would kill it; otherwise they would fail.
        is_deadly: bool,
    },
    /// Some of its threads are still in an earlier recording's memory.
    #[error("process {pid} is busy: one of its threads has not finished with the last recording. Try again")]
    Busy {
        /// Its pid.
        pid: u32,
    },
    /// Its agent is of another version.
    #[error(
        "process {pid} has an agent with protocol {theirs}, but this version uses {ours}. Restart it with \
         the agent of this version"
    )]
    Version {
        /// Its pid.
        pid: u32,
        /// The agent's version.
        theirs: u32,
        /// This program's version.
        ours: u32,
    },
    /// The system refused something.
    #[error("cannot attach to process {pid}: {source}")]
    System {
        /// Its pid.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },
}

fn asleep(unwoken: Option<&crate::ptrace::refusal::Refusal>) -> String {
    unwoken.map_or_else(String::new, |why| format!(". It cannot be woken: {why}"))
}

impl Refusal {
    /// True if it may answer when called for longer.
    pub fn may_pass(&self) -> bool {
        matches!(self, Refusal::Silent { .. } | Refusal::Taken { .. } | Refusal::Busy { .. })
    }
}
