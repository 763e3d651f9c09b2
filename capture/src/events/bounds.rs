//! Which ids an event may have.

use crate::error::Malformed;
use crate::ids::{NodeId, ProcessId};

/// How many rows the tables have: an event that refers beyond them is an error, so that users of events may index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) threads: usize,
    pub(crate) nodes: usize,
    pub(crate) processes: usize,
}

impl Bounds {
    #[inline(always)]
    pub(super) fn thread(self, thread: u32) -> Result<(), Malformed> {
        match (thread as usize) < self.threads {
            true => Ok(()),
            false => Err(Malformed("an event refers to an unknown thread")),
        }
    }

    #[inline(always)]
    pub(super) fn stack(self, stack: u64) -> Result<NodeId, Malformed> {
        match stack < self.nodes as u64 {
            true => Ok(NodeId(stack as u32)),
            false => Err(Malformed("an event refers to an unknown stack")),
        }
    }

    pub(super) fn process(self, process: u64) -> Result<ProcessId, Malformed> {
        match process < self.processes as u64 {
            true => Ok(ProcessId(process as u32)),
            false => Err(Malformed("an event refers to an unknown process")),
        }
    }
}
