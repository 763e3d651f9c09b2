//! A process whose threads all stand still: on this processor nobody knows how to have interrupted system calls made again, so no process
//! is stopped.

use super::areas::Stack;
use crate::inject::Refusal;
use std::convert::Infallible;
use std::time::Duration;

/// All threads of a process: never had.
#[derive(Debug)]
pub(super) struct Hold(Infallible);

impl Hold {
    /// Never succeeds.
    pub(super) fn on(_pid: u32) -> Result<Hold, Refusal> {
        Err(Refusal::Processor)
    }

    /// Where the threads stand.
    pub(super) fn stacks(&self) -> Vec<Stack> {
        match self.0 {}
    }

    /// What a thread has in its registers.
    pub(super) fn registers(&self, _thread: u32) -> &[u64] {
        match self.0 {}
    }

    /// Has all go on; how long they stood still.
    pub(super) fn let_go(self) -> Duration {
        match self.0 {}
    }
}
