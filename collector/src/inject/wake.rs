//! Has a process answer that calls nothing of the allocator by itself.
//!
//! One that waits for clients may make no such call for hours, and one that computes neither, so they would never learn that they are
//! called. A thread of theirs is stopped where it holds no lock, and asks in their place.

use super::host::Host;
use super::late;
use super::refusal::Refusal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two times: the process is called anew meanwhile.
const PACE: Duration = Duration::from_millis(20);

/// Has a thread of a process that has the agent, loaded from this file, look whether the process is called, again and again until it
/// `has_answered` or the time is over.
///
/// # Errors
/// Why it cannot be made to.
pub(crate) fn wake(
    pid: u32,
    agent: &Path,
    has_answered: impl Fn() -> bool,
    deadline: Instant,
) -> Result<(), Refusal> {
    // Threads that were not let go are, whatever becomes of this.
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
    let mut host = Host::new(pid, agent, patience)?;
    let answer = host.base()?.wrapping_add(host.answer);
    let mut ground = host.survey();
    while !has_answered() && Instant::now() < deadline {
        let mut caller = host.caller(&mut ground, deadline)?;
        // After an exec anything may lie there. Now one of its threads stands still.
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
