//! An agent in a process that was not preloaded.

use super::host::Host;
use crate::base::log::debug;
use crate::proc::family::descendants;
use crate::ptrace::refusal::{Refusal, once_free};
use crate::ptrace::tracee::late;
use crate::ptrace::tracer::{End, Job, Link, ask};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often new libraries are looked for.
const PACE: Duration = Duration::from_secs(1);

/// An agent in a process that was not preloaded; removed on drop.
#[derive(Debug)]
pub struct Injection {
    pid: u32,
    link: Option<Link>,
}

impl Injection {
    /// Loads the agent's file into a process and puts its hooks in front of the allocator's functions. One of the
    /// process's threads is stopped for some milliseconds, at a safe point, for which this waits until `timeout`
    /// runs out.
    ///
    /// # Errors
    /// Why the agent cannot be loaded.
    pub fn new(pid: u32, agent: &Path, timeout: Duration) -> Result<Injection, Refusal> {
        let ((), link) = ask(InjectJob { pid, agent: agent.into(), timeout })?;
        Ok(Injection { pid, link: Some(link) })
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
        self.link.take().map_or(Ok(()), |link| link.end().map_err(Refusal::System)?)
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Puts the agent into a process; then, until [`End`], into what the process loads; then redirects it past the agent.
/// Without an [`End`] the agent is left there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InjectJob {
    pid: u32,
    agent: OsString,
    timeout: Duration,
}

impl Job for InjectJob {
    const NAME: &'static str = "inject";
    const THREAD: &'static str = "inject";

    fn serve(self, link: &Link) {
        let worked = work(self.pid, self.agent.as_ref(), self.timeout, link);
        late::settle();
        let _ = link.send(&worked);
    }
}

/// Without an order to end, because nobody is left who could give it, the process stays as it is: as if it had been
/// preloaded.
fn work(pid: u32, agent: &Path, timeout: Duration, link: &Link) -> Result<(), Refusal> {
    let mut host = once_free(|| Host::new(pid, agent, timeout))?;
    host.load()?;
    if link.send(&Ok::<(), Refusal>(())).is_err() {
        return Ok(());
    }
    let mut due = Instant::now() + PACE;
    while !link.has_news(Some(until(due))) {
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
    if link.receive::<End>().is_err() {
        return Ok(());
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
