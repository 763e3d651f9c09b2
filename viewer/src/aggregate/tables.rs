//! The tables of a growing capture in its aggregated one.
//!
//! Rows are copied as they come, in their order, so ids stay what they are. Of threads there is one for each process: whose
//! blocks they were is not told apart.

use crate::copy::Ids;
use capture::{
    Counter, CounterKind, Error, Mark, ProcessId, Sink, StringId, Tables, Thread, ThreadId, Writer,
};
use std::collections::HashMap;

/// What was copied so far.
#[derive(Default)]
pub(super) struct Copied {
    ids: Ids,
    processes: usize,
    /// Threads of the recording that were looked at.
    threads: usize,
    /// By process, the first of these.
    first: HashMap<ProcessId, ThreadId>,
    /// By process, the thread that its events have.
    carriers: HashMap<ProcessId, ThreadId>,
    marks: usize,
    /// What counters said last, and have not said in a snapshot.
    counters: HashMap<(Option<ProcessId>, CounterKind, u32), Counter>,
}

impl Copied {
    /// Copies what is new, and the rows of these processes, which have changed.
    // Cost: what is new and what has changed, however much was there before.
    pub(super) fn take<S: Sink>(
        &mut self,
        tables: &Tables,
        changed: &[ProcessId],
        writer: &mut Writer<S>,
    ) -> Result<(), Error> {
        self.ids.grow(tables, writer)?;
        for &id in changed.iter().filter(|id| id.index() < self.processes) {
            writer.update_process(id, tables.processes[id.index()].clone())?;
        }
        for process in tables.processes.iter().skip(self.processes) {
            writer.process(process.clone())?;
            self.processes += 1;
        }
        for mark in tables.marks.iter().skip(self.marks) {
            let process =
                tables.threads.get(mark.thread.index()).map_or(ProcessId(0), |thread| thread.process);
            let thread = self.carrier(process, tables, writer)?;
            let name: StringId = self.ids.string(mark.name);
            writer.mark(Mark { thread, name, ..*mark })?;
            self.marks += 1;
        }
        Ok(())
    }

    /// The thread that all events of a process have: the first one that it had.
    pub(super) fn carrier<S: Sink>(
        &mut self,
        process: ProcessId,
        tables: &Tables,
        writer: &mut Writer<S>,
    ) -> Result<ThreadId, Error> {
        if let Some(known) = self.carriers.get(&process) {
            return Ok(*known);
        }
        for (place, thread) in tables.threads.iter().enumerate().skip(self.threads) {
            self.first.entry(thread.process).or_insert(ThreadId::from_index(place));
        }
        self.threads = tables.threads.len();
        let first = self.first.remove(&process).map(|first| tables.threads[first.index()].clone());
        let carrier = writer.thread(first.unwrap_or(Thread { process, ..Thread::default() }))?;
        self.carriers.insert(process, carrier);
        Ok(carrier)
    }

    /// Notes what counters said.
    pub(super) fn counters(&mut self, counters: &[Counter]) {
        for counter in counters {
            self.counters.insert((counter.process, counter.kind, counter.instance), *counter);
        }
    }

    /// Writes what they said last, for a snapshot.
    pub(super) fn write_counters<S: Sink>(&mut self, writer: &mut Writer<S>) -> Result<(), Error> {
        let mut last: Vec<Counter> = self.counters.drain().map(|(_, counter)| counter).collect();
        last.sort_unstable_by_key(|counter| {
            (counter.time, counter.process, counter.kind as u8, counter.instance)
        });
        last.into_iter().try_for_each(|counter| writer.counter(counter))
    }
}
