//! Values of counters over all processes together, in steps of time: for tracks beside the heap's.

use crate::count::counters::{Counters, Point};
use capture::{CounterKind, Process, ProcessId};
use std::collections::BTreeMap;

/// The most that all processes together had of a kind of memory, resident or swapped out, in each step; `ends` are
/// the ends of the steps. Empty where nothing was sampled.
pub fn resident(
    counters: &Counters,
    wanted: CounterKind,
    processes: &[Process],
    ends: impl Iterator<Item = u64>,
) -> Vec<i64> {
    let sums = resident_sums(counters, wanted, processes);
    if sums.is_empty() {
        return Vec::new();
    }
    let mut sums = sums.into_iter().peekable();
    let mut sum = 0;
    let most = ends.map(|end| {
        let mut most = sum;
        while let Some((_, next)) = sums.next_if(|(time, _)| *time <= end) {
            sum = next;
            most = most.max(sum);
        }
        most.cast_signed()
    });
    most.collect()
}

/// What all processes together have of a kind of memory, at each time when one of them was sampled or ended.
/// Processes are sampled some times a second, so each counts with its last value until its next one, or its end. That
/// is when its last event was if a signal ended it, so it may have samples after it.
pub fn resident_sums(counters: &Counters, wanted: CounterKind, processes: &[Process]) -> Vec<(u64, u64)> {
    let mut points: Vec<(u64, bool, ProcessId, u64)> = Vec::new();
    for (process, kind, _, series) in counters.iter() {
        let Some(process) = process.filter(|_| kind == wanted) else { continue };
        points.extend(series.iter().map(|point| (point.time, false, process, point.value)));
        let end = processes.get(process.index()).and_then(|process| process.end.as_ref());
        let last = series.last().map_or(0, |point| point.time);
        points.extend(end.map(|end| (end.time.max(last), true, process, 0)));
    }
    points.sort_unstable();
    let mut held: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let mut sum = 0_u64;
    let sums = points.into_iter().map(|(time, _, process, value)| {
        let before = held.insert(process, value).unwrap_or(0);
        sum = sum.wrapping_sub(before).wrapping_add(value);
        (time, sum)
    });
    sums.collect()
}

/// The nanoseconds of CPU time that all processes together used in each step, over all threads and including the
/// kernel's work for them; empty where nothing was sampled. What was used between two samples is spread evenly over
/// that time.
pub fn processor_time(counters: &Counters, ends: &[u64]) -> Vec<i64> {
    let mut used = vec![0.0; ends.len()];
    let mut is_known = false;
    for (process, kind, _, series) in counters.iter() {
        if process.is_none() || !matches!(kind, CounterKind::UserTime | CounterKind::SystemTime) {
            continue;
        }
        is_known = true;
        series.windows(2).for_each(|pair| spread(&mut used, ends, pair[0], pair[1]));
    }
    if is_known { used.into_iter().map(|time: f64| time.round() as i64).collect() } else { Vec::new() }
}

/// The nanoseconds that each processor of the machine was busy in each step, for any process; empty where nothing was
/// sampled.
pub fn busy_processors(counters: &Counters, ends: &[u64]) -> Vec<(u32, Vec<i64>)> {
    let of_machine = counters.iter().filter(|(_, kind, ..)| *kind == CounterKind::CpuBusy);
    let busy = of_machine.map(|(_, _, processor, series)| {
        let mut used = vec![0.0; ends.len()];
        series.windows(2).for_each(|pair| spread(&mut used, ends, pair[0], pair[1]));
        (processor, used.into_iter().map(|time: f64| time.round() as i64).collect())
    });
    busy.collect()
}

/// Adds a counter's growth between two points to the steps between them.
fn spread(used: &mut [f64], ends: &[u64], from: Point, to: Point) {
    let grown = to.value.saturating_sub(from.value) as f64;
    let length = to.time.saturating_sub(from.time).max(1) as f64;
    let first = ends.partition_point(|&end| end <= from.time);
    let mut begin = from.time;
    for (step, &end) in ends.iter().enumerate().skip(first) {
        let end = end.min(to.time);
        used[step] += grown * end.saturating_sub(begin) as f64 / length;
        if end >= to.time {
            return;
        }
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use crate::rows::resident::*;
    use capture::{Counter, ProcessEnd};

    /// Check that processes add up, each with its last value, and count no more after their end, nor after their last
    /// sample where that is later.
    #[test]
    fn resident_memory_adds_up() {
        let mut counters = Counters::default();
        for (time, process, value) in [(5, 0, 100), (15, 0, 300), (16, 0, 50), (25, 1, 7), (35, 0, 60)] {
            let process = Some(ProcessId(process));
            counters.add(&Counter { time, process, kind: CounterKind::Rss, instance: 0, value });
        }
        let end =
            |time| Process { end: Some(ProcessEnd { time, ..ProcessEnd::default() }), ..Process::default() };
        let ends = || [10, 20, 30, 40, 50].into_iter();
        for first in [38, 35, 20, 0] {
            let sums = resident(&counters, CounterKind::Rss, &[end(first), end(90)], ends());
            assert_eq!(sums, [100, 300, 57, 67, 7], "{first}");
        }
        assert!(resident(&Counters::default(), CounterKind::Rss, &[], ends()).is_empty());
    }

    /// Check that each processor of the machine has steps of its own, and that its busy time between two samples is
    /// spread over them.
    #[test]
    fn processors_are_told_apart() {
        let mut counters = Counters::default();
        for (time, instance, value) in [(0, 0, 0), (40, 0, 40), (0, 1, 500), (20, 1, 500), (40, 1, 510)] {
            counters.add(&Counter { time, process: None, kind: CounterKind::CpuBusy, instance, value });
        }
        let busy = busy_processors(&counters, &[10, 20, 30, 40]);
        assert_eq!(busy, [(0, vec![10, 10, 10, 10]), (1, vec![0, 0, 5, 5])]);
    }

    /// Check that CPU time is spread between two samples, over all processes, and that its sum is kept.
    #[test]
    fn processor_time_is_spread() {
        let mut counters = Counters::default();
        for (time, process, kind, value) in [
            (0, 0, CounterKind::UserTime, 0),
            (40, 0, CounterKind::UserTime, 400),
            (15, 1, CounterKind::SystemTime, 100),
            (25, 1, CounterKind::SystemTime, 110),
            (25, 1, CounterKind::Threads, 9),
        ] {
            counters.add(&Counter { time, process: Some(ProcessId(process)), kind, instance: 0, value });
        }
        assert_eq!(processor_time(&counters, &[10, 20, 30, 40, 50]), [100, 105, 105, 100, 0]);
        assert!(processor_time(&Counters::default(), &[10]).is_empty());
    }
}
