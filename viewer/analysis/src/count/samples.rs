//! CPU samples, added to the rows of their stacks.

use super::profile::{Profile, Site};
use crate::base::cost::{Amount, Cost};
use crate::base::spread::Spread;
use capture::{NodeId, ProcessId, Sample, Tables, TaskId, Thread, ThreadId};
use std::collections::HashMap;

/// Adds samples to a profile: to the row of an allocating stack, or to a new one.
pub struct SampleSites<'a> {
    profile: &'a mut Profile,
    /// The process of each task.
    owners: Vec<Option<ProcessId>>,
    /// The thread of each task, if rows are told apart by threads; otherwise empty.
    threads: Vec<Option<ThreadId>>,
    rows: HashMap<(ProcessId, Option<ThreadId>, NodeId), usize>,
}

impl<'a> SampleSites<'a> {
    /// For a profile of the capture that these tables belong to.
    pub fn new(profile: &'a mut Profile, tables: &Tables) -> Self {
        let owners = owners(tables);
        let rows = if owners.is_empty() {
            HashMap::new()
        } else {
            let sites = profile.sites.iter().enumerate();
            sites.map(|(row, site)| ((site.process, site.thread, site.node), row)).collect()
        };
        Self { profile, owners, threads: Vec::new(), rows }
    }

    /// The same for a profile whose rows are told apart by threads.
    #[must_use]
    pub fn by_threads(mut self, tables: &Tables) -> Self {
        self.threads = threads(tables);
        self
    }

    /// Counts a sample. A sample whose process is unknown is dropped.
    pub fn add(&mut self, sample: &Sample) {
        let amount = Amount::block(sample.weight);
        self.add_to(sample.task, sample.stack, |cost| cost.cpu += amount);
    }

    fn add_to(&mut self, task: TaskId, stack: NodeId, add: impl Fn(&mut Cost)) {
        let Self { profile, owners, threads, rows } = self;
        let owner = owners.get(task.index()).copied().flatten();
        let Some(process) = owner.filter(|process| process.index() < profile.processes.len()) else {
            profile.stray_samples += 1;
            return;
        };
        let thread = threads.get(task.index()).copied().flatten();
        let row = *rows.entry((process, thread, stack)).or_insert_with(|| {
            if profile.sampling.is_some() {
                profile.spreads.push(Cost::<Spread>::default());
            }
            profile.sites.push(Site { process, thread, node: stack, cost: Cost::default() });
            profile.sites.len() - 1
        });
        add(&mut profile.sites[row].cost);
        add(&mut profile.total);
        add(&mut profile.processes[process.index()].cost);
    }
}

/// The process of each task.
pub fn owners(tables: &Tables) -> Vec<Option<ProcessId>> {
    if tables.tasks.is_empty() {
        return Vec::new();
    }
    let rows = tables.processes.iter().enumerate();
    let by_pid: HashMap<u32, ProcessId> =
        rows.map(|(index, process)| (process.pid, ProcessId::from_index(index))).collect();
    // A truncated recording may lack the image that a task belongs to.
    tables.tasks.iter().map(|task| task.process.or_else(|| by_pid.get(&task.pid).copied())).collect()
}

/// The thread of each task, if its process is known and has it.
pub fn threads(tables: &Tables) -> Vec<Option<ThreadId>> {
    let known = by_number(tables);
    let tasks = tables.tasks.iter().zip(owners(tables));
    tasks.map(|(task, process)| known.get(&(process?, task.tid)).copied()).collect()
}

/// The threads of each process by their tids; if a tid was reused, the last one.
fn by_number(tables: &Tables) -> HashMap<(ProcessId, u32), ThreadId> {
    let rows = tables.threads.iter().enumerate();
    rows.map(|(index, thread)| ((thread.process, thread.tid), ThreadId::from_index(index))).collect()
}

/// Gives threads that ended before their name could be read the name that the kernel knew.
pub fn name_threads(tables: &mut Tables) {
    let (known, owners) = (by_number(tables), owners(tables));
    for (task, process) in tables.tasks.iter().zip(owners) {
        let Some(place) = process.and_then(|process| known.get(&(process, task.tid))) else { continue };
        let thread = &mut tables.threads[place.index()];
        if thread.name.is_empty() {
            thread.name.clone_from(&task.name);
        }
    }
}

/// Adds the threads that were seen running but have allocated nothing, so that no agent reported them. If a tid was
/// reused, the last name is taken.
pub fn add_idle_threads(tables: &mut Tables) {
    let (mut known, owners) = (by_number(tables), owners(tables));
    let Tables { tasks, threads, processes, .. } = tables;
    let recorded = threads.len();
    for (task, process) in tasks.iter().zip(owners) {
        let Some(process) = process.filter(|process| process.index() < processes.len()) else { continue };
        let next = ThreadId::from_index(threads.len());
        match known.entry((process, task.tid)).or_insert(next).index() {
            place if place < recorded => {}
            place if place < threads.len() => threads[place].name.clone_from(&task.name),
            _ => threads.push(Thread { process, tid: task.tid, name: task.name.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::ProcessProfile;
    use super::*;
    use capture::{Process, Task, TaskId};

    /// Check that samples go to the row of their stack if it allocates, to a new one otherwise, and to none if the
    /// process is unknown; and that sums are those of the rows.
    #[test]
    fn samples_join_the_rows_of_their_stacks() {
        let task = |pid, process| Task { pid, tid: pid, process, ..Task::default() };
        let tables = Tables {
            processes: vec![Process { pid: 7, ..Process::default() }],
            tasks: vec![task(7, Some(ProcessId(0))), task(7, None), task(8, None)],
            ..Tables::default()
        };
        let cost = Cost { allocated: Amount::block(100), ..Cost::default() };
        let mut profile = Profile {
            sites: vec![Site { process: ProcessId(0), thread: None, node: NodeId(3), cost }],
            processes: vec![ProcessProfile::default()],
            ..Profile::default()
        };
        let mut sites = SampleSites::new(&mut profile, &tables);
        for (task, stack) in [(0, 3), (1, 3), (0, 4), (2, 3)] {
            sites.add(&Sample { task: TaskId(task), stack: NodeId(stack), weight: 10, ..Sample::default() });
        }
        let cpu: Vec<Amount> = profile.sites.iter().map(|site| site.cost.cpu).collect();
        assert_eq!(cpu, [Amount { blocks: 2, bytes: 20 }, Amount { blocks: 1, bytes: 10 }]);
        assert_eq!(profile.sites[0].cost.allocated, Amount::block(100));
        assert_eq!((profile.total.cpu.blocks, profile.stray_samples), (3, 1));
        assert_eq!(profile.processes[0].cost.cpu, profile.total.cpu);
    }

    /// Check that threads that never allocate get rows of their own when threads are told apart, once each, that
    /// others get missing names, and that threads of unknown processes get neither.
    #[test]
    fn threads_that_only_run_are_told_apart() {
        let task = |tid, name: &str| Task { pid: 7, tid, name: name.to_owned(), process: Some(ProcessId(0)) };
        let thread = |tid, name: &str| Thread { process: ProcessId(0), tid, name: name.to_owned() };
        let mut tables = Tables {
            processes: vec![Process { pid: 7, ..Process::default() }],
            threads: vec![thread(7, "")],
            tasks: vec![
                task(8, "first"),
                task(7, "main"),
                Task { pid: 9, tid: 9, ..Task::default() },
                task(8, "again"),
                task(10, "last"),
            ],
            ..Tables::default()
        };
        name_threads(&mut tables);
        assert_eq!(tables.threads, [thread(7, "main")]);
        add_idle_threads(&mut tables);
        assert_eq!(tables.threads, [thread(7, "main"), thread(8, "again"), thread(10, "last")]);
        let before = tables.threads.clone();
        name_threads(&mut tables);
        add_idle_threads(&mut tables);
        assert_eq!(tables.threads, before);

        let row =
            Site { process: ProcessId(0), thread: Some(ThreadId(0)), node: NodeId(3), cost: Cost::default() };
        let mut profile =
            Profile { sites: vec![row], processes: vec![ProcessProfile::default()], ..Profile::default() };
        let mut sites = SampleSites::new(&mut profile, &tables).by_threads(&tables);
        for task in 0..5 {
            sites.add(&Sample { task: TaskId(task), stack: NodeId(3), weight: 10, ..Sample::default() });
        }
        let rows: Vec<_> = profile.sites.iter().map(|site| (site.thread, site.cost.cpu.blocks)).collect();
        assert_eq!(rows, [(Some(ThreadId(0)), 1), (Some(ThreadId(1)), 2), (Some(ThreadId(2)), 1)]);
        assert_eq!(profile.stray_samples, 1);
    }
}
