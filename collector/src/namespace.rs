//! A pid namespace that is not ours.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// `NS_GET_TGID_FROM_PIDNS`, of Linux 6.12.
const NUMBER_HERE: libc::Ioctl = 0x8004_b707;

/// The namespace of some process. It is held, so that its number stays its own.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
    inode: u64,
}

impl Namespace {
    /// That of a process, unless it is ours, or may not be looked at.
    pub(crate) fn of(pid: u32) -> Option<Namespace> {
        let file = File::open(path(&pid.to_string())).ok()?;
        let inode = file.metadata().ok()?.ino();
        (Some(inode) != number("self")).then_some(Namespace { file, inode })
    }

    /// True when a process is in it; nothing where it may not be looked at.
    pub(crate) fn has(&self, pid: u32) -> Option<bool> {
        number(&pid.to_string()).map(|number| number == self.inode)
    }

    /// The pid that a process has here which has this one there, if the kernel says so. It may have another number in a namespace within
    /// that one, by which it tells itself.
    pub(crate) fn number_here(&self, there: u32) -> Option<u32> {
        // SAFETY: this takes a number and gives one; no memory is read or written.
        let here = unsafe { libc::ioctl(self.file.as_raw_fd(), NUMBER_HERE, there) };
        u32::try_from(here).ok().filter(|here| *here != 0)
    }
}

/// The number of a process' namespace.
fn number(process: &str) -> Option<u64> {
    fs::metadata(path(process)).ok().map(|namespace| namespace.ino())
}

fn path(process: &str) -> String {
    format!("/proc/{process}/ns/pid")
}
