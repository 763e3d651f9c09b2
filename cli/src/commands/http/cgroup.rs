//! What a process' control group says about its memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the unified hierarchy is mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The memory of a control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// Bytes that it uses.
    pub(super) current: Option<u64>,
    /// Bytes that it may use; none: there is no limit.
    pub(super) limit: Option<u64>,
    /// How often something happened, by name, as `oom_kill`.
    pub(super) events: Vec<(String, u64)>,
}

impl Memory {
    /// Of the group in which a process is; nothing where the system has no unified hierarchy.
    pub(super) fn of(pid: u32) -> Memory {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        folder(&groups, Path::new(ROOT)).map(|folder| Memory::in_folder(&folder)).unwrap_or_default()
    }

    fn in_folder(folder: &Path) -> Memory {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let event = |line: &str| {
            let (name, count) = line.split_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Memory {
            current: read("memory.current").trim().parse().ok(),
            limit: read("memory.max").trim().parse().ok(),
            events: read("memory.events").lines().filter_map(event).collect(),
        }
    }
}

/// The folder of a group, from `/proc/PID/cgroup`, whose line of the unified hierarchy is `0::/path`. A process of
/// another namespace may have a path that leads out of ours.
fn folder(groups: &str, root: &Path) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    (!path.split('/').any(|part| part == "..")).then(|| root.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what is read of a group with a limit, of one without, and of none.
    #[test]
    fn groups_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(Memory::in_folder(folder.path()), Memory::default());
        write("memory.current", "4096\n");
        write("memory.max", "max\n");
        write("memory.events", "low 0\nhigh 2\noom_kill 1\nbad\n");
        let events =
            [("low", 0), ("high", 2), ("oom_kill", 1)].map(|(name, count)| (name.to_owned(), count)).to_vec();
        let expected = Memory { current: Some(4096), limit: None, events };
        assert_eq!(Memory::in_folder(folder.path()), expected);
        write("memory.max", "8192\n");
        assert_eq!(Memory::in_folder(folder.path()), Memory { limit: Some(8192), ..expected });
    }

    /// Check that a group is found by its line, and that no path leads out of the hierarchy.
    #[test]
    fn folders_are_found() {
        let root = Path::new("/r");
        assert_eq!(folder("9:name=systemd:/x\n0::/a/b.service\n", root), Some("/r/a/b.service".into()));
        assert_eq!(folder("0::/\n", root), Some("/r/".into()));
        assert_eq!(folder("0::/../../etc\n", root), None);
        assert_eq!(folder("9:name=systemd:/x\n", root), None);
    }
}
