//! Makes a process answer that calls no function of the allocator by itself.
//!
//! A process that waits for clients, or only computes, may call no such function for hours, and would not notice that
//! it is called. So one of its threads is stopped where it holds no lock, and made to check.

use super::host::Host;
use super::late;
use super::refusal::Refusal;
use std::path::Path;
use std::time::{Duration, Instant};

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
    // Late threads have to be released, whatever becomes of this.
    let woken = wake_until(pid, agent, has_answered, deadline);
    late::settle();
    woken
}

fn wake_until(
    pid: u32,
    agent: &Path,
    has_answered: impl Fn() -> bool,
    deadline: Instant,
) -> Result<(), Refusal> {
    let patience = deadline.saturating_duration_since(Instant::now());
    let mut host = Host::preloaded(pid, agent, patience)?;
    let answer = host.base()?.wrapping_add(host.answer);
    let mut ground = host.survey();
    while !has_answered() && Instant::now() < deadline {
        let mut caller = host.caller(&mut ground, deadline)?;
        // After an exec anything may be there. One of its threads is stopped by now, so the answer stays true.
        if !host.has_agent_still()? {
            return Ok(());
        }
        if !has_answered() {
            host.call(&mut caller, answer, [0; 2])?;
        }
        drop(caller);
        if !has_answered() {
            std::thread::sleep(PACE);
        }
    }
    Ok(())
}
