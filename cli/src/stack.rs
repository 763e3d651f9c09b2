//! The stack that this command runs on, where the one it was given is too small (`ulimit -s`).

use rustix::process::{Resource, getrlimit};
use std::process::ExitCode;

/// More than any of our commands needs.
const ENOUGH: usize = 4 << 20;

/// Runs the command, on a thread of its own where the main thread's stack may not grow as far as that could need. What the user has set is
/// for programs that are recorded, and stays theirs.
pub(crate) fn run(command: fn() -> ExitCode) -> ExitCode {
    match getrlimit(Resource::Stack).current {
        Some(bytes) if bytes < ENOUGH as u64 => on_a_thread(command).unwrap_or_else(command),
        _ => command(),
    }
}

/// Signals that are for this process come to the thread, as they would to the main one, which takes none any more. `None` when there can be
/// no thread.
fn on_a_thread(command: fn() -> ExitCode) -> Option<ExitCode> {
    let before = collector::launch::block_signals();
    let work = move || {
        before.restore();
        command()
    };
    match std::thread::Builder::new().stack_size(ENOUGH).spawn(work) {
        // A panic has said so, and this is how it ends a process.
        Ok(thread) => Some(thread.join().unwrap_or(ExitCode::from(101))),
        Err(_) => {
            before.restore();
            None
        }
    }
}
