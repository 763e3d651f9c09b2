//! Programs whose name changed between two captures: `./app-old` became `./app-new`.

use crate::names::process_name::process_name;
use capture::{Process, Tables};
use std::collections::HashSet;

/// Gives programs of the old capture the names they have in the new one. Two programs are paired when each is the one
/// that its recording began with, or the only one of its capture that the other capture lacks.
// Cost: linear in the processes of both.
pub(super) fn rename(old: &mut Tables, new: &Tables) {
    let of_new = names(&new.processes);
    if let (Some(was), Some(is)) = (old.processes.first().cloned(), new.processes.first())
        && !of_new.contains(&process_name(&was))
        && !names(&old.processes).contains(&process_name(is))
    {
        call(old, &was, is);
    }
    let of_old = names(&old.processes);
    if let (Some(was), Some(is)) = (alone(&old.processes, &of_new), alone(&new.processes, &of_old)) {
        call(old, &was, &is);
    }
}

fn names(processes: &[Process]) -> HashSet<String> {
    processes.iter().map(process_name).collect()
}

/// The program that is not among `others`, if there is exactly one.
fn alone(processes: &[Process], others: &HashSet<String>) -> Option<Process> {
    let mut missing = processes.iter().filter(|process| !others.contains(&process_name(process)));
    let first = missing.next()?;
    let name = process_name(first);
    missing.all(|process| process_name(process) == name).then(|| first.clone())
}

/// Renames one program to another.
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
