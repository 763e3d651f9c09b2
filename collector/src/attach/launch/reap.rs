//! Waits for children that have ended.

use crate::base::clock::Usage;
use crate::cpu::counters::peak_rss;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A child that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its pid.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// The most memory that was ever resident in it, or in any process that it has waited for, bytes; none where this
    /// process had as much before, as a child begins with a copy of it.
    pub peak_rss: Option<u64>,
}

/// Reaps all children that have ended, including adopted ones. The caller must have no other children whose status
/// somebody waits for, and must be the thread that started them: the first one, which also adopts orphans.
pub fn reap() -> Vec<Ended> {
    let mut ended = Vec::new();
    let mut own = None;
    while let Some((pid, status, usage)) = wait() {
        // A child traced by another thread of ours has stopped; that thread sees it for itself.
        if status.stopped_signal().is_some() {
            continue;
        }
        // Not the resource usage of this process, which begins with the memory of whoever started it.
        let own = *own.get_or_insert_with(|| peak_rss(std::process::id()).unwrap_or(u64::MAX));
        let peak_rss = Some(usage.peak_rss).filter(|peak| *peak > own);
        ended.push(Ended { pid, status, peak_rss });
    }
    ended
}

/// Waits for any child that has ended already; its pid, its status, and what it and those have used that it has waited
/// for.
fn wait() -> Option<(u32, ExitStatus, Usage)> {
    // Stops of tracees must be left to the thread that traces them; waiting for any child would take them.
    let options = libc::WNOHANG | libc::__WNOTHREAD;
    loop {
        let mut status = 0;
        // SAFETY: all bits of the struct may be zero.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both are writable.
        match unsafe { libc::wait4(-1, &raw mut status, options, &raw mut usage) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            pid if pid > 0 => {
                return Some((pid.unsigned_abs(), ExitStatus::from_raw(status), Usage::from(usage)));
            }
            _ => return None,
        }
    }
}
