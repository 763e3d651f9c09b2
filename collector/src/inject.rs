//! Loads the agent into a process that runs without it, so that it can be attached to.
//!
//! ```text
//!  safepoint ─ a thread that holds no lock of the loader's or the allocator's ─► remote: it calls dlopen, and asks the agent
//!  linkage ─── the words through which modules call malloc and its kin ──────► words: it has the agent change them
//! ```
//!
//! From then on the agent is as if it had been preloaded: dormant until it is called. Its library stays in the
//! process for good, since something may have kept the address of one of its functions. At the end the words are put
//! back, and with them goes the whole overhead. Libraries that the process loads meanwhile are bound to the agent by
//! the loader; once a second we look for those that were not.
//!
//! All of this is done by a process of its own (`tracer`), since it must not be killed meanwhile.
//!
//! A process that has the agent, preloaded or injected, but does not answer because it calls no function of the
//! allocator, is made to answer in the same way (`wake`).
//!
//! Differences from a preloaded agent: words that no relocation covers, such as copies of `&malloc` that the program
//! made itself, stay as they were, and so do the dynamic loader's own allocations.

mod host;
mod injection;
mod linkage;
mod loading;
mod remote;
mod safepoint;
mod wake;
mod words;

pub use crate::ptrace::refusal::Refusal;
pub(crate) use host::is_injected;
pub use injection::Injection;
pub(crate) use wake::Waker;

use crate::ptrace::filters::FiltersJob;
use crate::ptrace::hold::HoldJob;
use crate::ptrace::tracer::{self, Kind};
use injection::InjectJob;
use std::io;
use wake::WakeJob;

/// Starts the process that traces others on our behalf. A command that traces calls this before it has other threads,
/// children or descriptors that somebody waits for. One that waits for all its children says so: the tracer is none of
/// them then.
///
/// # Errors
/// When the system refuses a process. Everything works without it, too, but a killed command may then disturb those
/// that it traces.
pub fn start_tracer(waits_for_children: bool) -> io::Result<()> {
    let kinds =
        [Kind::of::<InjectJob>(), Kind::of::<WakeJob>(), Kind::of::<HoldJob>(), Kind::of::<FiltersJob>()];
    tracer::start(waits_for_children, &kinds)
}
