//! Control groups with a limit, where they can be made.

use super::skip;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group, removed when dropped.
pub(crate) struct Group {
    folder: PathBuf,
    files: &'static Files,
}

/// What the hierarchy has in one of its versions.
struct Files {
    root: &'static str,
    limit: &'static str,
    used: &'static str,
    /// How often the kernel has ended a process is in this file, as `oom_kill 1`.
    events: &'static str,
    /// The type of the file system, and its options.
    kind: &'static str,
}

const VERSIONS: [Files; 2] = [
    Files {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        used: "memory.current",
        events: "memory.events",
        kind: "cgroup2",
    },
    Files {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        events: "memory.oom_control",
        kind: "cgroup -o memory",
    },
];

impl Group {
    /// A group of either version of the hierarchy; none where we may not make one, which is said.
    pub(crate) fn new(name: &str, limit: u64) -> Option<Group> {
        let group = VERSIONS.iter().find_map(|files| {
            let folder = Path::new(files.root).join(format!("memprof-{name}-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Group { folder, files };
            let write = |file: &str, value: &str| {
                // Where another version is mounted this is a folder like others.
                let path = group.folder.join(file);
                path.exists() && fs::write(path, value).is_ok()
            };
            // Otherwise memory would be swapped out instead.
            write("memory.swap.max", "0");
            write(files.limit, &limit.to_string()).then_some(group)
        });
        if group.is_none() {
            skip("limits of control groups", "no control group with a limit can be made here");
        }
        group
    }

    /// One within it, without a limit of its own.
    pub(crate) fn inner(&self, name: &str) -> Group {
        let group = Group { folder: self.folder.join(name), files: self.files };
        fs::create_dir(&group.folder).expect("the group is ours");
        group
    }

    /// Where its version is mounted, and the type of the file system with its options.
    pub(crate) fn mount(&self) -> (&'static str, &'static str) {
        (self.files.root, self.files.kind)
    }

    /// The beginning of a command that enters it, and goes on with its arguments.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ >{}/cgroup.procs && ", self.folder.display())
    }

    /// Bytes that it uses.
    pub(crate) fn used(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.files.used)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// How many of its processes the kernel has ended for want of memory.
    pub(crate) fn killed(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.files.events)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is busy for a moment after its last process has ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
