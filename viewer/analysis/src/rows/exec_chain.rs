//! Programs that a process has executed one after the other: each is a process of the capture.

use capture::{Process, Tables, Thread};

/// Number of threads. One that executes another program is the same thread before and after.
pub fn thread_count(tables: &Tables) -> u64 {
    let is_new = |thread: &&Thread| {
        let process = tables.processes.get(thread.process.index());
        !process.is_some_and(|process| thread.tid == process.pid && follows_exec(tables, process))
    };
    tables.threads.iter().filter(is_new).count() as u64
}

/// True if the process was recorded before it executed this program.
pub fn follows_exec(tables: &Tables, process: &Process) -> bool {
    let before = process.parent.and_then(|parent| tables.processes.get(parent.index()));
    before.is_some_and(|before| before.pid == process.pid)
}
