//! Counters of the recorded processes, of the machine and of the collector, ten times a second while they change.
//!
//! ```text
//!  writer ── who is alive ──► counters thread ── readings ──► writer
//!                             one Source for each file of /proc
//! ```
//!
//! With many processes, each round reads as many as take a few milliseconds, and the next round continues with
//! others.
//!
//! This has a thread of its own, because `/proc` may be slow. While the writer is blocked on its output nothing is
//! read: that may last hours, and readings would pile up without bound.

mod machine;
mod process;
mod rollup;

pub(crate) use process::peak_rss;

use crate::base::clock::Clock;
use crate::proc::pace::Pace;
use crate::proc::subjects::{Round, Subjects};
use capture::{Counter, CounterKind, ProcessId};
use rustc_hash::FxHashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Most processes read in one round: they take a few milliseconds.
const MOST: usize = 512;
/// Most readings waiting for the writer, which takes them at least once a second.
const QUEUE: usize = 16;

/// A source of counters.
pub(crate) trait Source {
    /// Reads what it can; what cannot be read is left out.
    fn read(&mut self, round: &Round, reading: &mut Reading);
}

/// The readings of one round.
pub(crate) struct Reading {
    time: u64,
    counters: Vec<Counter>,
}

impl Reading {
    fn add(&mut self, process: Option<ProcessId>, kind: CounterKind, instance: u32, value: u64) {
        self.counters.push(Counter { time: self.time, process, kind, instance, value });
    }
}

/// Handle of the thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Counters {
    subjects: Subjects,
}

impl Counters {
    /// Starts the thread; its readings come out of the receiver.
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
    let (mut pace, mut known, mut last) = (Pace::default(), Seen::default(), Instant::now());
    while let Some(round) = subjects.next(last, &mut pace, MOST) {
        last = Instant::now();
        clock.measure();
        let mut reading = Reading { time: clock.nanoseconds_of(clock.ticks()), counters: Vec::new() };
        sources.iter_mut().for_each(|source| source.read(&round, &mut reading));
        pace.looked(known.differs(&round, &reading.counters));
        if readings.send(reading.counters).is_err() {
            return;
        }
    }
}

/// The last reading of each process.
#[derive(Debug, Default)]
struct Seen(FxHashMap<(ProcessId, CounterKind), u64>);

impl Seen {
    /// True when some value differs from its last reading, or has none. Counters that are rarely read do not count.
    fn differs(&mut self, round: &Round, counters: &[Counter]) -> bool {
        let mut differs = false;
        for counter in counters {
            if let Some(process) = counter.process
                && !matches!(counter.kind, CounterKind::Pss | CounterKind::Swap)
            {
                differs |= self.0.insert((process, counter.kind), counter.value) != Some(counter.value);
            }
        }
        // Keep little about processes that are gone.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|(process, _), _| round.is_alive(*process));
        }
        differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::subjects::Subject;

    /// A round of these processes, which are all there are.
    pub(crate) fn of(subjects: &[Subject]) -> Round {
        let alive = subjects.iter().map(|subject| subject.process).collect();
        Round { subjects: subjects.to_vec(), alive }
    }

    /// Check that readings are compared with the same process's last one, even if rounds passed in between, and that
    /// little is kept about processes that are gone.
    #[test]
    fn processes_are_compared_with_themselves() {
        let counter = |number, value| Counter {
            time: 0,
            process: Some(ProcessId(number)),
            kind: CounterKind::Rss,
            instance: 0,
            value,
        };
        let mut seen = Seen::default();
        let mut differs = |numbers: [u32; 2], value| {
            let subjects =
                numbers.map(|pid| Subject { process: ProcessId(pid), pid, start_ticks: 0, is_forked: false });
            seen.differs(&of(&subjects), &numbers.map(|number| counter(number, value)))
        };
        assert!(differs([1, 2], 7) && differs([3, 4], 7));
        assert!(!differs([1, 2], 7) && !differs([3, 4], 7));
        assert!(differs([1, 2], 8));
        for number in 5..5000 {
            differs([number, number + 1], 7);
        }
        assert!(seen.0.len() < 1000);
    }

    /// Check that each source reads its counters of this process and this machine.
    #[test]
    fn sources_read_this_process() {
        let own =
            Subject { process: ProcessId(3), pid: std::process::id(), start_ticks: 0, is_forked: false };
        let mut reading = Reading { time: 7, counters: Vec::new() };
        process::Stat::new().read(&of(&[own]), &mut reading);
        machine::Processors.read(&Round::default(), &mut reading);
        machine::Own.read(&Round::default(), &mut reading);
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

    /// Check that readings do not pile up for a writer that takes none, and that it gets recent ones when it
    /// continues.
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
        // One more was in flight while the others were taken.
        assert!((QUEUE / 2..=QUEUE + 1).contains(&waiting.len()), "{}", waiting.len());
        let last = |readings: &[Vec<Counter>]| {
            readings.last().and_then(|all| all.first()).map(|counter| counter.time)
        };
        let later = [readings.recv().unwrap()];
        assert!(last(&later) > last(&waiting));
        drop(counters);
    }

    /// Check that a pid that was reused, or whose process is gone, gives nothing.
    #[test]
    fn other_processes_are_not_read() {
        let mut reading = Reading { time: 0, counters: Vec::new() };
        let other =
            Subject { process: ProcessId(0), pid: std::process::id(), start_ticks: 1, is_forked: false };
        let gone = Subject { process: ProcessId(0), pid: 1 << 30, start_ticks: 0, is_forked: false };
        process::Stat::new().read(&of(&[other, gone]), &mut reading);
        assert!(reading.counters.is_empty());
    }
}
