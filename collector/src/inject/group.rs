//! All threads of a process, standing still.

use super::remote::go_on;
use super::tracee::Tracee;
use procfs::ProcResult;
use procfs::process::{Process, Task};
use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

/// A thread that has not stopped after so long waits in the kernel, or for a processor of a busy machine.
const SOON: Duration = Duration::from_millis(5);
/// How long a thread may wait for a processor.
const PATIENCE: Duration = Duration::from_millis(500);

/// The threads; they go on when this is dropped.
#[derive(Debug)]
pub(super) struct Group {
    pid: u32,
    threads: Vec<Tracee>,
}

impl Group {
    /// Stops all threads of a process.
    pub(super) fn stop(pid: u32) -> io::Result<Group> {
        let mut group = Group { pid, threads: Vec::new() };
        let mut known = HashSet::new();
        loop {
            let fresh: Vec<u32> = threads(pid)?.into_iter().filter(|thread| known.insert(*thread)).collect();
            if fresh.is_empty() {
                return Ok(group);
            }
            let first = group.threads.len();
            for thread in fresh {
                match Tracee::seize(thread).and_then(|tracee| tracee.interrupt().map(|()| tracee)) {
                    Ok(tracee) => group.threads.push(tracee),
                    // It has ended meanwhile, or is about to.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => return Err(error),
                }
            }
            let begun = Instant::now();
            for thread in group.threads.iter_mut().skip(first) {
                // Of one that has ended there is nothing to wait for. One that the kernel keeps stops before it runs code of the
                // program again.
                if let Ok(false) = thread.wait_interrupted(begun + SOON)
                    && !is_kept(pid, thread.id())
                {
                    let _ = thread.wait_interrupted(begun + PATIENCE);
                }
            }
        }
    }

    /// Writes a word of the process' memory.
    pub(super) fn poke(&self, address: u64, word: u64) -> io::Result<()> {
        let mut stopped = self.threads.iter().filter(|thread| thread.is_stopped());
        stopped.next().ok_or(io::ErrorKind::TimedOut)?.poke(address, word)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for thread in self.threads.iter().filter(|thread| thread.is_stopped()) {
            let _ = thread.registers().and_then(|registers| go_on(self.pid, thread, registers));
        }
    }
}

/// True of a thread that waits in the kernel without an end that a signal could make.
fn is_kept(pid: u32, thread: u32) -> bool {
    task(pid, thread).and_then(|task| task.stat()).is_ok_and(|stat| stat.state == 'D')
}

/// The threads of a process, those first that have done least so far: they are missed least.
pub(super) fn idlest(pid: u32) -> io::Result<Vec<u32>> {
    let mut threads = threads(pid)?;
    let process = Process::new(pid.cast_signed()).ok();
    let work = |thread: &u32| {
        let task = process.as_ref().and_then(|process| process.task_from_tid(thread.cast_signed()).ok());
        task.and_then(|task| task.stat().ok()).map_or(0, |stat| stat.utime.wrapping_add(stat.stime))
    };
    // The first thread has the smallest number, and is most often waited for.
    threads.sort_by_cached_key(|thread| (work(thread), std::cmp::Reverse(*thread)));
    Ok(threads)
}

/// What the kernel tells of a thread.
pub(super) fn task(pid: u32, thread: u32) -> ProcResult<Task> {
    Process::new(pid.cast_signed())?.task_from_tid(thread.cast_signed())
}

/// The threads of a process.
fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
