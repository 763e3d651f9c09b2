//! Which processes have come out of processes that were not looked up in time.
//!
//! A forked process in a pid namespace of its own reports a pid that means nothing here. Until somebody has looked up
//! which process that is, it may have executed another program and even ended. If that program has the agent, it
//! connects, and then its pid here, the one there and its parent are known, and those of its parents as well.

use super::known_images::Forked;
use crate::proc::namespace;
use crate::proc::process::Info;
use procfs::process::Process;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Most processes that are kept, the latest ones.
const MOST: usize = 64;

/// Most parents of a process that are looked at.
const DEPTH: usize = 8;

/// Processes of other pid namespaces that connected, and their parents; the latest ones first.
#[derive(Debug, Default)]
pub(crate) struct NamespacePids {
    latest: Mutex<VecDeque<(Relation, u64)>>,
    pub(crate) forked: Forked,
}

/// What a process in another pid namespace is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Pid in its own namespace.
    ns_pid: u32,
    /// Pids here.
    pid: u32,
    parent_pid: u32,
}

impl Relation {
    /// That of a process and of its parents, as far as they are in other namespaces.
    pub(crate) fn all(info: &Info) -> Vec<Relation> {
        if info.ns_pid == info.pid {
            return Vec::new();
        }
        let first = Relation { ns_pid: info.ns_pid, pid: info.pid, parent_pid: info.parent_pid };
        let parent = |child: &Relation| {
            let status = Process::new(child.parent_pid.cast_signed()).ok()?.status().ok()?;
            let parent_pid = status.ppid.unsigned_abs();
            Some(Relation { ns_pid: namespace::innermost(&status)?, pid: child.parent_pid, parent_pid })
        };
        let line = std::iter::successors(Some(first), parent).take_while(|one| one.ns_pid != one.pid);
        line.take(DEPTH).collect()
    }
}

impl NamespacePids {
    /// Notes a process that connects at this time, and its parents.
    pub(crate) fn add(&self, relations: &[Relation], time: u64) {
        let Ok(mut all) = self.latest.lock() else { return };
        for (index, relation) in relations.iter().enumerate() {
            if index == 0 || !all.iter().any(|(known, _)| known == relation) {
                all.truncate(MOST - 1);
                all.push_front((*relation, time));
            }
        }
    }

    /// The pid here of the process that has this pid in its namespace and this parent, and has existed since this
    /// time.
    pub(crate) fn find(&self, ns_pid: u32, parent_pid: u32, since: u64) -> Option<u32> {
        let all = self.latest.lock().ok()?;
        let mut later = all.iter().rev().filter(|(_, time)| *time >= since);
        let found = later.find(|(one, _)| (one.ns_pid, one.parent_pid) == (ns_pid, parent_pid));
        found.map(|(one, _)| one.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a process is found by all that is known of it, the first that connected after it was met, and that
    /// few are kept.
    #[test]
    fn processes_are_found_by_what_they_tell() {
        let namespace_pids = NamespacePids::default();
        let relation = |ns_pid, pid, parent_pid| Relation { ns_pid, pid, parent_pid };
        namespace_pids.add(&[relation(2, 100, 50), relation(1, 50, 40)], 10);
        namespace_pids.add(&[relation(2, 101, 50), relation(1, 50, 40)], 20);
        namespace_pids.add(&[relation(2, 102, 51)], 30);
        for (ns_pid, parent, since, expected) in [
            (2, 50, 5, Some(100)),
            (2, 50, 15, Some(101)),
            (2, 50, 25, None),
            (2, 51, 5, Some(102)),
            (1, 40, 5, Some(50)),
            (1, 40, 15, None),
            (3, 50, 5, None),
        ] {
            assert_eq!(namespace_pids.find(ns_pid, parent, since), expected, "{ns_pid} {parent} {since}");
        }
        (0..MOST).for_each(|_| namespace_pids.add(&[relation(7, 107, 52)], 50));
        assert_eq!((namespace_pids.find(2, 50, 5), namespace_pids.find(7, 52, 5)), (None, Some(107)));
        assert_eq!(namespace_pids.latest.lock().unwrap().len(), MOST);
        assert_eq!(Relation::all(&Info::read(std::process::id())), [], "it is in our namespace");
    }
}
