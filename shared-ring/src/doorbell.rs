//! The doorbell: a page through which dormant agents are called to a collector.
//!
//! Each user has one, as a file in the user's run folder, and root has one for all. A dormant agent maps it read-only
//! and reads its generation in every hook; nothing else of the agent is visible from outside. Beside the file is the
//! socket on which the process that rang waits for the answer.
//!
//! ```text
//!   0            4        8                16
//!  ┌────────────┬────────┬────────────────┬──────────────┐
//!  │ generation │ pid    │ magic          │ zeros        │  one page
//!  └────────────┴────────┴────────────────┴──────────────┘
//!
//!   attach                                 dormant process 4711
//!   lock, listen beside it        
//!   pid = 4711
//!   generation += 1  (release) ──────────► (acquire) changed?
//!                                          pid is ours: connect, say Hello
//! ```
//!
//! Agents trust the page as far as its owner, who is their own user or root. Its words are read one by one: an agent
//! that sees a new generation with the next ring's pid may connect for nothing, or not connect, and is rung for
//! again.

use crate::primitive::{AtomicU32, AtomicU64, Ordering};

/// Bytes of the file: one page.
pub const BYTES: usize = 4096;
/// Name of the file in its run folder.
pub const FILE: &str = "doorbell";
/// Name of the file beside it that whoever rings has locked. Only its owner may open it: a lock on the doorbell itself
/// could be taken by all who may read that.
pub const LOCK: &str = "doorbell.lock";
/// Name of the socket beside it.
pub const SOCKET: &str = "attach";
/// Identifies a page of this version; never changes.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mpBEL\0\0\x01");
/// A bit of all generations, which no process epoch has, so that agents compare both in the same way.
pub const GENERATION: u32 = 1 << 31;

/// What `stat` says of a doorbell's file.
#[derive(Clone, Copy, Debug)]
pub struct FileStatus {
    /// The user whose it is.
    pub owner: u32,
    /// Type and permissions.
    pub mode: u32,
    /// It has a single name (hard link).
    pub has_one_name: bool,
    /// Its length in bytes.
    pub size: u64,
}

impl FileStatus {
    /// Why agents of a user do not trust such a file, which somebody else could write to or replace.
    ///
    /// # Errors
    /// When they do not, with the reason.
    pub fn check(self, user: u32) -> Result<(), &'static str> {
        /// As in `stat.h`, on all systems that there are.
        const TYPE: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        const WRITABLE_BY_OTHERS: u32 = 0o022;
        if self.mode & TYPE != REGULAR {
            Err("not a regular file")
        } else if self.owner != user && self.owner != 0 {
            Err("it belongs to another user")
        } else if self.mode & WRITABLE_BY_OTHERS != 0 {
            Err("writable by others")
        } else if !self.has_one_name {
            Err("it has several names (hard links)")
        } else if self.size != BYTES as u64 {
            Err("its size is not one page")
        } else {
            Ok(())
        }
    }
}

/// The page.
#[repr(C)]
#[derive(Debug)]
pub struct Doorbell {
    /// Number of rings; [`GENERATION`] is always set, and the value of all ones is never used.
    pub generation: AtomicU32,
    /// The process that is called, by its pid in its own namespace; 0 calls all.
    pub pid: AtomicU32,
    /// [`MAGIC`].
    pub magic: AtomicU64,
}

const _: () = assert!(core::mem::offset_of!(Doorbell, generation) == 0);
const _: () = assert!(core::mem::offset_of!(Doorbell, pid) == 4);
const _: () = assert!(core::mem::offset_of!(Doorbell, magic) == 8);

impl Doorbell {
    /// A new page.
    pub const fn new() -> Self {
        Self {
            generation: AtomicU32::new(GENERATION | 1),
            pid: AtomicU32::new(u32::MAX),
            magic: AtomicU64::new(MAGIC),
        }
    }

    /// True for a page of this version.
    pub fn is_ours(&self) -> bool {
        // Relaxed: written before anybody could map the file.
        self.magic.load(Ordering::Relaxed) == MAGIC
    }

    /// Calls a process. Only one process may ring at a time: the one that holds the lock.
    pub fn ring(&self, pid: u32) {
        self.pid.store(pid, Ordering::Relaxed);
        let before = self.generation.load(Ordering::Relaxed);
        // Release pairs with the Acquire load in `generation`: an agent that sees the ring sees whom it is for.
        self.generation.store(next(before), Ordering::Release);
    }

    /// The present generation.
    pub fn generation(&self) -> u32 {
        // Acquire pairs with the Release store in `ring`.
        self.generation.load(Ordering::Acquire)
    }

    /// True when the last ring is for the process with this pid.
    pub fn is_for(&self, pid: u32) -> bool {
        let wanted = self.pid.load(Ordering::Relaxed);
        wanted == 0 || wanted == pid
    }
}

impl Default for Doorbell {
    fn default() -> Self {
        Self::new()
    }
}

/// The generation after this one. Whatever the page held, the result is one that agents can compare.
fn next(generation: u32) -> u32 {
    match generation.wrapping_add(1) | GENERATION {
        u32::MAX => GENERATION,
        next => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that generations differ from epochs, and from that of a thread without one, over a whole cycle.
    #[test]
    fn generations_are_no_epochs() {
        for before in [0, 1, GENERATION, GENERATION | 7, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            let after = next(before);
            assert!(after & GENERATION != 0 && after != u32::MAX && after != before, "{before:#x}");
        }
    }

    /// Check that files are trusted which only their owner, the user or root, can change.
    #[test]
    fn files_that_others_could_change_are_not_trusted() {
        let fine = FileStatus { owner: 7, mode: 0o100_644, has_one_name: true, size: 4096 };
        assert_eq!(fine.check(7), Ok(()));
        assert_eq!(FileStatus { owner: 0, ..fine }.check(7), Ok(()));
        for bad in [
            FileStatus { owner: 8, ..fine },
            FileStatus { mode: 0o100_664, ..fine },
            FileStatus { mode: 0o100_646, ..fine },
            FileStatus { mode: 0o020_644, ..fine },
            FileStatus { mode: 0o120_644, ..fine },
            FileStatus { has_one_name: false, ..fine },
            FileStatus { size: 4095, ..fine },
        ] {
            assert!(bad.check(7).is_err(), "{bad:?}");
        }
        assert!(fine.check(0).is_err());
    }

    /// Check that a ring is for the process that it names, or for all.
    #[test]
    fn ring_is_for_whom_it_names() {
        let page = Doorbell::new();
        assert!(page.is_ours() && !page.is_for(7));
        let before = page.generation();
        page.ring(7);
        assert!(page.generation() != before && page.is_for(7) && !page.is_for(8));
        page.ring(0);
        assert!(page.is_for(7) && page.is_for(8));
    }
}
