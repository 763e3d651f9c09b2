//! What `/proc` says about a process, read while it waits for our answer and therefore exists.

use super::handles::{hold, hold_root};
use super::{labels, namespace};
use crate::base::command_line;
use procfs::process::Process;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shortest time between two looks at the threads of a process in another pid namespace.
const PACE: Duration = Duration::from_millis(100);

/// A process as it was when it connected or was first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Info {
    /// Pid in our namespace.
    pub(crate) pid: u32,
    /// Pid in its own pid namespace, which is the one that its agent reports.
    pub(crate) ns_pid: u32,
    /// Pid of the parent.
    pub(crate) parent_pid: u32,
    /// Start in clock ticks since boot, which distinguishes reused pids.
    pub(crate) start_ticks: u64,
    /// What the kernel calls it: where its executable was found, cut to 15 bytes, until it says otherwise.
    pub(crate) comm: String,
    /// Path of the executable; empty if it could not be read.
    pub(crate) executable: PathBuf,
    /// The executable itself, whatever becomes of its path.
    pub(crate) program: Option<Arc<File>>,
    /// Its root, if that is not ours: paths of its files begin there, also when it is gone.
    pub(crate) root: Option<Arc<File>>,
    /// Command line.
    pub(crate) command: Vec<String>,
    /// Working directory, for relative names of libraries.
    pub(crate) folder: PathBuf,
    /// What it runs in, and what it says of itself.
    pub(crate) labels: Vec<(String, String)>,
    /// It ran before its recording began: blocks allocated then are unknown.
    pub(crate) attached: bool,
    /// When it got the memory of the recording, in shifted ticks: nothing earlier is recorded of it.
    pub(crate) connected: u64,
}

impl Info {
    /// Reads what can be read; the rest stays empty.
    pub(crate) fn read(pid: u32) -> Info {
        let Some(stat) = Stat::of(pid) else {
            return Info { pid, ns_pid: pid, ..Info::default() };
        };
        let executable = PathBuf::from(format!("/proc/{pid}/exe"));
        Info {
            pid,
            // To ask for the number itself takes the kernel longer than all the rest.
            ns_pid: if namespace::is_ours(pid) { pid } else { namespace::own(pid).unwrap_or(pid) },
            parent_pid: stat.parent_pid,
            start_ticks: stat.start_ticks,
            comm: stat.comm,
            executable: std::fs::read_link(&executable).unwrap_or_default(),
            program: hold(&executable),
            root: hold_root(pid),
            command: command_line::read(pid),
            folder: std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default(),
            labels: labels::of_process(pid),
            attached: false,
            connected: 0,
        }
    }

    /// The name by which it was started, as of a link; else that of the executable, as for a script or what has another
    /// name by now; `[pid = N]` if there is none.
    pub(crate) fn name(&self) -> String {
        // Behind it may be what a service says of itself, and before it what a login shell is told.
        let word =
            self.command.first().and_then(|first| first.trim_start_matches('-').split([' ', ':']).next());
        let started = word.and_then(|word| Path::new(word).file_name()?.to_str());
        if let Some(name) = started.filter(|name| !name.is_empty() && is_kept_as(name, &self.comm)) {
            return name.to_owned();
        }
        match self.executable_name() {
            name if name.is_empty() => format!("[pid = {}]", self.pid),
            name => name,
        }
    }

    /// The name of its executable without folders; empty if that is unknown.
    pub(crate) fn executable_name(&self) -> String {
        without_deletion(&self.executable.file_name().unwrap_or_default().to_string_lossy()).to_owned()
    }
}

/// True when this name is what the kernel calls a process, of which it keeps 15 bytes.
pub(crate) fn is_kept_as(name: &str, comm: &str) -> bool {
    name.as_bytes().get(..15).unwrap_or(name.as_bytes()) == comm.as_bytes()
}

/// The file's name without the kernel's mark for a deleted file: a program replaced by an update keeps its name.
pub(crate) fn without_deletion(file: &str) -> &str {
    file.strip_suffix(" (deleted)").unwrap_or(file)
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// What the kernel calls it.
    comm: String,
    state: u8,
    pub(crate) parent_pid: u32,
    /// Start in clock ticks since boot.
    pub(crate) start_ticks: u64,
    /// Wait status; 0 as long as it runs.
    status: i32,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Stat> {
        // Longer than any: 52 numbers and a short name.
        let mut line = [0; 2048];
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        Stat::parse(line.get(..length)?)
    }

    fn parse(line: &[u8]) -> Option<Stat> {
        // The name may contain anything, the rest no parenthesis.
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let name_begins = line.iter().position(|byte| *byte == b'(')? + 1;
        let comm = String::from_utf8_lossy(line.get(name_begins..name_ends)?).into_owned();
        let mut fields = std::str::from_utf8(line.get(name_ends + 1..)?).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent_pid = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(17)?.parse().ok()?;
        let status = fields.nth(29)?.parse().ok()?;
        Some(Stat { comm, state, parent_pid, start_ticks, status })
    }
}

/// Name of a thread; empty when it is gone.
pub(crate) fn thread_name(pid: u32, tid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
    name.map(|name| name.trim_end().to_owned()).unwrap_or_default()
}

/// The threads of a process in another pid namespace, by their ids there. To learn those, all threads must be looked
/// at; so that is done from time to time for all of them, not for each.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Ids in our namespace of the threads that existed at the last look.
    here: FxHashMap<u32, u32>,
    looked: Option<Instant>,
}

impl Threads {
    /// Name of a thread by its id in its own namespace; empty when it is gone, or began after the last look.
    pub(crate) fn name(&mut self, pid: u32, tid: u32) -> String {
        if let Some(name) = self.known(pid, tid) {
            return name;
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= PACE) {
            self.here = threads_by_own_id(pid);
            self.looked = Some(Instant::now());
        }
        self.known(pid, tid).unwrap_or_default()
    }

    fn known(&self, pid: u32, tid: u32) -> Option<String> {
        let here = *self.here.get(&tid)?;
        let task = Process::new(pid.cast_signed()).ok()?.task_from_tid(here.cast_signed()).ok()?;
        // Its id in our namespace may have been reused.
        (namespace::innermost(&task.status().ok()?)? == tid).then(|| thread_name(pid, here))
    }
}

/// Ids in our namespace of a process's threads, by their ids in their own.
fn threads_by_own_id(pid: u32) -> FxHashMap<u32, u32> {
    let tasks = Process::new(pid.cast_signed()).and_then(|process| process.tasks());
    let tasks = tasks.into_iter().flatten().filter_map(Result::ok);
    let told = |task: procfs::process::Task| {
        Some((namespace::innermost(&task.status().ok()?)?, task.tid.unsigned_abs()))
    };
    tasks.filter_map(told).collect()
}

/// Wait status of a process that has ended but was not reaped yet.
pub(crate) fn zombie_status(pid: u32) -> Option<i32> {
    Stat::of(pid).filter(|stat| matches!(stat.state, b'Z' | b'X')).map(|stat| stat.status)
}

/// Device and inode of a segment, which identify it in the maps of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Start of a process, in clock ticks since boot.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    Some(Stat::of(pid)?.start_ticks)
}

/// True while the process maps this memory: an exec unmaps it, and may bring that of another image.
pub(crate) fn maps_this(pid: u32, segment: MemoryId) -> bool {
    maps_any(pid, |mapped| mapped == segment)
}

/// True while the process maps the memory of any recording.
pub(crate) fn maps_segment(pid: u32) -> bool {
    maps_any(pid, |_| true)
}

/// True while the process maps such memory. Maps that cannot be read are given the benefit of the doubt, and so is a
/// process about to exit, which has none: its pidfd will report its end.
fn maps_any(pid: u32, is_such: impl Fn(MemoryId) -> bool) -> bool {
    maps(pid).is_none_or(|maps| segments(&maps).any(is_such)) || is_about_to_exit(pid)
}

/// True when the process has no maps, or none any more: the end of a list that was read just before may be missing.
fn is_about_to_exit(pid: u32) -> bool {
    let first = |mut file: File| file.read(&mut [0]);
    !File::open(format!("/proc/{pid}/maps")).and_then(first).is_ok_and(|length| length > 0)
}

/// Like [`maps_segment`], but false for processes about to exit.
pub(crate) fn maps_segment_still(pid: u32) -> bool {
    maps(pid).is_none_or(|maps| segments(&maps).next().is_some())
}

fn maps(pid: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/maps")).ok()
}

/// The segments in a process's maps, in lines like
/// `7f40-7f41 rw-s 00000000 00:01 80   /memfd:sysprof-memprof (deleted)`.
fn segments(maps: &[u8]) -> impl Iterator<Item = MemoryId> {
    maps.split(|byte| *byte == b'\n').filter_map(|line| {
        // Names of other files are not always text; this one is.
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let (device, inode, name) = (words.nth(3)?, words.next()?, words.next()?);
        let (major, minor) = device.split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = rustix::fs::makedev(number(major)?, number(minor)?);
        (name == "/memfd:sysprof-memprof").then_some(MemoryId { device, inode: inode.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a process without our memory has none, unless it is about to exit, when nobody can know.
    #[test]
    fn processes_about_to_exit_may_have_had_our_memory() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        while std::fs::read(format!("/proc/{pid}/comm")).unwrap() != b"sleep\n" {
            std::thread::yield_now();
        }
        assert!(!maps_segment(pid) && !maps_segment_still(pid));
        child.kill().unwrap();
        while zombie_status(pid).is_none() {
            std::thread::yield_now();
        }
        assert!(maps_segment(pid) && !maps_segment_still(pid));
        child.wait().unwrap();
    }

    /// Check that threads are named correctly by the ids they have themselves, that a new one is found by the next
    /// look, and that looks do not follow each other too soon.
    #[test]
    fn threads_are_found_by_their_own_numbers() {
        let pid = std::process::id();
        let mut threads = Threads::default();
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let late = std::thread::Builder::new().name("late".into());
        let begin = move || {
            let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
            let _ = ends.recv();
        };
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert_eq!(threads.name(pid, own), thread_name(pid, own));
        let late = late.spawn(begin).unwrap();
        let tid = told.recv().unwrap();
        // If this took long, there was time for a look.
        let looked = threads.looked;
        let name = threads.name(pid, tid);
        assert_eq!(name == "late", threads.looked != looked, "{name}");
        std::thread::sleep(PACE);
        assert_eq!(threads.name(pid, tid), "late");
        drop(end);
        late.join().unwrap();
        assert_eq!(threads.name(pid, tid), "");
    }

    /// Check that a process has the name of the link by which it was started, whatever it says of itself since, and else
    /// that of its executable.
    #[test]
    fn names_are_those_of_the_start() {
        for (comm, executable, word, name) in [
            ("redis-server", "/usr/bin/redis-check-rdb", "redis-server 127.0.0.1:6379", "redis-server"),
            ("nginx", "/usr/sbin/nginx", "nginx: worker process", "nginx"),
            ("bash", "/usr/bin/bash (deleted)", "-bash", "bash"),
            ("sh", "/usr/bin/dash", "/bin/sh", "sh"),
            ("fifteen-letters", "/bin/all", "./fifteen-letters-and-more", "fifteen-letters-and-more"),
            ("tool.py", "/usr/bin/python3.11", "/usr/bin/python3", "python3.11"),
            ("MainThread", "/opt/node (deleted)", "node", "node"),
            ("sleep", "/usr/bin/sleep", "another", "sleep"),
            ("", "", "", "[pid = 7]"),
        ] {
            let (comm, command) = (comm.to_owned(), vec![word.to_owned()]);
            let info = Info { pid: 7, comm, executable: executable.into(), command, ..Info::default() };
            assert_eq!(info.name(), name);
        }
    }

    /// Check that a line of the kernel's is read whatever the name of the program, and agrees with what others say.
    #[test]
    fn lines_of_any_program_are_read() {
        let rest = " Z 7 1 1 0 -1 4228364 88 0 0 0 0 0 0 0 20 0 1 0 1234 0 0 18446744073709551615 0 0 0 0 0 0 0 0 \
            0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 256\n";
        for name in ["true", "a) R 1 1", "(", ")", "", "fifteen letters"] {
            let stat = Stat::parse(format!("5 ({name}){rest}").as_bytes()).unwrap();
            assert_eq!(stat.comm, name);
            let numbers = (stat.state, stat.parent_pid, stat.start_ticks, stat.status);
            assert_eq!(numbers, (b'Z', 7, 1234, 256), "{name}");
        }
        assert_eq!(Stat::parse(b"5 (true) Z 7 1"), None);
        let (own, known) =
            (Stat::of(std::process::id()).unwrap(), Process::myself().unwrap().stat().unwrap());
        assert_eq!((own.parent_pid, own.start_ticks), (known.ppid.unsigned_abs(), known.starttime));
        assert_eq!(Stat::of(1 << 30), None);
    }

    /// Check that a segment is identified by its number, not by the name that all of them share, and that nothing
    /// else counts as one.
    #[test]
    fn segments_are_told_apart() {
        let maps = b"7f40-7f41 rw-s 00000000 00:01 80   /memfd:sysprof-memprof (deleted)\n\
            7f41-7f42 ---s 00001000 103:0a 81   /memfd:sysprof-memprof (deleted)\n\
            7f42-7f43 r--s 00000000 00:01 82   /memfd:sysprof-memprof-control (deleted)\n\
            7f43-7f44 r--p 00000000 00:01 83   /tmp/\xFF\n\
            7f44-7f45 rw-p 00000000 00:00 0\n";
        let id = |major, minor, inode| MemoryId { device: rustix::fs::makedev(major, minor), inode };
        assert!(segments(maps).eq([id(0, 1, 80), id(0x103, 10, 81)]));
    }
}
