//! A process in a slot of an image.

use std::sync::OnceLock;

/// Its pid in our namespace is looked up in `/proc` by whichever thread needs it first and may wait: usually the
/// watcher, sometimes the writer, never the drain thread.
#[derive(Debug)]
pub(crate) struct SlotProcess {
    /// Its pid in its own pid namespace.
    ns_pid: u32,
    /// Since when it has existed, in shifted ticks.
    since: u64,
    /// Slot of its parent, and the pid that this has in its own namespace.
    parent: Option<(u32, u32)>,
    /// Its pid in our namespace, once looked up; `Some(None)` if it was gone.
    pid: OnceLock<Option<u32>>,
}

impl SlotProcess {
    /// A process that was met at this time.
    pub(crate) fn met(ns_pid: u32, since: u64, parent: Option<(u32, u32)>) -> SlotProcess {
        SlotProcess { ns_pid, since, parent, pid: OnceLock::new() }
    }

    /// A process whose pid in our namespace is known.
    pub(crate) fn found(ns_pid: u32, pid: u32) -> SlotProcess {
        SlotProcess { ns_pid, since: 0, parent: None, pid: OnceLock::from(Some(pid)) }
    }

    /// Its pid in its own pid namespace.
    pub(crate) fn ns_pid(&self) -> u32 {
        self.ns_pid
    }

    /// Since when it has existed, in shifted ticks.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    /// Slot of its parent, and the pid that this has in its own namespace.
    pub(crate) fn parent(&self) -> Option<(u32, u32)> {
        self.parent
    }

    /// Its pid in our namespace, if it was looked up.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid.get().copied().flatten()
    }

    /// Its pid in our namespace; `None` when it is gone. With several callers at once, one looks and the others wait.
    pub(crate) fn find(&self, look: impl FnOnce() -> Option<u32>) -> Option<u32> {
        *self.pid.get_or_init(look)
    }
}
