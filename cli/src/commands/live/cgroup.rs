//! What a process' control group says about its memory, in either version of the hierarchy.

use rustix::fs::{Mode, OFlags, fstatfs, open, openat};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where control groups are mounted: those of the second version here or under `unified`, the memory controller of the
/// first one under `memory`.
const ROOT: &str = "/sys/fs/cgroup";

/// File systems of control groups, second and first version, as `statfs` tells them.
const FILE_SYSTEMS: [u32; 2] = [0x6367_7270, 0x0027_e0eb];

/// Limits from here on are none: the first version has no word for that.
const UNLIMITED: u64 = 1 << 60;

/// The memory of a control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::commands) struct Memory {
    /// Bytes that it uses.
    pub(in crate::commands) current: Option<u64>,
    /// Of these, what the kernel takes back before it ends a process: mostly cached pages of files.
    pub(in crate::commands) reclaimable: u64,
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
        Group::among(&groups, Path::new(ROOT)).or_else(|| Group::seen_inside(pid, &groups))
    }

    /// That of a process in a container, whose path is not in what we see: it is the root of what is mounted there.
    fn seen_inside(pid: u32, groups: &str) -> Option<Group> {
        let place = |path: &Path| fs::metadata(path).ok().map(|folder| (folder.dev(), folder.ino()));
        let is_with_us = fs::read_to_string("/proc/self/cgroup").is_ok_and(|ours| ours == groups);
        let ours = [ROOT.to_owned(), format!("{ROOT}/memory")];
        let mut groups = ours.iter().filter_map(|ours| {
            let folder = PathBuf::from(format!("/proc/{pid}/root{ours}"));
            (is_with_us || place(&folder) != place(Path::new(ours))).then_some(Group { folder })
        });
        groups.find(|group| group.memory().current.is_some())
    }

    /// It and the groups that it is in, whose limits hold for it, too.
    pub(in crate::commands) fn with_outer(self) -> Vec<Group> {
        let folders = self.folder.ancestors().map(|folder| Group { folder: folder.to_owned() });
        folders.take_while(|group| group.memory().current.is_some()).collect()
    }

    /// From `/proc/PID/cgroup`. A machine may have both versions; only one of them has the memory controller, and in the
    /// second one groups may leave it to those around them.
    fn among(groups: &str, root: &Path) -> Option<Group> {
        let second = path(groups, |controllers| controllers.is_empty());
        let first = path(groups, |controllers| controllers.split(',').any(|name| name == "memory"));
        let places = [(second, root.to_owned()), (first, root.join("memory"))];
        places.into_iter().find_map(|(path, root)| {
            let folder = Some(root.join(path?)).filter(|folder| folder.is_dir())?;
            let around = folder.ancestors().take_while(|folder| folder.starts_with(&root));
            let mut groups = around.map(|folder| Group { folder: folder.to_owned() });
            groups.find(|group| group.memory().current.is_some())
        })
    }

    /// What it says now.
    pub(in crate::commands) fn memory(&self) -> Memory {
        let read = |name: &str| read(&self.folder, name).unwrap_or_default();
        let number = |name: &str| read(name).trim().parse::<u64>().ok();
        let event = |line: &str| {
            let (name, count) = line.split_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        let events = |file: &str| read(file).lines().filter_map(event).collect::<Vec<_>>();
        let sum = |names: &[&str]| {
            let parts = events("memory.stat").into_iter().filter(|(name, _)| names.contains(&name.as_str()));
            parts.map(|(_, bytes)| bytes).sum()
        };
        if let Some(current) = number("memory.current") {
            let (limit, events) = (number("memory.max"), events("memory.events"));
            let reclaimable = sum(&["inactive_file", "active_file", "slab_reclaimable"]);
            return Memory { current: Some(current), reclaimable, limit, events };
        }
        let Some(current) = number("memory.usage_in_bytes") else { return Memory::default() };
        let met = number("memory.failcnt").map(|count| ("max".to_owned(), count));
        let killed = events("memory.oom_control").into_iter().filter(|(name, _)| name == "oom_kill");
        Memory {
            current: Some(current),
            reclaimable: sum(&["total_inactive_file", "total_active_file"]),
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

    /// What cannot be taken back, and what may be used; none without a limit.
    pub(in crate::commands) fn used(&self) -> Option<(u64, u64)> {
        Some((self.current?.saturating_sub(self.reclaimable), self.limit?))
    }
}

/// A file of a group. What a container has mounted is its own affair, and may hold a device that opening sets off.
fn read(folder: &Path, name: &str) -> io::Result<String> {
    let opened = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if folder.starts_with("/proc") && !FILE_SYSTEMS.contains(&(fstatfs(&opened)?.f_type as u32)) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    io::read_to_string(File::from(openat(&opened, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
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
        let expected = Memory { current: Some(4096), limit: None, events, reclaimable: 0 };
        assert_eq!(of(second), Some(expected.clone()));
        write("a/b.service/memory.max", "8192\n");
        let expected = Memory { limit: Some(8192), ..expected };
        assert_eq!(of(second), Some(expected.clone()));
        let kinds = "anon 96\ninactive_file 1000\nactive_file 1000\nslab_reclaimable 1000\nactive_anon 96\n";
        write("a/b.service/memory.stat", kinds);
        assert_eq!(of(second), Some(Memory { reclaimable: 3000, ..expected }));
        assert_eq!(of(second).and_then(|memory| memory.used()), Some((1096, 8192)));
        write("a/memory.current", "5000\n");
        write("a/memory.max", "9000\n");
        let groups = Group::among(second, root.path()).unwrap().with_outer();
        let used: Vec<_> = groups.iter().filter_map(|group| group.memory().used()).collect();
        assert_eq!(used, [(1096, 8192), (5000, 9000)], "outer groups have limits, too");
        write("memory/c/memory.usage_in_bytes", "100\n");
        write("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/c/memory.failcnt", "3\n");
        write("memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        write("memory/c/memory.stat", "active_file 1\ntotal_inactive_file 10\ntotal_active_file 20\n");
        let events = vec![event("max", 3), event("oom_kill", 2)];
        let expected = Memory { current: Some(100), limit: None, events, reclaimable: 30 };
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
