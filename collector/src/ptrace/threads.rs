//! The threads of another process.

use procfs::ProcResult;
use procfs::process::{Process, Task};
use std::io;

/// The threads of a process, those that have worked least first: they are missed least.
pub(crate) fn idlest(pid: u32) -> io::Result<Vec<u32>> {
    let mut threads = threads(pid)?;
    let process = Process::new(pid.cast_signed()).ok();
    let work = |thread: &u32| {
        let task = process.as_ref().and_then(|process| process.task_from_tid(thread.cast_signed()).ok());
        task.and_then(|task| task.stat().ok()).map_or(0, |stat| stat.utime.wrapping_add(stat.stime))
    };
    // The first thread has the smallest number, and is the one most often waited for.
    threads.sort_by_cached_key(|thread| (work(thread), std::cmp::Reverse(*thread)));
    Ok(threads)
}

/// What `/proc` says about a thread.
pub(crate) fn task(pid: u32, thread: u32) -> ProcResult<Task> {
    Process::new(pid.cast_signed())?.task_from_tid(thread.cast_signed())
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
