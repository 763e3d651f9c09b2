//! Threads that write, and those whose names are still to be learnt.

use capture::{ProcessId, Thread, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many threads without a name are known on, for samples to tell it.
const NAMELESS: usize = 1 << 16;

/// The threads of the capture that are needed on.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Those that write.
    pub(super) writing: FxHashMap<ThreadId, Thread>,
    /// Those that were gone before their names could be read, as long as samples may tell these.
    nameless: FxHashMap<ThreadId, Thread>,
}

impl Threads {
    /// A thread writes from now on. If it has no name, samples may tell one.
    pub(super) fn add(&mut self, id: ThreadId, thread: Thread, samples_name: bool) {
        if samples_name && thread.name.is_empty() && self.nameless.len() < NAMELESS {
            self.nameless.insert(id, thread.clone());
        } else {
            // The id may be that of a thread that has ended.
            self.nameless.remove(&id);
        }
        self.writing.insert(id, thread);
    }

    /// A thread has told its name, so nobody else need.
    pub(super) fn has_name(&mut self, id: ThreadId) {
        self.nameless.remove(&id);
    }

    /// Takes those out that have no name, of these processes or of all.
    pub(super) fn take_nameless(&mut self, of: Option<&FxHashSet<ProcessId>>) -> Vec<(ThreadId, Thread)> {
        let is_wanted = |thread: &Thread| of.is_none_or(|processes| processes.contains(&thread.process));
        self.nameless.extract_if(|_, thread| is_wanted(thread)).collect()
    }

    /// Forgets those without a name of processes that nobody knows any more.
    pub(super) fn forget_nameless(&mut self, is_known: impl Fn(ProcessId) -> bool) {
        self.nameless.retain(|_, thread| is_known(thread.process));
    }
}
