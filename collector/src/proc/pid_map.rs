//! Which process a pid means. Agents know the pids of their processes in their own pid namespace. In ours these
//! processes have others, and that number may be anybody's.

use super::namespace::{Namespace, innermost, is_elsewhere};
use super::process::{Info, maps_segment, maps_segment_still, start_ticks};
use crate::base::clock::Clock;
use crate::base::clock::EPSILON;
use procfs::process::{Process, Stat};

/// Translates pids of one image's processes from their pid namespace.
#[derive(Debug, Default)]
pub(crate) struct PidMap {
    /// Start of the process that connected, in clock ticks since boot: its children began later.
    start_ticks: u64,
    /// Its pid namespace, if not ours.
    namespace: Option<Namespace>,
}

impl PidMap {
    /// For the image of this process.
    pub(crate) fn of(info: &Info) -> PidMap {
        PidMap { start_ticks: info.start_ticks, namespace: Namespace::of(info.pid) }
    }

    /// The pid in our namespace of the process that has this one in its own and existed at this time, a child of
    /// `parent`; `None` when it is gone.
    pub(crate) fn find(
        &self,
        ns_pid: u32,
        time: u64,
        parent: Option<u32>,
        scan: &mut ProcScan,
    ) -> Option<u32> {
        if self.namespace.is_none() && start_ticks(ns_pid).is_none_or(|start| start >= self.start_ticks) {
            // It may be gone by now, but this was its pid.
            return Some(ns_pid);
        }
        let asked = self.namespace.as_ref().and_then(|theirs| theirs.number_here(ns_pid));
        if let Some(pid) = asked.filter(|pid| self.is(ns_pid, *pid)) {
            return Some(pid);
        }
        // The kernel is older, the process is gone, or it is in a namespace nested within theirs.
        let found = scan.with_ns_pid(ns_pid, time).find(|pid| self.is(ns_pid, *pid));
        if found.is_some() || parent.is_none() {
            return found;
        }
        // It may have executed another program, which does not map our memory.
        scan.with_ns_pid(ns_pid, time).find(|pid| {
            let stat = Process::new(pid.cast_signed()).and_then(|process| process.stat());
            let is_ours =
                |stat: Stat| Some(stat.ppid.unsigned_abs()) == parent && stat.starttime >= self.start_ticks;
            stat.is_ok_and(is_ours)
        })
    }

    /// True when the process with this pid in our namespace is the one that has this one in its own.
    pub(crate) fn is(&self, ns_pid: u32, pid: u32) -> bool {
        if self.namespace.is_none() && ns_pid == pid {
            return start_ticks(pid).is_none_or(|start| start >= self.start_ticks);
        }
        Process::new(pid.cast_signed()).is_ok_and(|process| self.has_ns_pid(&process, ns_pid))
    }

    fn has_ns_pid(&self, process: &Process, ns_pid: u32) -> bool {
        let Some(status) = process.status().ok().filter(|status| innermost(status) == Some(ns_pid)) else {
            return false;
        };
        let pid = process.pid.unsigned_abs();
        if start_ticks(pid).is_none_or(|start| start < self.start_ticks) {
            return false;
        }
        match &self.namespace {
            // A process that may not be looked at gets the benefit of the doubt.
            Some(theirs) => theirs.has(pid).is_none_or(|is_there| is_there || maps_segment(pid)),
            // It created a pid namespace of its own, as others did too: once they exit nothing tells them apart.
            None => is_elsewhere(&status) && maps_segment_still(pid),
        }
    }
}

/// The processes of other pid namespaces, with their pids there. Looking at all processes takes milliseconds, and
/// only that can show that a process has ended; so one look serves all processes that began before it.
#[derive(Debug)]
pub(crate) struct ProcScan {
    clock: Clock,
    /// Ticks just before the last look; 0 if there was none.
    scanned: u64,
    /// Pairs of the pid in the process' own namespace and the pid in ours.
    pids: Vec<(u32, u32)>,
}

impl ProcScan {
    pub(crate) fn new(clock: Clock) -> ProcScan {
        ProcScan { clock, scanned: 0, pids: Vec::new() }
    }

    /// Processes with this pid in their own namespace, provided they existed at this time.
    fn with_ns_pid(&mut self, ns_pid: u32, time: u64) -> impl Iterator<Item = u32> {
        if self.scanned <= time.saturating_add(EPSILON) {
            self.look();
        }
        self.pids.iter().filter(move |(own, _)| *own == ns_pid).map(|(_, pid)| *pid)
    }

    fn look(&mut self) {
        self.scanned = self.clock.now();
        let all = procfs::process::all_processes().into_iter().flatten().filter_map(Result::ok);
        let told = |process: Process| {
            let status = process.status().ok().filter(is_elsewhere)?;
            Some((innermost(&status)?, process.pid.unsigned_abs()))
        };
        self.pids = all.filter_map(told).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::namespace::own;
    use super::*;
    use std::process::{Command, Stdio};

    /// Check that processes of our own namespace keep their pids, even after they have ended, and that no process
    /// counts as a child that began before its parent.
    #[test]
    fn numbers_of_our_own_namespace_are_theirs() {
        let own_pid = std::process::id();
        let pid_map = PidMap::of(&Info::read(own_pid));
        let mut scan = ProcScan::new(Clock::start());
        let mut find = |ns_pid| pid_map.find(ns_pid, 0, None, &mut scan);
        let mut child = Command::new("sleep").arg("60").spawn().expect("there is sleep");
        assert_eq!(find(child.id()), Some(child.id()));
        assert!(pid_map.is(child.id(), child.id()) && !pid_map.is(child.id(), own_pid));
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert_eq!(find(child.id()), Some(child.id()));
        assert_eq!(find(1), None);
        assert!(own(own_pid).is_some());
    }

    /// Check that one look serves all processes that began before it, and that a later process causes another.
    #[test]
    fn many_are_found_by_one_look() {
        // No process began that late.
        let pid_map = PidMap { start_ticks: u64::MAX, namespace: None };
        let clock = Clock::start();
        let before = clock.now();
        let mut scan = ProcScan::new(clock);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let mut scanned = |time| {
            assert_eq!(pid_map.find(1, time, None, &mut scan), None);
            scan.scanned
        };
        let first = scanned(before);
        assert!(first > before && scanned(before) == first);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let second = scanned(clock.now());
        assert!(second > first && scanned(before) == second);
    }

    /// The kernel's version.
    fn kernel() -> (u32, u32) {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    fn signal(pid: u32, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
    }

    /// Waits until a process is in this state.
    fn wait_for(pid: u32, state: char) {
        let started = std::time::Instant::now();
        let process = || procfs::process::Process::new(pid.cast_signed())?.stat();
        while !process().is_ok_and(|stat| stat.state == state) {
            assert!(started.elapsed().as_secs() < 30, "{pid} was to be {state}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Check that a process is found by its pid in a namespace of its own.
    #[test]
    fn numbers_of_other_namespaces_are_found() {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--pid", "--fork", "--kill-child", "sh", "-c", "echo; exec sleep 60"])
            .stdout(Stdio::piped());
        let Ok(mut unshare) = unshare.spawn() else {
            return println!("skipped: namespaces (no unshare here)");
        };
        let mut line = [0];
        let began = unshare.stdout.as_mut().map(|told| std::io::Read::read(told, &mut line));
        let child = procfs::process::all_processes().ok().and_then(|all| {
            all.filter_map(Result::ok)
                .find(|process| process.stat().is_ok_and(|stat| stat.ppid.unsigned_abs() == unshare.id()))
        });
        if let (Some(Ok(1)), Some(child)) = (began, child) {
            let (pid, own_pid) = (child.pid.unsigned_abs(), std::process::id());
            assert_eq!(own(pid), Some(1));
            let pid_map = PidMap::of(&Info::read(pid));
            let namespace = pid_map.namespace.as_ref().expect("it is another one");
            assert_eq!((namespace.has(pid), namespace.has(own_pid)), (Some(true), Some(false)));
            // Kernels before 6.12 do not tell.
            let said = (namespace.number_here(1), namespace.number_here(2));
            assert!([(Some(pid), None), (None, None)].contains(&said), "{said:?}");
            if kernel() >= (6, 12) {
                assert_eq!(said.0, Some(pid));
            }
            let clock = Clock::start();
            let find =
                |pid_map: &PidMap, ns_pid| pid_map.find(ns_pid, clock.now(), None, &mut ProcScan::new(clock));
            assert_eq!((find(&pid_map, 1), find(&pid_map, 2)), (Some(pid), None));
            assert!(pid_map.is(1, pid) && !pid_map.is(2, pid) && !pid_map.is(1, 1));
            // Seen from our namespace it is unrelated, even as a zombie.
            let ours = PidMap { start_ticks: pid_map.start_ticks, namespace: None };
            assert_eq!(find(&ours, 1), None);
            let by = |parent| ours.find(1, clock.now(), Some(parent), &mut ProcScan::new(clock));
            assert_eq!((by(unshare.id()), by(own_pid)), (Some(pid), None), "it maps no memory of ours");
            signal(unshare.id(), "STOP");
            // Not earlier: it would reap it.
            wait_for(unshare.id(), 'T');
            signal(pid, "KILL");
            wait_for(pid, 'Z');
            assert_eq!(find(&ours, 1), None);
        } else {
            println!("skipped: namespaces (not allowed here)");
        }
        let _ = unshare.kill();
        let _ = unshare.wait();
    }
}
