//! Copies the tables of a growing capture into its aggregated one.
//!
//! Rows are copied in order as they arrive, so ids stay valid. Each process has a single thread: an aggregated
//! capture does not tell apart whose blocks they were.

use crate::copy::Ids;
use capture::{
    Counter, CounterKind, Error, Mark, ProcessId, Sink, StringId, Tables, Thread, ThreadId, Writer,
};
use std::collections::HashMap;

/// What has been copied so far.
#[derive(Default)]
pub(super) struct Copied {
    ids: Ids,
    processes: usize,
    /// Threads of the recording that were processed.
    threads: usize,
    /// The first thread of each process in the recording.
    first: HashMap<ProcessId, ThreadId>,
    /// The thread that the events of each process have in the aggregated capture.
    carriers: HashMap<ProcessId, ThreadId>,
    marks: usize,
    /// The last values of counters that no snapshot has yet.
    counters: HashMap<(Option<ProcessId>, CounterKind, u32), Counter>,
}

impl Copied {
    /// Copies what is new, and the rows of these processes, which have changed.
    // Cost: proportional to what is new and what has changed, not to what was there before.
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

    /// The thread that all events of a process are attributed to: its first one.
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

    /// Notes new values of counters.
    pub(super) fn counters(&mut self, counters: &[Counter]) {
        for counter in counters {
            self.counters.insert((counter.process, counter.kind, counter.instance), *counter);
        }
    }

    /// Writes the noted values, for a snapshot.
    pub(super) fn write_counters<S: Sink>(&mut self, writer: &mut Writer<S>) -> Result<(), Error> {
        let mut last: Vec<Counter> = self.counters.drain().map(|(_, counter)| counter).collect();
        last.sort_unstable_by_key(|counter| {
            (counter.time, counter.process, counter.kind as u8, counter.instance)
        });
        last.into_iter().try_for_each(|counter| writer.counter(counter))
    }
}
