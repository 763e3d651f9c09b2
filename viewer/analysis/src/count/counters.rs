//! Values of counters over time, one series for each process and kind.

use capture::{Counter, CounterKind, ProcessId};
use std::collections::BTreeMap;

/// Points kept over all series: a day of a hundred processes. Beyond that, the series are thinned out.
const MOST: usize = 1 << 22;

/// A value and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// In the unit of the kind.
    pub value: u64,
}

/// Identifies a series: process, kind, and which of several.
type Name = (Option<ProcessId>, CounterKind, u32);

/// All series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    series: BTreeMap<Name, Vec<Point>>,
    points: usize,
}

impl Counters {
    /// Adds a value of a counter.
    pub fn add(&mut self, counter: &Counter) {
        if self.points >= MOST {
            self.thin_out();
        }
        let series = self.series.entry((counter.process, counter.kind, counter.instance)).or_default();
        series.push(Point { time: counter.time, value: counter.value });
        self.points += 1;
    }

    /// Adds the series of processes of another capture, whose ids these tables moved. Series of a machine are left out:
    /// there may be several machines.
    pub fn add_processes(&mut self, others: &Counters, moved: impl Fn(ProcessId) -> ProcessId) {
        for (process, kind, instance, points) in others.iter() {
            let Some(process) = process.map(&moved) else { continue };
            for &Point { time, value } in points {
                self.add(&Counter { time, process: Some(process), kind, instance, value });
            }
        }
    }

    /// The points of a series in file order; empty where nothing was counted.
    pub fn series(&self, process: Option<ProcessId>, kind: CounterKind, instance: u32) -> &[Point] {
        self.series.get(&(process, kind, instance)).map_or(&[], Vec::as_slice)
    }

    /// All series, the machine-wide ones first.
    pub fn iter(&self) -> impl Iterator<Item = (Option<ProcessId>, CounterKind, u32, &[Point])> {
        self.series
            .iter()
            .map(|((process, kind, instance), points)| (*process, *kind, *instance, points.as_slice()))
    }

    /// The largest value of a series.
    pub fn peak(&self, process: ProcessId, kind: CounterKind) -> Option<Point> {
        self.series(Some(process), kind, 0).iter().copied().max_by_key(|point| point.value)
    }

    /// Drops every other point, so that memory stays bounded however long the recording is.
    fn thin_out(&mut self) {
        self.points = 0;
        for points in self.series.values_mut() {
            let mut place = 0;
            points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.points += points.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(time: u64, process: Option<u32>, kind: CounterKind, value: u64) -> Counter {
        Counter { time, process: process.map(ProcessId), kind, instance: 0, value }
    }

    /// Check that series are kept apart by process and kind, and that the peak is the largest value.
    #[test]
    fn series_are_kept_apart() {
        let mut counters = Counters::default();
        for (time, value) in [(1, 10), (2, 30), (3, 20)] {
            counters.add(&counter(time, Some(0), CounterKind::Rss, value));
            counters.add(&counter(time, Some(1), CounterKind::Rss, 1));
            counters.add(&counter(time, None, CounterKind::CpuBusy, 2));
        }
        assert_eq!(counters.series(Some(ProcessId(0)), CounterKind::Rss, 0).len(), 3);
        assert_eq!(counters.peak(ProcessId(0), CounterKind::Rss), Some(Point { time: 2, value: 30 }));
        assert_eq!(counters.peak(ProcessId(2), CounterKind::Rss), None);
        assert_eq!(counters.iter().count(), 3);
    }

    /// Check that an endless recording takes bounded memory, and keeps its beginning and its shape.
    #[test]
    fn long_series_are_thinned_out() {
        let mut counters = Counters::default();
        for time in 0..MOST as u64 + 10 {
            counters.add(&counter(time, None, CounterKind::CollectorRss, time));
        }
        let points = counters.series(None, CounterKind::CollectorRss, 0);
        assert!(points.len() < MOST && points.len() >= MOST / 2);
        assert_eq!(points[0].time, 0);
        assert!(points.windows(2).all(|pair| pair[0].time < pair[1].time));
    }
}
