//! CPU samples, each with the CPU time of its thread since the last one.
//!
//! ```text
//!  requested   1 ms   1 ms   1 ms         1 ms        a sample stands for this much work
//!  sample   ────●──────●────●──────────────●──►
//!  reported     1      1   0.6            1.4         never more than the time elapsed; the rest comes later
//! ```
//!
//! Beyond [`MOST_SAMPLES`], the samples of one stack in each slice of time are merged, with their number as the
//! weight.

use super::tracks::{TrackId, Tracks};
use crate::events::{counted_samples, end, sample_interval};
use capture::NodeId;
use engine::{Error, Events, Loaded};
use fxprof_processed_profile::CpuDelta;
use std::collections::{BTreeMap, HashMap};

/// Most samples that the profiler can show individually.
const MOST_SAMPLES: i64 = 1 << 19;

/// Slices of time, if there are more.
const SLICES: u64 = 1000;

/// Adds those of all threads.
pub(super) fn add<'a>(tracks: &mut Tracks<'a>, loaded: &'a Loaded, events: &dyn Events) -> Result<(), Error> {
    let tables = &loaded.tables;
    let of_cycles = loaded.counts_cycles();
    let interval = sample_interval(loaded);
    let is_summed = loaded.profile.total.cpu.blocks > MOST_SAMPLES;
    let mut slice = Slice::new((end(loaded) / SLICES).max(1));
    for (process, sample) in counted_samples(loaded, events)? {
        let Some(task) = tables.tasks.get(sample.task.index()) else { continue };
        let track = tracks.thread(process, task.tid, &task.name, sample.time);
        // How long a cycle takes is unknown, but samples were requested at this interval.
        let worked = if of_cycles { interval } else { sample.weight };
        if is_summed {
            slice.over(sample.time, |row| row.add(tracks));
            slice.add(track, sample.stack, worked);
        } else {
            let (node, time) = (sample.stack, sample.time);
            Row { track, node, time, samples: 1, worked }.add(tracks);
        }
    }
    slice.over(u64::MAX, |row| row.add(tracks));
    Ok(())
}

/// A row of the profile's table.
struct Row {
    track: TrackId,
    node: NodeId,
    time: u64,
    samples: i32,
    /// Nanoseconds.
    worked: u64,
}

impl Row {
    fn add(&self, tracks: &mut Tracks<'_>) {
        let stack = tracks.stack(self.track, self.node);
        tracks.add_samples(self.track, self.time, stack, self.worked, self.samples);
    }
}

/// The CPU time of a thread.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The time of its last sample.
    last: u64,
    /// CPU time that was not reported yet, in nanoseconds.
    owed: u64,
}

impl Work {
    /// For a thread that begins at this time.
    pub(super) fn since(time: u64) -> Self {
        Self { last: time, owed: 0 }
    }

    /// This time, or that of the last sample if it is later.
    pub(super) fn reached(&self, time: u64) -> u64 {
        time.max(self.last)
    }

    /// The CPU time to report for a sample at this time, in whole microseconds, since the profile has no smaller
    /// unit.
    pub(super) fn delta(&mut self, time: u64, worked: u64) -> CpuDelta {
        let all = self.owed.saturating_add(worked);
        let reported = all.min(time.saturating_sub(self.last)) / 1000 * 1000;
        (self.last, self.owed) = (self.reached(time), all - reported);
        CpuDelta::from_nanos(reported)
    }
}

/// The samples in a slice of time by thread and stack.
struct Slice {
    length: u64,
    /// When it ends.
    end: u64,
    rows: BTreeMap<(TrackId, NodeId), (i32, u64)>,
}

impl Slice {
    fn new(length: u64) -> Self {
        Self { length, end: length, rows: BTreeMap::new() }
    }

    fn add(&mut self, track: TrackId, node: NodeId, worked: u64) {
        let (samples, sum) = self.rows.entry((track, node)).or_default();
        *samples = samples.saturating_add(1);
        *sum = sum.saturating_add(worked);
    }

    /// Ends the slice if it is over at this time. The rows of a thread follow each other within it, each as long as
    /// its share.
    fn over(&mut self, time: u64, mut tell: impl FnMut(Row)) {
        if time < self.end {
            return;
        }
        let mut sums: HashMap<TrackId, u64> = HashMap::new();
        for ((track, _), (samples, _)) in &self.rows {
            *sums.entry(*track).or_default() += u64::from(samples.unsigned_abs());
        }
        let start = self.end - self.length;
        let mut before: HashMap<TrackId, u64> = HashMap::new();
        for ((track, node), (samples, worked)) in std::mem::take(&mut self.rows) {
            let so_far = before.entry(track).or_default();
            *so_far += u64::from(samples.unsigned_abs());
            let part = u128::from(self.length) * u128::from(*so_far) / u128::from(sums[&track].max(1));
            let time = start + u64::try_from(part).unwrap_or(self.length);
            tell(Row { track, node, time, samples, worked });
        }
        self.end = (time / self.length).saturating_add(1).saturating_mul(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no more work is reported than time has elapsed, and that the rest is reported later.
    #[test]
    fn work_fits_into_its_time() {
        let mut work = Work::since(0);
        let told = [(1_000_000, 1_000_000), (1_400_500, 1_000_000), (1_400_500, 500), (9_000_000, 1_000_000)]
            .map(|(time, worked)| work.delta(time, worked));
        assert_eq!(told, [1000, 400, 0, 1600].map(CpuDelta::from_micros));
        assert_eq!((work.last, work.owed), (9_000_000, 500));
    }

    /// Check that the rows of a slice share its time in proportion to their samples, and that none is lost between
    /// slices.
    #[test]
    fn slices_hold_all_samples() {
        let mut slice = Slice::new(100);
        let track = TrackId::default();
        let mut rows = Vec::new();
        for (time, node) in [(10, 1), (20, 2), (90, 1), (95, 1), (250, 3)] {
            slice.over(time, |row| rows.push((row.time, row.node.0, row.samples, row.worked)));
            slice.add(track, NodeId(node), 7);
        }
        slice.over(u64::MAX, |row| rows.push((row.time, row.node.0, row.samples, row.worked)));
        assert_eq!(rows, [(75, 1, 3, 21), (100, 2, 1, 7), (300, 3, 1, 7)]);
    }
}
