//! Gives the agent to a process that runs without it: on this processor nobody knows how to call a function there. A process has to be
//! started with the agent preloaded.

mod refusal;

pub use refusal::Refusal;

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

/// An agent in a process that was not preloaded: there is none.
#[derive(Debug)]
pub struct Injection(Infallible);

impl Injection {
    /// Never succeeds.
    ///
    /// # Errors
    /// Always.
    pub fn new(_pid: u32, _agent: &Path, _patience: Duration) -> Result<Injection, Refusal> {
        Err(Refusal::Processor)
    }

    /// The process that has it.
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// Leads the process past the agent again.
    ///
    /// # Errors
    /// None, since there is no such agent.
    pub fn end(self) -> Result<(), Refusal> {
        match self.0 {}
    }
}

/// Does nothing: the process is waited for.
///
/// # Errors
/// None.
pub(crate) fn wake(
    _pid: u32,
    _agent: &Path,
    _has_answered: impl Fn() -> bool,
    _deadline: Instant,
) -> Result<(), Refusal> {
    Ok(())
}

/// Threads that were not let go: nobody holds any.
pub(crate) mod late {
    pub(crate) fn settle() {}
}
