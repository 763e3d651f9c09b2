//! Gives the agent to a process that runs without it, so that it can be attached to.
//!
//! ```text
//!  moment ── a thread that holds no lock of the loader's or the allocator's ─► remote: it calls dlopen, and asks the agent
//!  linkage ─ the words through which modules call malloc and its kin ──────► words: it has the agent change them
//! ```
//!
//! The agent is then as it is where it was preloaded: dormant, until it is called. Its library stays in the process for good, since
//! somebody may have kept the address of a function in it; the words are put back at the end, and with them goes all that it costs.
//! Libraries that the process loads later are looked for once a second.
//!
//! A process that has the agent, from its start or by this, and does not answer since it calls nothing of the allocator, is made to in
//! the same way (`wake`).
//!
//! What is different from a preloaded agent: words that are nobody's relocation, as copies of `&malloc` that the program made for
//! itself, stay what they were, and so does what the dynamic loader allocates.

mod breakpoints;
mod host;
pub(crate) mod late;
mod linkage;
mod loading;
mod memory;
mod moment;
mod refusal;
pub(crate) mod remote;
pub(crate) mod threads;
#[expect(unsafe_code, reason = "ptrace")]
pub(crate) mod tracee;
mod wake;
#[cfg_attr(test, expect(unsafe_code, reason = "a struct of numbers that are all zero"))]
mod way_back;
mod words;

pub use refusal::Refusal;
pub(crate) use wake::wake;

use crate::launch::descendants;
use crate::log::debug;
use host::Host;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often new libraries are looked for.
const PACE: Duration = Duration::from_secs(1);

/// An agent in a process that was not preloaded, until this is dropped.
#[derive(Debug)]
pub struct Injection {
    /// Dropped first: the thread sees that it is over.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
    pid: u32,
}

impl Injection {
    /// Loads the agent's file into a process and puts its hooks in front of the allocator's functions. One of its threads stands still for
    /// some milliseconds, at a good moment, which is waited for until `patience` is at its end.
    ///
    /// # Errors
    /// Why the process cannot have it.
    pub fn new(pid: u32, agent: &Path, patience: Duration) -> Result<Injection, Refusal> {
        let (end, ends) = channel();
        let (tell, told) = channel();
        let agent = agent.to_owned();
        // A thread of its own: tracees belong to threads, and are free when it ends.
        let work = move || {
            let worked = work(pid, &agent, patience, &tell, &ends);
            late::settle();
            worked
        };
        let thread =
            std::thread::Builder::new().name("inject".into()).spawn(work).map_err(Refusal::System)?;
        let mut injection = Injection { end: Some(end), thread: Some(thread), pid };
        match told.recv() {
            Ok(Ok(())) => Ok(injection),
            Ok(Err(refusal)) => Err(refusal),
            Err(_) => injection.finish().and(Err(crashed())),
        }
    }

    /// The process that has it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Leads the process past the agent again. Its library stays there.
    ///
    /// # Errors
    /// Why that could not be done: the process still calls the agent, which does nothing.
    pub fn end(mut self) -> Result<(), Refusal> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.end = None;
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(crashed())))
    }
}

fn crashed() -> Refusal {
    Refusal::System(std::io::Error::other("the thread that injects has crashed"))
}

impl Drop for Injection {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn work(
    pid: u32,
    agent: &Path,
    patience: Duration,
    tell: &Sender<Result<(), Refusal>>,
    ends: &Receiver<()>,
) -> Result<(), Refusal> {
    let begun = Host::new(pid, agent, patience).and_then(|mut host| {
        host.load(Instant::now() + patience)?;
        Ok(host)
    });
    let mut host = match begun {
        Ok(host) => host,
        Err(refusal) => {
            let _ = tell.send(Err(refusal));
            return Ok(());
        }
    };
    let _ = tell.send(Ok(()));
    let mut due = Instant::now() + PACE;
    while ends.recv_timeout(until(due)) == Err(RecvTimeoutError::Timeout) {
        late::let_go();
        if Instant::now() < due {
            continue;
        }
        match host.follow() {
            Ok(()) => {}
            Err(Refusal::NoProcess { .. }) => return Ok(()),
            Err(refusal) => debug!("cannot follow what process {pid} loads: {refusal}"),
        }
        due = Instant::now() + PACE;
    }
    // What it forked meanwhile has copies of the changed words.
    let children = descendants(pid);
    let restored = host.restore();
    for child in children {
        if let Err(refusal) = host.in_child(child.pid).and_then(|mut host| host.restore()) {
            debug!("child {} of process {pid}: {refusal}", child.pid);
        }
    }
    match restored {
        Err(Refusal::NoProcess { .. }) => Ok(()),
        restored => restored,
    }
}

/// The time until new libraries are looked for, or threads that have to be let go.
fn until(due: Instant) -> Duration {
    let wait = due.saturating_duration_since(Instant::now());
    if late::is_any() { wait.min(late::PACE) } else { wait }
}
