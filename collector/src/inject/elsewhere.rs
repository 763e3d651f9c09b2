//! Injection is not supported on this processor: there is no code to call a function in another process. Here a
//! process has to be started with the agent preloaded.

mod refusal;

pub use refusal::Refusal;

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

/// An agent in a process that was not preloaded; never exists.
#[derive(Debug)]
pub struct Injection(Infallible);

impl Injection {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn new(_pid: u32, _agent: &Path, _patience: Duration) -> Result<Injection, Refusal> {
        Err(Refusal::Processor)
    }

    /// The process that has the agent.
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// Redirects the process past the agent again.
    ///
    /// # Errors
    /// None, since no such agent exists.
    pub fn end(self) -> Result<(), Refusal> {
        match self.0 {}
    }
}

/// Does nothing: the process is waited for instead.
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

/// Threads that could not be released; never any.
pub(crate) mod late {
    pub(crate) fn settle() {}
}
