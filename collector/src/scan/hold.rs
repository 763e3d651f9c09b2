//! A process whose threads are all stopped until this is dropped.

use super::areas::Stack;
use crate::inject::Refusal;
use crate::inject::arch::{Registers, vector_registers};
use crate::inject::remote::go_on;
use crate::inject::threads::threads;
use crate::inject::tracee::Tracee;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Threads stop within this time, except in the worst places of the kernel.
const PATIENCE: Duration = Duration::from_millis(200);
/// Another thread of ours that injects the agent or looks for new libraries has finished by then.
const BUSY: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(10);

/// A stopped thread.
#[derive(Debug)]
struct Still {
    tracee: Tracee,
    registers: Registers,
    /// All its registers that can hold an address.
    words: Vec<u64>,
}

/// All threads of a process.
#[derive(Debug)]
pub(super) struct Hold {
    pid: u32,
    /// By thread number in our namespace.
    threads: HashMap<u32, Still>,
    /// Threads that did not stop in time.
    late: Vec<Tracee>,
    since: Instant,
}

impl Hold {
    /// Stops all threads of a process.
    pub(super) fn on(pid: u32) -> Result<Hold, Refusal> {
        let deadline = Instant::now() + BUSY;
        loop {
            match Hold::try_on(pid) {
                // No thread is stopped while this waits: the failed attempt was dropped.
                Err(Refusal::Traced { by }) if is_ours(by) && Instant::now() < deadline => {
                    std::thread::sleep(NAP);
                }
                result => return result,
            }
        }
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
                Err(error) => self.without(*thread, error)?,
            }
        }
        // If a thread is ending, the wait below notices.
        tracees.iter_mut().for_each(|tracee| drop(tracee.interrupt()));
        let deadline = Instant::now() + PATIENCE;
        for mut tracee in tracees {
            match tracee.wait_interrupted(deadline) {
                Ok(true) => {
                    if let Ok(still) = Still::of(tracee) {
                        self.threads.insert(still.tracee.id(), still);
                    }
                }
                Ok(false) => self.late.push(tracee),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// A thread could not be seized: either it is gone, or this is why the process cannot be stopped.
    fn without(&self, thread: u32, error: io::Error) -> Result<(), Refusal> {
        let status =
            fs::read_to_string(format!("/proc/{}/task/{thread}/status", self.pid)).unwrap_or_default();
        let value =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
        match value("TracerPid:").parse() {
            _ if status.is_empty() || value("State:").starts_with(['Z', 'X']) => Ok(()),
            Ok(by) if by != 0 => Err(Refusal::Traced { by }),
            _ => match Refusal::of(self.pid, error) {
                Refusal::NoProcess { .. } => Ok(()),
                refusal => Err(refusal),
            },
        }
    }

    /// The threads' stack pointers.
    pub(super) fn stacks(&self) -> Vec<Stack> {
        let still = self.threads.iter().map(|(tid, Still { registers, .. })| Stack {
            tid: *tid,
            pointer: registers.stack(),
            thread_pointer: Some(registers.thread_pointer()),
        });
        let late = self.late.iter().filter_map(|tracee| {
            let pointer = pointer_in_kernel(self.pid, tracee.id())?;
            Some(Stack { tid: tracee.id(), pointer, thread_pointer: None })
        });
        still.chain(late).collect()
    }

    /// The words in a thread's registers.
    pub(super) fn registers(&self, thread: u32) -> &[u64] {
        self.threads.get(&thread).map_or(&[], |still| &still.words)
    }

    /// Resumes all threads; returns how long they were stopped.
    pub(super) fn let_go(mut self) -> Duration {
        self.release();
        self.since.elapsed()
    }

    fn release(&mut self) {
        for (_, Still { tracee, registers, .. }) in self.threads.drain() {
            let _ = go_on(self.pid, &tracee, registers);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Resumed before the late threads, which take their time.
        self.release();
    }
}

impl Still {
    fn of(tracee: Tracee) -> io::Result<Still> {
        let registers = tracee.registers()?;
        let mut words = registers.addresses();
        let vectors = tracee.vectors().map(|vectors| vectors.bytes).unwrap_or_default();
        let (vectors, _) = vector_registers(&vectors).as_chunks();
        words.extend(vectors.iter().map(|word| u64::from_le_bytes(*word)));
        Ok(Still { tracee, registers, words })
    }
}

/// The stack pointer of a thread that waits in the kernel: the last field but one of its `syscall` file.
fn pointer_in_kernel(pid: u32, thread: u32) -> Option<u64> {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
    let pointer = call.split_ascii_whitespace().rev().nth(1)?;
    u64::from_str_radix(pointer.strip_prefix("0x")?, 16).ok()
}

/// True for a thread of this process.
fn is_ours(thread: u32) -> bool {
    fs::exists(format!("/proc/self/task/{thread}")).unwrap_or(false)
}

#[cfg(test)]
mod tests;
