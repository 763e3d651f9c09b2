//! Values of counters of processes and processors, by time, as tracks need them.
//!
//! ```text
//!  rss of 7    ──●────●────●──►  ┐
//!  user of 7   ──●────●────●──►  ├─► readings in order of time; for quantities that only grow, their growth
//!  cpu 0 busy  ───●────●────●─►  ┘
//! ```

use analysis::{Counters, Point};
use capture::{CounterKind, ProcessId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Nanoseconds since the recording began.
    pub(super) time: u64,
    /// The quantity.
    pub(super) of: Quantity,
    /// Bytes, or nanoseconds of CPU time.
    pub(super) value: u64,
    /// For quantities that grow, the time of the previous value.
    pub(super) since: u64,
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Quantity {
    /// The resident memory of a process, in bytes.
    Resident(ProcessId),
    /// CPU time that a process used, including the kernel's work for it.
    Work(ProcessId),
    /// Time that a processor of the machine was busy, for any process.
    Busy(u32),
}

/// Kinds that are reported.
const KINDS: [CounterKind; 4] =
    [CounterKind::Rss, CounterKind::UserTime, CounterKind::SystemTime, CounterKind::CpuBusy];

/// All readings.
pub(super) struct Readings<'a> {
    series: Vec<(Option<ProcessId>, CounterKind, u32, std::slice::Iter<'a, Point>)>,
    /// The next point of each series, the earliest first; equal times are in the order of the series, so that a
    /// process' user time precedes its system time.
    next: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// User time of processes whose system time is still to come.
    own: HashMap<ProcessId, u64>,
    /// The last value of each growing quantity, and its time.
    last: HashMap<Quantity, (u64, u64)>,
}

impl<'a> Readings<'a> {
    pub(super) fn new(counters: &'a Counters) -> Self {
        let kinds = counters.iter().filter(|(_, kind, ..)| KINDS.contains(kind));
        let series =
            kinds.map(|(process, kind, instance, points)| (process, kind, instance, points.iter())).collect();
        let mut readings =
            Self { series, next: BinaryHeap::new(), own: HashMap::new(), last: HashMap::new() };
        (0..readings.series.len()).for_each(|series| readings.advance(series));
        readings
    }

    /// The time of the next point.
    pub(super) fn next_time(&self) -> Option<u64> {
        self.next.peek().map(|Reverse((time, ..))| *time)
    }

    fn advance(&mut self, series: usize) {
        if let Some(point) = self.series[series].3.next() {
            self.next.push(Reverse((point.time, series, point.value)));
        }
    }

    /// The growth of a quantity; none for its first value.
    fn grown(&mut self, of: Quantity, time: u64, value: u64) -> Option<Reading> {
        let (since, before) = self.last.insert(of, (time, value))?;
        Some(Reading { time, of, value: value.saturating_sub(before), since })
    }
}

impl Iterator for Readings<'_> {
    type Item = Reading;

    fn next(&mut self) -> Option<Reading> {
        loop {
            let Reverse((time, place, value)) = self.next.pop()?;
            self.advance(place);
            let (process, kind, instance, _) = self.series[place];
            let reading = match (kind, process) {
                (CounterKind::Rss, Some(process)) => {
                    Some(Reading { time, of: Quantity::Resident(process), value, since: time })
                }
                (CounterKind::UserTime, Some(process)) => {
                    self.own.insert(process, value);
                    None
                }
                (CounterKind::SystemTime, Some(process)) => {
                    let own = self.own.get(&process).copied().unwrap_or(0);
                    self.grown(Quantity::Work(process), time, own.saturating_add(value))
                }
                (CounterKind::CpuBusy, None) => self.grown(Quantity::Busy(instance), time, value),
                _ => None,
            };
            if reading.is_some() {
                return reading;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::Counter;

    /// Check that readings come by time, that CPU time is the sum of user and system time, and that growing
    /// quantities are reported from their second value on.
    #[test]
    fn readings_come_by_time() {
        let mut counters = Counters::default();
        let app = Some(ProcessId(0));
        for (time, process, kind, value) in [
            (10, app, CounterKind::Rss, 4096),
            (10, app, CounterKind::UserTime, 5),
            (10, app, CounterKind::SystemTime, 1),
            (20, app, CounterKind::UserTime, 11),
            (20, app, CounterKind::SystemTime, 2),
            (30, app, CounterKind::Rss, 0),
            (12, None, CounterKind::CpuBusy, 100),
            (22, None, CounterKind::CpuBusy, 107),
            (5, app, CounterKind::Threads, 3),
        ] {
            counters.add(&Counter { time, process, kind, instance: 0, value });
        }
        let (resident, work) = (Quantity::Resident(ProcessId(0)), Quantity::Work(ProcessId(0)));
        let readings: Vec<Reading> = Readings::new(&counters).collect();
        let expected = [
            Reading { time: 10, of: resident, value: 4096, since: 10 },
            Reading { time: 20, of: work, value: 7, since: 10 },
            Reading { time: 22, of: Quantity::Busy(0), value: 7, since: 12 },
            Reading { time: 30, of: resident, value: 0, since: 30 },
        ];
        assert_eq!(readings, expected);
    }
}
