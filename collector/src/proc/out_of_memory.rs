//! Processes killed by the kernel for lack of memory. To whoever reaps them, such an end is a SIGKILL like any other.
//!
//! The kernel counts these kills for the whole machine, including those by cgroup limits, and everybody may read the
//! count. So if a process died of SIGKILL while the count grew, that is reported as the likely reason.

use capture::{Ended, Process};
use std::fs;

/// The kernel's count when a recording began; `None` if there is none, as before Linux 4.13.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfMemory(Option<u64>);

/// Most processes named.
const NAMED: usize = 8;

impl OutOfMemory {
    /// The count at the beginning of a recording.
    pub(crate) fn now() -> OutOfMemory {
        OutOfMemory(killed())
    }

    /// Remark for the user at the end, about these processes.
    pub(crate) fn remark<'p>(self, processes: impl Iterator<Item = &'p Process>) -> Option<String> {
        remark(killed()?.saturating_sub(self.0?), processes)
    }
}

fn killed() -> Option<u64> {
    count(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn count(counters: &str) -> Option<u64> {
    counters.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

fn remark<'p>(killed: u64, processes: impl Iterator<Item = &'p Process>) -> Option<String> {
    let is_killed = |process: &&Process| {
        process.end.as_ref().is_some_and(|end| end.ended == Ended::Signaled(libc::SIGKILL))
    };
    let ends: Vec<_> =
        processes.filter(is_killed).map(|process| format!("{} ({})", process.name, process.pid)).collect();
    if killed == 0 || ends.is_empty() {
        return None;
    }
    let mut named: Vec<_> = ends.iter().take(NAMED).cloned().collect();
    if ends.len() > NAMED {
        named.push(format!("{} more", ends.len() - NAMED));
    }
    Some(format!(
        "Probably killed because memory ran out: {}. The end was a SIGKILL, and the kernel killed {killed} \
         of this machine's processes for that reason meanwhile; dmesg tells which, and whose limit it was. \
         What was held is shown as it was then.",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::ProcessEnd;

    /// Check that the kernel's count is found, even next to counters whose names begin alike.
    #[test]
    fn count_is_read() {
        let counters = "nr_free_pages 7\noom_kill_delayed 9\noom_kill 3\nballoon_inflate 0\n";
        assert_eq!(count(counters), Some(3));
        assert_eq!(count("nr_free_pages 3"), None);
    }

    /// Check that only processes ended by SIGKILL are reported, and only if the kernel has killed some.
    #[test]
    fn likely_ones_are_told() {
        let process = |pid: u32, ended: Ended| Process {
            pid,
            name: "service".into(),
            end: Some(ProcessEnd { ended, ..ProcessEnd::default() }),
            ..Process::default()
        };
        let all = [
            process(1, Ended::Exited(0)),
            process(2, Ended::Signaled(9)),
            process(3, Ended::Signaled(15)),
            process(4, Ended::Running),
        ];
        assert_eq!(remark(0, all.iter()), None);
        assert_eq!(remark(2, all[2..].iter()), None);
        let text = remark(2, all.iter()).expect("one was killed");
        assert!(text.starts_with("Probably killed because memory ran out: service (2). "), "{text}");
        let many = Vec::from_iter((0..10).map(|pid| process(pid, Ended::Signaled(9))));
        assert!(remark(10, many.iter()).is_some_and(|text| text.contains("service (7), 2 more. ")));
    }
}
