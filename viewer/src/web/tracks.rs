//! What else a page draws over time: resident memory, and the moments that programs named.

use crate::analysis::{Counters, Slice};
use capture::{CounterKind, Process, ProcessId};
use std::collections::BTreeMap;

/// The most that all processes had resident together, in each slice; none where nobody looked. Processes are looked at
/// some times a second, so one counts with its last value until the next one, or its end.
pub(super) fn resident(counters: &Counters, processes: &[Process], slices: &[Slice]) -> Vec<i64> {
    let mut points: Vec<(u64, ProcessId, u64)> = Vec::new();
    for (process, kind, _, series) in counters.iter() {
        let Some(process) = process.filter(|_| kind == CounterKind::Rss) else { continue };
        points.extend(series.iter().map(|point| (point.time, process, point.value)));
        let end = processes.get(process.index()).and_then(|process| process.end.as_ref());
        points.extend(end.map(|end| (end.time, process, 0)));
    }
    if points.is_empty() {
        return Vec::new();
    }
    points.sort_unstable();
    let mut points = points.into_iter().peekable();
    let mut held: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let mut sum = 0_u64;
    let most = slices.iter().map(|slice| {
        let mut most = sum;
        while let Some((_, process, value)) = points.next_if(|(time, ..)| *time <= slice.end.time) {
            let before = held.insert(process, value).unwrap_or(0);
            sum = sum.wrapping_sub(before).wrapping_add(value);
            most = most.max(sum);
        }
        most.cast_signed()
    });
    most.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Instant;
    use capture::{Counter, ProcessEnd};

    /// Check that processes add up, each with its last value, and are gone after their end.
    #[test]
    fn resident_memory_adds_up() {
        let mut counters = Counters::default();
        for (time, process, value) in [(5, 0, 100), (15, 0, 300), (16, 0, 50), (25, 1, 7)] {
            let process = Some(ProcessId(process));
            counters.add(&Counter { time, process, kind: CounterKind::Rss, instance: 0, value });
        }
        let end =
            |time| Process { end: Some(ProcessEnd { time, ..ProcessEnd::default() }), ..Process::default() };
        let slice = |time| Slice { end: Instant { position: 0, time }, ..Slice::default() };
        let slices = [10, 20, 30, 40, 50].map(slice);
        assert_eq!(resident(&counters, &[end(35), end(90)], &slices), [100, 300, 57, 57, 7]);
        assert!(resident(&Counters::default(), &[], &slices).is_empty());
    }
}
