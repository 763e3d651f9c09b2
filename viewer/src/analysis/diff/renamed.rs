//! Programs that have another name in the newer of two captures: `./app-old` beside `./app-new`.

use crate::analysis::process_name;
use capture::{Process, Tables};

/// Gives programs of the old capture the names that they have in the new one. One is the other where each is the program that
/// its recording began with, or is the only one of its capture that the other capture does not have.
pub(super) fn rename(old: &mut Tables, new: &Tables) {
    if let (Some(first), Some(other)) = (old.processes.first(), new.processes.first()) {
        let (first, other) = (first.clone(), other.clone());
        if lacks(&new.processes, &first) && lacks(&old.processes, &other) {
            call(old, &first, &other);
        }
    }
    if let (Some(was), Some(is)) =
        (alone(&old.processes, &new.processes), alone(&new.processes, &old.processes))
    {
        call(old, &was, &is);
    }
}

fn lacks(processes: &[Process], one: &Process) -> bool {
    let name = process_name(one);
    processes.iter().all(|process| process_name(process) != name)
}

/// The program that others do not have, if there is just one.
fn alone(processes: &[Process], others: &[Process]) -> Option<Process> {
    let mut missing = processes.iter().filter(|process| lacks(others, process));
    let first = missing.next()?;
    let name = process_name(first);
    missing.all(|process| process_name(process) == name).then(|| first.clone())
}

/// Takes what was one program for what is another one.
fn call(old: &mut Tables, was: &Process, is: &Process) {
    let name = process_name(was);
    for process in old.processes.iter_mut().filter(|process| process_name(process) == name) {
        process.name = process_name(is);
        process.executable.clone_from(&is.executable);
    }
    if was.executable.is_empty() || is.executable.is_empty() {
        return;
    }
    for module in old.modules.iter_mut().filter(|module| module.path == was.executable) {
        module.path.clone_from(&is.executable);
    }
}
