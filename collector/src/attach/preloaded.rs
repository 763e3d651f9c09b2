//! Which processes have the agent preloaded, as `/proc` tells.
//!
//! A process's mappings show its state:
//!
//! | mapping | of a process with the agent | of a collector |
//! |---|---|---|
//! | `libsysprof_memprof_preload….so` | always | |
//! | `…/doorbell`, shared, read-only | when it can be called | |
//! | `memfd:sysprof-memprof-control` | read-only: recorded by the process that has the same one writable | writable |

use crate::inject::is_injected;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A process that has the agent preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preloaded {
    /// Pid in our namespace.
    pub pid: u32,
    /// Effective user.
    pub uid: u32,
    /// What state it is in.
    pub state: State,
    /// How long it has been in that state: since the process began, or since its recording did.
    pub since: Duration,
    /// Command line, or the name in brackets where there is none.
    pub command: String,
    /// The doorbell it hears: path as the process sees it, device, inode.
    pub(super) doorbell: Option<Mapped>,
    /// The agent's file, as the process sees it.
    pub(super) agent: PathBuf,
}

/// A mapped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) path: PathBuf,
    pub(super) inode: u64,
}

/// State of a process with the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can be attached to.
    Dormant,
    /// It is recorded by this process.
    Recorded(u32),
    /// It found no doorbell when it began.
    WithoutDoorbell,
    /// It got its agent from an earlier recording, and calls past it since: it gets it again when it is attached to.
    Bypassed,
}

/// The interesting parts of a process's maps.
#[derive(Debug, Default)]
struct Maps {
    /// The agent's file.
    agent: Option<PathBuf>,
    doorbell: Option<Mapped>,
    /// Control memory, mapped read-only: the process is recorded.
    read: Option<u64>,
    /// Control memory, mapped writable: the process records others.
    written: Vec<u64>,
    /// Segments, in either case.
    segments: Vec<u64>,
}

/// All processes with the agent that this user may look at, by pid.
pub fn preloaded() -> Vec<Preloaded> {
    let mut found: Vec<(u32, Maps)> = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        // Processes that we may not look at, or that have just gone, are left out.
        let maps = pid.and_then(|pid| Some((pid, maps_of(pid).ok()?)));
        found.extend(maps.filter(|(_, maps)| maps.agent.is_some() || !maps.written.is_empty()));
    }
    let collectors: HashMap<u64, u32> =
        found.iter().flat_map(|(pid, maps)| maps.written.iter().map(|inode| (*inode, *pid))).collect();
    let mut all: Vec<Preloaded> = found
        .into_iter()
        .filter(|(_, maps)| maps.agent.is_some())
        .filter_map(|(pid, maps)| describe(pid, maps, &collectors))
        .collect();
    all.sort_by_key(|process| process.pid);
    all
}

/// One process, if it has the agent. Other processes are looked at only to learn who records it.
///
/// # Errors
/// When it is gone, or we may not look at it.
pub(super) fn preloaded_one(pid: u32) -> std::io::Result<Option<Preloaded>> {
    let maps = maps_of(pid)?;
    match (&maps.agent, maps.read) {
        (None, _) => Ok(None),
        (Some(_), None) => Ok(describe(pid, maps, &HashMap::new())),
        (Some(_), Some(_)) => Ok(preloaded().into_iter().find(|process| process.pid == pid)),
    }
}

fn describe(pid: u32, maps: Maps, collectors: &HashMap<u64, u32>) -> Option<Preloaded> {
    let collector = maps.read.and_then(|inode| collectors.get(&inode)).copied();
    let state = match (collector, &maps.doorbell) {
        (Some(by), _) => State::Recorded(by),
        // Its collector is gone; the process will notice by itself.
        (None, Some(_)) => State::Dormant,
        (None, None) if maps.agent.as_ref().is_some_and(|agent| is_injected(pid, agent)) => State::Bypassed,
        (None, None) => State::WithoutDoorbell,
    };
    let recorded = collector.and_then(|by| age_of_segment(by, &maps.segments));
    let process = procfs::process::Process::new(pid.cast_signed()).ok()?;
    let words = process.cmdline().unwrap_or_default();
    let name = || process.stat().map(|stat| format!("[{}]", stat.comm)).unwrap_or_default();
    Some(Preloaded {
        pid,
        uid: fs::metadata(format!("/proc/{pid}")).ok()?.uid(),
        state,
        since: recorded.or_else(|| age(&process)).unwrap_or_default(),
        command: if words.is_empty() { name() } else { words.join(" ") },
        doorbell: maps.doorbell,
        agent: maps.agent?,
    })
}

fn maps_of(pid: u32) -> std::io::Result<Maps> {
    Ok(parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/maps"))?)))
}

/// A line is `start-end access offset device inode path`.
fn parse(text: &str) -> Maps {
    let mut maps = Maps::default();
    for line in text.lines() {
        let Some(place) = line.find(['/', '[']) else { continue };
        let path = line[place..].trim_end_matches(" (deleted)");
        let mut words = line[..place].split_ascii_whitespace().skip(1);
        let (access, inode) = (words.next().unwrap_or(""), words.nth(2).and_then(|word| word.parse().ok()));
        let Some(inode) = inode else { continue };
        let name = path.rsplit('/').next().unwrap_or("");
        match path {
            "/memfd:sysprof-memprof-control" if access.starts_with("rw") => maps.written.push(inode),
            "/memfd:sysprof-memprof-control" => maps.read = Some(inode),
            "/memfd:sysprof-memprof" => maps.segments.push(inode),
            _ if name == shared_ring::doorbell::FILE && access == "r--s" => {
                maps.doorbell = Some(Mapped { path: unescaped(path), inode });
            }
            _ if name.starts_with("libsysprof_memprof_preload") && name.ends_with(".so") => {
                maps.agent = Some(unescaped(path));
            }
            _ => {}
        }
    }
    maps
}

/// The kernel writes a line feed in a path as `\012`.
fn unescaped(path: &str) -> PathBuf {
    PathBuf::from(path.replace("\\012", "\n"))
}

/// Time since a process started.
fn age(process: &procfs::process::Process) -> Option<Duration> {
    let start = process.stat().ok()?.starttime as f64 / procfs::ticks_per_second() as f64;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from_secs_f64(now.tv_sec as f64 + now.tv_nsec as f64 / 1e9 - start).ok()
}

/// Time since a collector made one of these segments: the access time, since nothing changes it.
fn age_of_segment(collector: u32, segments: &[u64]) -> Option<Duration> {
    let folder = fs::read_dir(Path::new("/proc").join(collector.to_string()).join("fd")).ok()?;
    let made = folder.flatten().find_map(|entry| {
        let is_ours = fs::read_link(entry.path()).ok()?.to_str()?.starts_with("/memfd:sysprof-memprof ");
        let metadata = is_ours.then(|| fs::metadata(entry.path()).ok()).flatten()?;
        segments.contains(&metadata.ino()).then(|| metadata.accessed().ok()).flatten()
    })?;
    SystemTime::now().duration_since(made).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the relevant mappings are read from a process's maps, among irrelevant lines.
    #[test]
    fn maps_tell_what_a_process_is_about() {
        let target = "\
55d0-55d1 r-xp 00001000 fe:01 77   /usr/bin/redis-server
7f00-7f01 r-xp 00001000 fe:01 78   /usr/lib/sysprof-memprof/libsysprof_memprof_preload.so
7f10-7f11 r--s 00000000 00:19 79   /run/sys prof/doorbell
7f20-7f21 rw-p 00000000 00:00 0 \n7f30-7f31 rw-p 00000000 00:00 0    [heap]
7f40-7f41 rw-s 00000000 00:01 80   /memfd:sysprof-memprof (deleted)
7f50-7f51 r--s 00000000 00:01 81   /memfd:sysprof-memprof-control (deleted)";
        let maps = parse(target);
        let agent = Path::new("/usr/lib/sysprof-memprof/libsysprof_memprof_preload.so");
        assert!(maps.agent.as_deref() == Some(agent) && maps.written.is_empty());
        assert_eq!(maps.doorbell, Some(Mapped { path: "/run/sys prof/doorbell".into(), inode: 79 }));
        assert_eq!((maps.read, maps.segments), (Some(81), vec![80]));
        let collector = parse("7f50-7f51 rw-s 00000000 00:01 81   /memfd:sysprof-memprof-control (deleted)");
        assert_eq!((collector.agent, collector.written), (None, vec![81]));
        // A private or writable mapping of some other doorbell does not count.
        assert_eq!(parse("7f10-7f11 rw-s 00000000 00:19 79   /home/doorbell").doorbell, None);
    }

    /// Bytes that this thread has read from files.
    fn read_so_far() -> Option<u64> {
        let told = fs::read_to_string("/proc/thread-self/io").ok()?;
        told.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
    }

    /// Check that for a process that is not recorded no other process's maps are read: with thousands of others, that
    /// would take longer than the process is called for.
    #[test]
    fn one_process_is_found_without_the_others() {
        let own = std::process::id();
        let maps = fs::read(format!("/proc/{own}/maps")).unwrap().len() as u64;
        let Some(before) = read_so_far() else {
            return println!("skipped: the kernel does not count what is read");
        };
        assert!(preloaded_one(own).unwrap().is_none());
        let one = read_so_far().unwrap() - before;
        // The maps include what is read for the query, and other threads map things meanwhile.
        assert!(one < maps + maps / 2 + 4096, "{one} of {maps} bytes");
        assert!(preloaded_one(u32::MAX >> 1).is_err());
    }
}
