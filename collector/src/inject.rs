//! Loads the agent into a process that runs without it, so that it can be attached to.
//!
//! ```text
//!  moment ── a thread that holds no lock of the loader's or the allocator's ─► remote: it calls dlopen, and asks the agent
//!  linkage ─ the words through which modules call malloc and its kin ──────► words: it has the agent change them
//! ```
//!
//! From then on the agent is as if it had been preloaded: dormant until it is called. Its library stays in the
//! process for good, since something may have kept the address of one of its functions. At the end the words are put
//! back, and with them goes the whole overhead. Once a second we look for libraries that the process has loaded
//! since.
//!
//! A process that has the agent, preloaded or injected, but does not answer because it calls no function of the
//! allocator, is made to answer in the same way (`wake`).
//!
//! Differences from a preloaded agent: words that no relocation covers, such as copies of `&malloc` that the program
//! made itself, stay as they were, and so do the dynamic loader's own allocations.

pub(crate) mod arch;
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

/// An agent in a process that was not preloaded; removed on drop.
#[derive(Debug)]
pub struct Injection {
    /// Dropped first: this tells the thread to end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
    pid: u32,
}

impl Injection {
    /// Loads the agent's file into a process and puts its hooks in front of the allocator's functions. One of the
    /// process's threads is stopped for some milliseconds, at a good moment, for which this waits until `patience`
    /// runs out.
    ///
    /// # Errors
    /// Why the agent cannot be loaded.
    pub fn new(pid: u32, agent: &Path, patience: Duration) -> Result<Injection, Refusal> {
        let (end, ends) = channel();
        let (tell, told) = channel();
        let agent = agent.to_owned();
        // A thread of its own: tracees belong to the thread that traces them, and are freed when it ends.
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

    /// The process that has the agent.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Redirects the process past the agent again. Its library stays loaded.
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
    // Processes forked meanwhile have copies of the changed words.
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

/// The time until the next look for new libraries, or for late threads to release.
fn until(due: Instant) -> Duration {
    let wait = due.saturating_duration_since(Instant::now());
    if late::is_any() { wait.min(late::PACE) } else { wait }
}
