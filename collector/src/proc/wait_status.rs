//! How a process has ended, when somebody else reaps it.

use super::process::zombie_status;
use std::os::fd::{AsRawFd, OwnedFd};

/// `struct pidfd_info` as it began.
#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    /// Numbers of the process, and of its users and groups.
    numbers: [u32; 11],
    status: i32,
}

/// `PIDFD_INFO_EXIT`
const EXIT: u64 = 1 << 3;
/// `PIDFD_GET_INFO`
const GET_INFO: libc::c_ulong = 3 << 30 | (size_of::<Info>() as libc::c_ulong) << 16 | 0xFF << 8 | 11;
const _: () = assert!(size_of::<Info>() == 64);

/// Wait status of a process that has ended. Its parent may reap it at any time: before that `/proc` tells it, and
/// afterwards its pidfd, since Linux 6.15.
pub(crate) fn wait_status(pidfd: Option<&OwnedFd>, pid: u32) -> Option<i32> {
    zombie_status(pid).or_else(|| reaped_status(pidfd?))
}

fn reaped_status(pidfd: &OwnedFd) -> Option<i32> {
    let mut info = Info { mask: EXIT, ..Info::default() };
    // SAFETY: the kernel writes at most so many bytes as the request's number says, to a struct of that size.
    let failed = unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO as _, &raw mut info) };
    (failed == 0 && info.mask & EXIT != 0).then_some(info.status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// Check that the end of a process is known while it is a zombie, and after it was reaped where the kernel tells
    /// that.
    #[test]
    fn ends_are_known_before_and_after_reaping() {
        for (script, status) in [("exit 3", 3 << 8), ("kill -9 $$", 9), ("kill -15 $$", 15)] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
            while zombie_status(child.id()).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(wait_status(Some(&pidfd), child.id()), Some(status), "{script}");
            assert_eq!(child.wait().unwrap().into_raw(), status);
            match wait_status(Some(&pidfd), child.id()) {
                None => println!("skipped: the kernel does not tell ends of reaped processes"),
                known => assert_eq!(known, Some(status), "{script}"),
            }
            assert_eq!(wait_status(None, child.id()), None);
        }
    }
}
