//! A pid namespace other than ours.

use procfs::process::Status;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;

/// `NS_GET_TGID_FROM_PIDNS`, since Linux 6.12.
const NUMBER_HERE: libc::Ioctl = 0x8004_b707;

/// The inode number of ours. A process never changes its own.
static OURS: LazyLock<Option<u64>> = LazyLock::new(|| number("self"));

/// A process's pid namespace. Held open, so that its inode number is not reused.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
    inode: u64,
}

impl Namespace {
    /// A process's namespace, unless it is ours or may not be looked at.
    pub(crate) fn of(pid: u32) -> Option<Namespace> {
        if is_ours(pid) {
            return None;
        }
        let file = File::open(path(&pid.to_string())).ok()?;
        let inode = file.metadata().ok()?.ino();
        (Some(inode) != *OURS).then_some(Namespace { file, inode })
    }

    /// Whether a process is in it; `None` if that may not be looked at.
    pub(crate) fn has(&self, pid: u32) -> Option<bool> {
        number(&pid.to_string()).map(|number| number == self.inode)
    }

    /// The pid in our namespace of the process that has this pid in that one, if the kernel tells. In a namespace
    /// nested within that one, the process would have yet another pid, which is the one it reports.
    pub(crate) fn number_here(&self, there: u32) -> Option<u32> {
        // SAFETY: this takes a number and gives one; no memory is read or written.
        let here = unsafe { libc::ioctl(self.file.as_raw_fd(), NUMBER_HERE, there) };
        u32::try_from(here).ok().filter(|here| *here != 0)
    }
}

/// True when a process is known to be in our namespace.
pub(crate) fn is_ours(pid: u32) -> bool {
    OURS.is_some() && number(&pid.to_string()) == *OURS
}

/// The inode number of a process's namespace.
fn number(process: &str) -> Option<u64> {
    fs::metadata(path(process)).ok().map(|namespace| namespace.ino())
}

fn path(process: &str) -> String {
    format!("/proc/{process}/ns/pid")
}

/// The pid of a process in its own namespace.
pub(crate) fn own(pid: u32) -> Option<u32> {
    let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    // The name, in another line, need not be text.
    let pids = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"))?;
    std::str::from_utf8(pids).ok()?.split_ascii_whitespace().last()?.parse().ok()
}

/// The pid of a process, or the id of a thread, in its own pid namespace.
pub(crate) fn innermost(status: &Status) -> Option<u32> {
    status.nspid.as_ref()?.last().map(|own| own.unsigned_abs())
}

/// True for a process of a pid namespace other than ours.
pub(crate) fn is_elsewhere(status: &Status) -> bool {
    status.nspid.as_ref().is_some_and(|own| own.len() > 1)
}
