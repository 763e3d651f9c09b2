//! Makes a process answer that calls no function of the allocator by itself.
//!
//! A process that waits for clients, or only computes, may call no such function for hours, and would not notice that
//! it is called. So one of its threads is stopped where it holds no lock, and made to check.

use super::host::Host;
use super::safepoint::SafepointChecker;
use crate::ptrace::refusal::{Refusal, once_free};
use crate::ptrace::tracee::late;
use crate::ptrace::tracer::{End, Job, Link, ask};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is looked whether the process has answered.
const LOOK: Duration = Duration::from_millis(5);
/// Pause between two attempts; the process is called again in between.
const PACE: Duration = Duration::from_millis(20);

/// Makes threads of a process answer. What has to be read of the process for that is read once.
#[derive(Debug)]
pub(crate) struct Waker(Link);

impl Waker {
    /// For a process that has the agent, loaded from this file. A call in it is waited for as long as `timeout`.
    ///
    /// # Errors
    /// Why it cannot be made to answer.
    pub(crate) fn new(pid: u32, agent: &Path, timeout: Duration) -> Result<Waker, Refusal> {
        ask(WakeJob { pid, agent: agent.into(), timeout }).map(|((), link)| Waker(link))
    }

    /// Has a thread of the process check whether the process is called, again and again until it `has_answered`.
    ///
    /// # Errors
    /// Why none could.
    pub(crate) fn wake(&self, has_answered: impl Fn() -> bool, deadline: Instant) -> Result<(), Refusal> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.0.send(&left).map_err(Refusal::System)?;
        // There is news before the end only if the tracer is gone.
        while !has_answered() && !self.0.has_news(Some(LOOK)) {}
        self.0.end().map_err(Refusal::System)?
    }
}

/// Makes a process check whether it is called, again and again until [`End`]; each time for as long as is said.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WakeJob {
    pid: u32,
    agent: OsString,
    timeout: Duration,
}

impl Job for WakeJob {
    const NAME: &'static str = "wake";
    const THREAD: &'static str = "inject";

    fn serve(self, link: &Link) {
        let WakeJob { pid, agent, timeout } = self;
        let mut host = match once_free(|| Host::preloaded(pid, agent.as_ref(), timeout)) {
            Ok(host) => host,
            Err(refusal) => return drop(link.send(&Err::<(), _>(refusal))),
        };
        let mut checker = host.survey();
        let mut is_heard = link.send(&Ok::<(), Refusal>(())).is_ok();
        while is_heard && let Ok(left) = link.receive::<Duration>() {
            let woken = wake_until(&mut host, &mut checker, Instant::now() + left, link);
            // Late threads have to be released, whatever becomes of this.
            late::settle();
            is_heard = link.receive::<End>().is_ok() && link.send(&woken).is_ok();
        }
    }
}

fn wake_until(
    host: &mut Host,
    checker: &mut SafepointChecker,
    deadline: Instant,
    link: &Link,
) -> Result<(), Refusal> {
    let answer = host.base()?.wrapping_add(host.answer);
    let is_over = || link.has_news(Some(Duration::ZERO));
    while !is_over() && Instant::now() < deadline {
        let mut caller = host.caller(checker, deadline)?;
        // After an exec anything may be there. One of its threads is stopped by now, so the answer stays true.
        if !host.has_agent_still()? {
            return Ok(());
        }
        if !is_over() {
            host.call(&mut caller, answer, [0; 2])?;
        }
        drop(caller);
        if !is_over() {
            std::thread::sleep(PACE);
        }
    }
    Ok(())
}
