//! Threads that write, and those whose names are still unknown.

use capture::{ProcessId, Thread, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Most threads without a name that stay known, for samples to provide it.
const NAMELESS: usize = 1 << 16;

/// The threads of the capture that are still needed.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// The threads that write.
    pub(super) writing: FxHashMap<ThreadId, Thread>,
    /// Threads that were gone before their names could be read, as long as samples may provide these.
    nameless: FxHashMap<ThreadId, Thread>,
}

impl Threads {
    /// Adds a thread that writes. If it has no name, samples may provide one.
    pub(super) fn add(&mut self, id: ThreadId, thread: Thread, samples_name: bool) {
        if samples_name && thread.name.is_empty() && self.nameless.len() < NAMELESS {
            self.nameless.insert(id, thread.clone());
        } else {
            // The id may be that of a thread that has ended.
            self.nameless.remove(&id);
        }
        self.writing.insert(id, thread);
    }

    /// The thread's name is known, so samples need not provide it.
    pub(super) fn has_name(&mut self, id: ThreadId) {
        self.nameless.remove(&id);
    }

    /// Takes out the threads without a name, of these processes or of all.
    pub(super) fn take_nameless(&mut self, of: Option<&FxHashSet<ProcessId>>) -> Vec<(ThreadId, Thread)> {
        let is_wanted = |thread: &Thread| of.is_none_or(|processes| processes.contains(&thread.process));
        self.nameless.extract_if(|_, thread| is_wanted(thread)).collect()
    }

    /// Forgets threads without a name whose processes are no longer known.
    pub(super) fn forget_nameless(&mut self, is_known: impl Fn(ProcessId) -> bool) {
        self.nameless.retain(|_, thread| is_known(thread.process));
    }
}
