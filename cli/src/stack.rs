//! The stack that this command runs on, if the given one is too small (`ulimit -s`).

use rustix::process::{Resource, getrlimit};
use std::process::ExitCode;

/// More than any of our commands needs.
const ENOUGH: usize = 4 << 20;

/// Runs the command, on a thread of its own if the main thread's stack may not grow enough. The user's limit is meant
/// for recorded programs, and stays in force for them.
pub(crate) fn run(command: fn() -> ExitCode) -> ExitCode {
    match getrlimit(Resource::Stack).current {
        Some(bytes) if bytes < ENOUGH as u64 => on_a_thread(command).unwrap_or_else(command),
        _ => command(),
    }
}

/// Process-directed signals go to this thread, since the main thread blocks them. `None` if no thread can be started.
fn on_a_thread(command: fn() -> ExitCode) -> Option<ExitCode> {
    let before = collector::attach::launch::block_signals();
    let work = move || {
        before.restore();
        command()
    };
    match std::thread::Builder::new().stack_size(ENOUGH).spawn(work) {
        // The panic has been reported; 101 is how it ends a process.
        Ok(thread) => Some(thread.join().unwrap_or(ExitCode::from(101))),
        Err(_) => {
            before.restore();
            None
        }
    }
}
