//! A process whose threads are all stopped: [`Held`] in the process that has asked for it, [`Hold`] in the one that
//! traces.

use super::arch::{Registers, vector_registers};
use super::refusal::{Refusal, once_free, unseized};
use super::threads::threads;
use super::tracee::Tracee;
use super::tracee::late;
use super::tracee::resume::{go_on, go_on_with_signal};
use super::tracer::{Job, Link, ask};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Threads stop within this time, except in the worst places of the kernel.
const TIMEOUT: Duration = Duration::from_millis(200);

/// What is known of a thread that is held.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Thread {
    /// Its number in our namespace.
    pub(crate) tid: u32,
    /// Its stack pointer.
    pub(crate) pointer: u64,
    /// `None` for one that waits in the kernel and has not stopped.
    pub(crate) thread_pointer: Option<u64>,
    /// All its registers that can hold an address.
    pub(crate) words: Vec<u64>,
}

/// A process all of whose threads are stopped until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    threads: Vec<Thread>,
    link: Link,
}

impl Held {
    /// Stops all threads of a process.
    pub(crate) fn on(pid: u32) -> Result<Held, Refusal> {
        ask(HoldJob { pid }).map(|(threads, link)| Held { threads, link })
    }

    pub(crate) fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Resumes all threads; returns how long they were stopped.
    pub(crate) fn let_go(self) -> Duration {
        self.link.end().unwrap_or_default()
    }
}

/// Stops all threads of a process until [`End`](super::tracer::End).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HoldJob {
    pid: u32,
}

impl Job for HoldJob {
    const NAME: &'static str = "hold";
    const THREAD: &'static str = "scan";

    fn serve(self, link: &Link) {
        match Hold::on(self.pid) {
            Ok(hold) => {
                if link.send(&Ok::<_, Refusal>(hold.threads())).is_ok() {
                    link.has_news(None);
                }
                let _ = link.send(&hold.let_go());
            }
            Err(refusal) => drop(link.send(&Err::<(), _>(refusal))),
        }
        late::settle();
    }
}

/// A stopped thread.
#[derive(Debug)]
struct StoppedThread {
    tracee: Tracee,
    registers: Registers,
    /// All its registers that can hold an address.
    words: Vec<u64>,
}

/// All threads of a process.
#[derive(Debug)]
struct Hold {
    pid: u32,
    /// By thread number in our namespace.
    threads: HashMap<u32, StoppedThread>,
    /// Threads that did not stop in time.
    late: Vec<Tracee>,
    since: Instant,
}

impl Hold {
    /// Stops all threads of a process.
    fn on(pid: u32) -> Result<Hold, Refusal> {
        once_free(|| Hold::try_on(pid))
    }

    fn try_on(pid: u32) -> Result<Hold, Refusal> {
        let mut hold = Hold { pid, threads: HashMap::new(), late: Vec::new(), since: Instant::now() };
        let mut known = HashSet::new();
        // Running threads start others; once all known ones are stopped, no more can appear.
        loop {
            let new = threads(pid).map_err(|error| Refusal::of(pid, error))?;
            let new: Vec<u32> = new.into_iter().filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                break;
            }
            hold.stop(&new)?;
        }
        match (hold.threads.is_empty(), hold.late.is_empty()) {
            (false, _) => Ok(hold),
            (true, true) => Err(Refusal::NoProcess { pid }),
            (true, false) => Err(Refusal::Unstoppable),
        }
    }

    /// Stops these threads, all at once.
    fn stop(&mut self, new: &[u32]) -> Result<(), Refusal> {
        let mut tracees = Vec::with_capacity(new.len());
        for thread in new {
            match Tracee::seize(*thread) {
                Ok(tracee) => tracees.push(tracee),
                Err(error) => unseized(self.pid, *thread, error).map_or(Ok(()), Err)?,
            }
        }
        // If a thread is ending, the wait below notices.
        tracees.iter_mut().for_each(|tracee| drop(tracee.interrupt()));
        let deadline = Instant::now() + TIMEOUT;
        for mut tracee in tracees {
            match tracee.wait_interrupted(deadline) {
                Ok(true) => {
                    if let Ok(still) = StoppedThread::of(self.pid, tracee) {
                        self.threads.insert(still.tracee.id(), still);
                    }
                }
                Ok(false) => self.late.push(tracee),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// All threads whose stack pointers are known.
    fn threads(&self) -> Vec<Thread> {
        let still = self.threads.iter().map(|(tid, StoppedThread { registers, words, .. })| Thread {
            tid: *tid,
            pointer: registers.stack(),
            thread_pointer: Some(registers.thread_pointer()),
            words: words.clone(),
        });
        let late = self.late.iter().filter_map(|tracee| {
            let pointer = pointer_in_kernel(self.pid, tracee.id())?;
            Some(Thread { tid: tracee.id(), pointer, thread_pointer: None, words: Vec::new() })
        });
        still.chain(late).collect()
    }

    /// Resumes all threads; returns how long they were stopped.
    fn let_go(mut self) -> Duration {
        self.release();
        self.since.elapsed()
    }

    fn release(&mut self) {
        for (_, StoppedThread { tracee, registers, .. }) in self.threads.drain() {
            let _ = go_on_with_signal(self.pid, &tracee, registers);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Resumed before the late threads, which take their time.
        self.release();
    }
}

impl StoppedThread {
    fn of(pid: u32, tracee: Tracee) -> io::Result<StoppedThread> {
        let registers = tracee.registers()?;
        // Now, and not only when it resumes: we may be killed before that.
        go_on(pid, &tracee, registers)?;
        let mut words = registers.addresses();
        let vectors = tracee.vectors().map(|vectors| vectors.bytes).unwrap_or_default();
        let (vectors, _) = vector_registers(&vectors).as_chunks();
        words.extend(vectors.iter().map(|word| u64::from_le_bytes(*word)));
        Ok(StoppedThread { tracee, registers, words })
    }
}

/// The stack pointer of a thread that waits in the kernel: the last field but one of its `syscall` file.
fn pointer_in_kernel(pid: u32, thread: u32) -> Option<u64> {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
    let pointer = call.split_ascii_whitespace().rev().nth(1)?;
    u64::from_str_radix(pointer.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests;
