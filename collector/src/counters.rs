//! Counters of the recorded processes, of the machine and of the collector, ten times a second while they change.
//!
//! ```text
//!  writer ── who is alive ──► counters thread ── readings ──► writer
//!                             one Source for each file of /proc
//! ```
//!
//! A thread of its own, because `/proc` may take its time. While the writer waits for what it writes to, nothing is read: what would be
//! is of hours, perhaps, and has no end.

mod machine;
mod pace;
mod process;
mod rollup;
mod subjects;

pub(crate) use subjects::{Subject, Subjects};

use crate::clock::Clock;
use capture::{Counter, CounterKind, ProcessId};
use pace::Pace;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Processes that are read in one round: so many take a few milliseconds.
const MOST: usize = 512;
/// Readings that wait for the writer, which looks for them once a second at least.
const QUEUE: usize = 16;

/// Somewhere that counters are read from.
pub(super) trait Source {
    /// Reads what there is. What cannot be read is left out.
    fn read(&mut self, subjects: &[Subject], reading: &mut Reading);
}

/// What is read in one round.
pub(super) struct Reading {
    time: u64,
    counters: Vec<Counter>,
}

impl Reading {
    fn add(&mut self, process: Option<ProcessId>, kind: CounterKind, instance: u32, value: u64) {
        self.counters.push(Counter { time: self.time, process, kind, instance, value });
    }
}

/// The thread, from the outside. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Counters {
    subjects: Subjects,
}

impl Counters {
    /// Starts it; readings come out of the receiver.
    pub(crate) fn start(
        clock: Clock,
        subjects: Subjects,
    ) -> std::io::Result<(Counters, Receiver<Vec<Counter>>)> {
        let (readings, receiver) = sync_channel(QUEUE);
        let read = subjects.clone();
        std::thread::Builder::new().name("counters".into()).spawn(move || run(clock, &read, &readings))?;
        Ok((Counters { subjects }, receiver))
    }

    /// The processes whose counters are read.
    pub(crate) fn subjects(&self) -> Vec<u32> {
        self.subjects.pids()
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        self.subjects.end();
    }
}

fn run(mut clock: Clock, subjects: &Subjects, readings: &SyncSender<Vec<Counter>>) {
    let mut sources: [Box<dyn Source>; 4] = [
        Box::new(process::Stat::new()),
        Box::new(rollup::Rollup::default()),
        Box::new(machine::Processors),
        Box::new(machine::Own),
    ];
    let (mut pace, mut before, mut last) = (Pace::default(), Vec::new(), Instant::now());
    while let Some(subjects) = subjects.next(last, &mut pace, MOST) {
        last = Instant::now();
        clock.measure();
        let mut reading = Reading { time: clock.nanoseconds_of(clock.ticks()), counters: Vec::new() };
        sources.iter_mut().for_each(|source| source.read(&subjects, &mut reading));
        // What is read seldom says nothing about whether something changes.
        let of_subjects = |counter: &&Counter| {
            counter.process.is_some() && !matches!(counter.kind, CounterKind::Pss | CounterKind::Swap)
        };
        let values: Vec<u64> =
            reading.counters.iter().filter(of_subjects).map(|counter| counter.value).collect();
        pace.looked(values != before);
        before = values;
        if readings.send(reading.counters).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each source reads what it is for, of this process and this machine.
    #[test]
    fn sources_read_this_process() {
        let own =
            Subject { process: ProcessId(3), pid: std::process::id(), start_ticks: 0, is_forked: false };
        let mut reading = Reading { time: 7, counters: Vec::new() };
        process::Stat::new().read(&[own], &mut reading);
        machine::Processors.read(&[], &mut reading);
        machine::Own.read(&[], &mut reading);
        let value = |process, kind| {
            let found = reading.counters.iter().find(|one| one.process == process && one.kind == kind);
            found.unwrap_or_else(|| panic!("{kind:?}")).value
        };
        assert!(value(Some(ProcessId(3)), CounterKind::Rss) > 100_000);
        assert!(value(Some(ProcessId(3)), CounterKind::Threads) >= 1);
        assert!(value(None, CounterKind::CollectorRss) > 100_000);
        value(None, CounterKind::CpuBusy);
        assert!(reading.counters.iter().all(|counter| counter.time == 7));
    }

    /// Check that a writer who takes nothing is not waited for with ever more, and gets what is new when it goes on.
    #[test]
    fn readings_that_nobody_takes_are_few() {
        let subjects = Subjects::default();
        let (counters, readings) = Counters::start(Clock::start(), subjects.clone()).unwrap();
        for number in 0..3 * QUEUE as u32 {
            subjects.add(Subject {
                process: ProcessId(number),
                pid: number,
                start_ticks: 0,
                is_forked: false,
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let waiting: Vec<_> = readings.try_iter().take(2 * QUEUE).collect();
        // One that was on its way came while the others were taken.
        assert!((QUEUE / 2..=QUEUE + 1).contains(&waiting.len()), "{}", waiting.len());
        let last = |readings: &[Vec<Counter>]| {
            readings.last().and_then(|all| all.first()).map(|counter| counter.time)
        };
        let later = [readings.recv().unwrap()];
        assert!(last(&later) > last(&waiting));
        drop(counters);
    }

    /// Check that a pid that another process has by now gives nothing, nor one that is gone.
    #[test]
    fn other_processes_are_not_read() {
        let mut reading = Reading { time: 0, counters: Vec::new() };
        let other =
            Subject { process: ProcessId(0), pid: std::process::id(), start_ticks: 1, is_forked: false };
        let gone = Subject { process: ProcessId(0), pid: 1 << 30, start_ticks: 0, is_forked: false };
        process::Stat::new().read(&[other, gone], &mut reading);
        assert!(reading.counters.is_empty());
    }
}
