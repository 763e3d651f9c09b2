//! Which ids an event may have.

use crate::error::Malformed;
use crate::ids::{MarkId, NodeId, ProcessId, StringId};

/// Number of rows of each table: an event that refers beyond them is an error, so that users of events may index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) threads: usize,
    pub(crate) nodes: usize,
    pub(crate) processes: usize,
    pub(crate) strings: usize,
    pub(crate) marks: usize,
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

    pub(super) fn name(self, string: u64) -> Result<StringId, Malformed> {
        match string < self.strings as u64 {
            true => Ok(StringId(string as u32)),
            false => Err(Malformed("an event refers to an unknown name")),
        }
    }

    pub(super) fn mark(self, mark: u64) -> Result<MarkId, Malformed> {
        match mark < self.marks as u64 {
            true => Ok(MarkId(mark as u32)),
            false => Err(Malformed("an event refers to an unknown mark")),
        }
    }
}
