//! Stopping a process is not supported on this processor: there is no code to restart interrupted system calls.

use super::areas::Stack;
use crate::inject::Refusal;
use std::convert::Infallible;
use std::time::Duration;

/// All threads of a process, stopped; never exists.
#[derive(Debug)]
pub(super) struct Hold(Infallible);

impl Hold {
    /// Always fails.
    pub(super) fn on(_pid: u32) -> Result<Hold, Refusal> {
        Err(Refusal::Processor)
    }

    /// The threads' stack pointers.
    pub(super) fn stacks(&self) -> Vec<Stack> {
        match self.0 {}
    }

    /// A thread's registers.
    pub(super) fn registers(&self, _thread: u32) -> &[u64] {
        match self.0 {}
    }

    /// Resumes all threads; returns how long they were stopped.
    pub(super) fn let_go(self) -> Duration {
        match self.0 {}
    }
}
