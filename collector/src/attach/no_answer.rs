//! What keeps a process from answering a call, as far as `/proc` tells.
//!
//! Answering takes a call of the allocator, a socket and two more descriptors for a moment, a path to the doorbell's
//! folder, and a range of addresses.

use procfs::process::{LimitValue, Process};
use std::fmt;
use std::path::{Path, PathBuf};

/// Descriptors an agent has open at once while it answers.
const DESCRIPTORS: u64 = 4;
/// Address space of the smallest recording, including what the agent needs besides it for a few threads.
const ADDRESSES: u64 = 5 << 20;

/// What keeps a process from answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswerReason {
    /// Nothing visible.
    Unknown,
    /// A signal, or a debugger, has stopped it.
    Stopped,
    /// It may not open the descriptors that an answer takes.
    Descriptors {
        /// How many it has open.
        open: u64,
        /// How many it may have.
        limit: u64,
    },
    /// It may not map the memory that a recording takes.
    Addresses {
        /// Bytes that it may still map.
        room: u64,
    },
    /// The doorbell's folder is not within its root directory.
    Root {
        /// The folder.
        folder: PathBuf,
    },
}

impl NoAnswerReason {
    /// The hindrance of a process that is called in this folder.
    pub(super) fn of(pid: u32, folder: &Path) -> NoAnswerReason {
        let Ok(process) = Process::new(pid.cast_signed()) else { return NoAnswerReason::Unknown };
        if process.stat().is_ok_and(|stat| matches!(stat.state, 'T' | 't')) {
            return NoAnswerReason::Stopped;
        }
        let inside = Path::new("/proc").join(pid.to_string()).join("root");
        if !inside.join(folder.strip_prefix("/").unwrap_or(folder)).exists() {
            return NoAnswerReason::Root { folder: folder.to_owned() };
        }
        if let Some((open, limit)) = descriptors(&process)
            && open.saturating_add(DESCRIPTORS) > limit
        {
            return NoAnswerReason::Descriptors { open, limit };
        }
        match room(pid) {
            Some(room) if room < ADDRESSES => NoAnswerReason::Addresses { room },
            _ => NoAnswerReason::Unknown,
        }
    }
}

impl fmt::Display for NoAnswerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswerReason::Unknown => f.write_str(
                "A process answers at its next allocation or free; this one makes none now, or has \
                 forbidden itself to connect. Give it something to do, such as a request to a service, or \
                 wait longer (--timeout)",
            ),
            NoAnswerReason::Stopped => {
                f.write_str("It is stopped: resume it with kill -CONT, or from its debugger")
            }
            NoAnswerReason::Descriptors { open, limit } => write!(
                f,
                "It has {open} descriptors open and may have {limit}, but needs {DESCRIPTORS} more for a \
                 moment to answer: raise the limit of the running process with prlimit --nofile"
            ),
            NoAnswerReason::Addresses { room } => write!(
                f,
                "It may map {} KiB more, but a recording needs at least {} KiB: raise the limit of the \
                 running process with prlimit --as",
                room >> 10,
                ADDRESSES >> 10
            ),
            NoAnswerReason::Root { folder } => write!(
                f,
                "It has changed its root folder, in which there is no {0}: mount --bind {0} to that place there",
                folder.display()
            ),
        }
    }
}

/// Open descriptors and their limit; `None` without a limit.
fn descriptors(process: &Process) -> Option<(u64, u64)> {
    let LimitValue::Value(limit) = process.limits().ok()?.max_open_files.soft_limit else { return None };
    Some((process.fd_count().ok()? as u64, limit))
}

/// Bytes that a process may still map; `None` without a limit.
pub(super) fn room(pid: u32) -> Option<u64> {
    let process = Process::new(pid.cast_signed()).ok()?;
    let LimitValue::Value(limit) = process.limits().ok()?.max_address_space.soft_limit else { return None };
    Some(limit.saturating_sub(process.stat().ok()?.vsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that nothing is reported of a process that could answer, or is gone.
    #[test]
    fn nothing_hinders_us() {
        for pid in [std::process::id(), u32::MAX >> 1] {
            assert_eq!(NoAnswerReason::of(pid, Path::new("/proc")), NoAnswerReason::Unknown);
        }
        let idle = NoAnswerReason::Unknown.to_string();
        assert!(idle.contains("Give it something to do") && idle.contains("--timeout"), "{idle}");
        let folder = PathBuf::from("/no/such/folder");
        let hindrance = NoAnswerReason::of(std::process::id(), &folder);
        assert!(hindrance.to_string().contains("no /no/such/folder"), "{hindrance}");
    }
}
