//! Makes a process answer that calls no function of the allocator by itself.
//!
//! A process that waits for clients, or only computes, may call no such function for hours, and would not notice that
//! it is called. So one of its threads is stopped where it holds no lock, and made to check.

use super::host::Host;
use super::late;
use super::refusal::{Refusal, once_free};
use super::tracer::{Job, Link, ask};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is looked whether the process has answered.
const LOOK: Duration = Duration::from_millis(5);
/// Pause between two attempts; the process is called again in between.
const PACE: Duration = Duration::from_millis(20);

/// Makes a thread of a process that has the agent, loaded from this file, check whether the process is called, again
/// and again until it `has_answered` or the deadline passes.
///
/// # Errors
/// Why it cannot be made to.
pub(crate) fn wake(
    pid: u32,
    agent: &Path,
    has_answered: impl Fn() -> bool,
    deadline: Instant,
) -> Result<(), Refusal> {
    let patience = deadline.saturating_duration_since(Instant::now());
    let ((), link) = ask(Job::Wake { pid, agent: agent.into(), patience })?;
    while !has_answered() && !link.has_news(Some(LOOK)) {}
    link.end().map_err(Refusal::System)?
}

pub(super) fn serve(pid: u32, agent: &Path, patience: Duration, link: &Link) {
    let woken = wake_until(pid, agent, Instant::now() + patience, link);
    // Late threads have to be released, whatever becomes of this.
    late::settle();
    let _ = link.send(&woken);
}

fn wake_until(pid: u32, agent: &Path, deadline: Instant, link: &Link) -> Result<(), Refusal> {
    let patience = deadline.saturating_duration_since(Instant::now());
    let mut host = once_free(|| Host::preloaded(pid, agent, patience))?;
    let answer = host.base()?.wrapping_add(host.answer);
    let mut ground = host.survey();
    if link.send(&Ok::<(), Refusal>(())).is_err() {
        return Ok(());
    }
    let is_over = || link.has_news(Some(Duration::ZERO));
    while !is_over() && Instant::now() < deadline {
        let mut caller = host.caller(&mut ground, deadline)?;
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
