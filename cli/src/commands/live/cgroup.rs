//! What a process' control group says about its memory, in either version of the hierarchy.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted: those of the second version here or under `unified`, the memory controller of the
/// first one under `memory`.
const ROOT: &str = "/sys/fs/cgroup";

/// Limits from here on are none: the first version has no word for that.
const UNLIMITED: u64 = 1 << 60;

/// The memory of a control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::commands) struct Memory {
    /// Bytes that it uses.
    pub(in crate::commands) current: Option<u64>,
    /// Bytes that it may use; none: there is no limit.
    pub(in crate::commands) limit: Option<u64>,
    /// How often something happened, by name, as `oom_kill`.
    pub(in crate::commands) events: Vec<(String, u64)>,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::commands) struct Group {
    folder: PathBuf,
}

impl Group {
    /// The group in which a process is; none where nothing is known of its memory.
    pub(in crate::commands) fn of(pid: u32) -> Option<Group> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        Group::among(&groups, Path::new(ROOT))
    }

    /// From `/proc/PID/cgroup`. A machine may have both versions; only one of them has the memory controller.
    fn among(groups: &str, root: &Path) -> Option<Group> {
        let second = path(groups, |controllers| controllers.is_empty());
        let first = path(groups, |controllers| controllers.split(',').any(|name| name == "memory"));
        let places = [(second, root.to_owned()), (first, root.join("memory"))];
        let folders = places.into_iter().filter_map(|(path, root)| Some(root.join(path?)));
        let mut groups = folders.map(|folder| Group { folder });
        groups.find(|group| group.memory().current.is_some())
    }

    /// What it says now.
    pub(in crate::commands) fn memory(&self) -> Memory {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let number = |name: &str| read(name).trim().parse::<u64>().ok();
        let event = |line: &str| {
            let (name, count) = line.split_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        let events = |file: &str| read(file).lines().filter_map(event).collect::<Vec<_>>();
        if let Some(current) = number("memory.current") {
            let (limit, events) = (number("memory.max"), events("memory.events"));
            return Memory { current: Some(current), limit, events };
        }
        let Some(current) = number("memory.usage_in_bytes") else { return Memory::default() };
        let met = number("memory.failcnt").map(|count| ("max".to_owned(), count));
        let killed = events("memory.oom_control").into_iter().filter(|(name, _)| name == "oom_kill");
        Memory {
            current: Some(current),
            limit: number("memory.limit_in_bytes").filter(|limit| *limit < UNLIMITED),
            events: met.into_iter().chain(killed).collect(),
        }
    }
}

impl Memory {
    /// Of the group in which a process is.
    pub(in crate::commands) fn of(pid: u32) -> Memory {
        Group::of(pid).map(|group| group.memory()).unwrap_or_default()
    }
}

/// The path of a group, from a line such as `4:memory:/path`; of the second version `0::/path`. A process of another
/// namespace may have a path that leads out of ours.
fn path(groups: &str, is_it: impl Fn(&str) -> bool) -> Option<&str> {
    let lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(":/"));
    let (_, path) = lines.into_iter().find(|(controllers, _)| is_it(controllers))?;
    (!path.split('/').any(|part| part == "..")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, count: u64) -> (String, u64) {
        (name.to_owned(), count)
    }

    /// Check what is read of a group with a limit, of one without, and of none, in both versions.
    #[test]
    fn groups_are_read() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let of = |groups: &str| Group::among(groups, root.path()).map(|group| group.memory());
        let (second, first) = ("0::/a/b.service\n", "9:name=systemd:/x\n4:memory,pids:/c\n0::/\n");
        assert_eq!((of(second), of(first)), (None, None));
        write("a/b.service/memory.current", "4096\n");
        write("a/b.service/memory.max", "max\n");
        write("a/b.service/memory.events", "low 0\nhigh 2\noom_kill 1\nbad\n");
        let events = vec![event("low", 0), event("high", 2), event("oom_kill", 1)];
        let expected = Memory { current: Some(4096), limit: None, events };
        assert_eq!(of(second), Some(expected.clone()));
        write("a/b.service/memory.max", "8192\n");
        assert_eq!(of(second), Some(Memory { limit: Some(8192), ..expected }));
        write("memory/c/memory.usage_in_bytes", "100\n");
        write("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/c/memory.failcnt", "3\n");
        write("memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        let expected =
            Memory { current: Some(100), limit: None, events: vec![event("max", 3), event("oom_kill", 2)] };
        assert_eq!(of(first), Some(expected.clone()));
        write("memory/c/memory.limit_in_bytes", "200\n");
        assert_eq!(of(first), Some(Memory { limit: Some(200), ..expected }));
    }

    /// Check that a group is found by its line, and that no path leads out of the hierarchy.
    #[test]
    fn groups_are_found() {
        let second = |groups| path(groups, str::is_empty);
        assert_eq!(second("9:name=systemd:/x\n0::/a/b.service\n"), Some("a/b.service"));
        assert_eq!(second("0::/\n"), Some(""));
        assert_eq!(second("0::/../../etc\n"), None);
        assert_eq!(second("9:name=systemd:/x\n"), None);
        assert_eq!(path("4:cpu,memory:/y\n", |names| names.contains("memory")), Some("y"));
    }
}
