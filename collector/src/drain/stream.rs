//! The words of one ring on their way to a batch: copied in bulk, checked once, moved as slices.
//!
//! ```text
//!   words   │ in a batch already │ checked: whole records in order │ begin of a record that a turn has cut │
//!           0                    merged                            checked
//!   marks                        ·time        ·time        ·time
//! ```
//!
//! Nothing an agent writes is trusted. An unknown opcode or an unfinished record ends the stream. Times that run
//! backwards or lie in the future are corrected in the words themselves, so that later readers need not check again.
//! A mark records the time at a position, so that the end of a run far ahead is found without looking at each record.

use super::merge_key::{LATEST, MergeKey, Rank};
use crate::image::ImageId;
use shared_ring::Corrupt;
use shared_ring::decode::{Shape, decode, shape};
use shared_ring::record::{DELTA_LIMIT, Opcode, Record};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words between two marks: few enough to search quickly from one to the next.
const STRIDE: usize = 512;

/// The time at a position: no record before it is later.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: usize,
    time: u64,
}

/// Records of one ring that are not merged yet.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) image: ImageId,
    pub(crate) ring: u32,
    words: Vec<u64>,
    merged: usize,
    checked: usize,
    /// Shifted ticks of the last record before `merged`.
    merged_time: u64,
    /// Shifted ticks of the last record before `checked`.
    checked_time: u64,
    marks: VecDeque<Mark>,
}

/// Moved records, and the time from which theirs are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<'s> {
    pub(crate) time: u64,
    pub(crate) words: &'s [u64],
}

impl Stream {
    pub(crate) fn new(image: ImageId, ring: u32) -> Stream {
        Stream {
            image,
            ring,
            words: Vec::new(),
            merged: 0,
            checked: 0,
            merged_time: 0,
            checked_time: 0,
            marks: VecDeque::new(),
        }
    }

    /// Appends words of the ring.
    // Cost: a load and a store for each word.
    pub(crate) fn copy(&mut self, part: &[AtomicU64]) {
        // Relaxed: the consumer's load of the head ordered them.
        self.words.extend(part.iter().map(|word| word.load(Ordering::Relaxed)));
    }

    /// Checks what was copied since the last call; returns the number of records. Times later than `now` are set to
    /// it. `is_cut` says that the copy may end within a record. Records about the ring or process, not about memory,
    /// are shown to `notice`, with the time of the record before and their own.
    ///
    /// # Errors
    /// For the first impossible record; those before it are complete.
    // Cost: some 3 ns per record: the time until its length, and so the place of the next record, is known.
    pub(crate) fn check(
        &mut self,
        now: u64,
        is_cut: bool,
        mut notice: impl FnMut(u64, u64, Record),
    ) -> Result<u64, Corrupt> {
        let mut time = self.checked_time;
        let now = now.clamp(time, LATEST);
        let mut at = self.checked;
        let mut next_mark = at + STRIDE;
        let mut records = 0;
        let result = loop {
            let Some(first) = self.words.get(at).copied() else { break Ok(()) };
            let shape = match shape(first) {
                Ok(shape) => shape,
                Err(error) => break Err(error),
            };
            if at + shape.words > self.words.len() {
                break if is_cut { Ok(()) } else { Err(Corrupt::Length) };
            }
            if at >= next_mark {
                self.marks.push_back(Mark { at, time });
                next_mark = at + STRIDE;
            }
            let told = time_of(&self.words, at, shape, time);
            let before = time;
            time = told.clamp(time, now);
            if time != told {
                retell(&mut self.words, at, shape, time - before, time);
            }
            if let Some(opcode) = shape.opcode
                && matches!(opcode, Opcode::Owner | Opcode::Exec | Opcode::ExecFailed)
                && let Some(Ok((_, record, _))) = self.words.get(at..).map(decode)
            {
                notice(before, time, record);
            }
            at += shape.words;
            records += 1;
        };
        self.checked = at;
        self.checked_time = time;
        result.map(|()| records)
    }

    /// Shifted ticks of the last checked record.
    pub(crate) fn time(&self) -> u64 {
        self.checked_time
    }

    /// True when everything checked is merged.
    pub(crate) fn is_empty(&self) -> bool {
        self.merged == self.checked
    }

    /// Words of complete records that are not merged: merging up to the stream's time takes all of them.
    pub(crate) fn waiting(&self) -> usize {
        self.checked - self.merged
    }

    /// The next record's key; [`MergeKey::LAST`] when all are merged.
    pub(crate) fn key(&self) -> MergeKey {
        self.next_at(self.merged, self.merged_time).0
    }

    /// Key and length of the record at `at`.
    #[inline(always)]
    fn next_at(&self, at: usize, before: u64) -> (MergeKey, usize) {
        if at < self.checked
            && let Some(Ok(shape)) = self.words.get(at).map(|first| shape(*first))
        {
            return (MergeKey::new(time_of(&self.words, at, shape, before), Rank::of(shape)), shape.words);
        }
        (MergeKey::LAST, 0)
    }

    /// Moves the next record, and those after it that come before `stop`. Returns what was moved, and the key of the
    /// record after that.
    // Cost: some 3 ns for each record near `stop`, nothing for those far before it.
    #[inline]
    pub(crate) fn move_until(&mut self, stop: MergeKey) -> (Moved<'_>, MergeKey) {
        let (from, time) = (self.merged, self.merged_time);
        let mut at = from;
        let (mut key, mut length) = self.next_at(at, time);
        loop {
            (at, self.merged_time) = (at + length, key.time());
            if let Some(mark) = self.skip_to(at, stop) {
                (at, self.merged_time) = (mark.at, mark.time);
            }
            (key, length) = self.next_at(at, self.merged_time);
            if key >= stop || length == 0 {
                break;
            }
        }
        self.merged = at;
        (Moved { time, words: self.words.get(from..at).unwrap_or(&[]) }, key)
    }

    /// The last mark after `at` whose records come before `stop`.
    #[inline(always)]
    fn skip_to(&mut self, at: usize, stop: MergeKey) -> Option<Mark> {
        let mut last = None;
        while let Some(mark) = self.marks.front().copied()
            && (mark.at <= at || mark.time < stop.time())
        {
            self.marks.pop_front();
            if mark.at > at {
                last = Some(mark);
            }
        }
        last
    }

    /// Drops merged words; keeps `keep` words of capacity.
    pub(crate) fn compact(&mut self, keep: usize) {
        let merged = std::mem::take(&mut self.merged);
        self.words.drain(..merged);
        self.checked -= merged;
        self.marks.iter_mut().for_each(|mark| mark.at -= merged);
        if self.words.capacity() > keep.max(self.words.len() * 2) {
            self.words.shrink_to(keep);
        }
    }
}

/// The time a record claims, given the time before it.
#[inline(always)]
fn time_of(words: &[u64], at: usize, shape: Shape, before: u64) -> u64 {
    let absolute = match shape.opcode {
        Some(Opcode::Time) => words.get(at + 1),
        Some(Opcode::Owner) => words.get(at + 2),
        _ => None,
    };
    absolute.copied().unwrap_or(before.saturating_add(shape.delta))
}

/// Writes another time into a record.
#[cold]
fn retell(words: &mut [u64], at: usize, shape: Shape, delta: u64, time: u64) {
    let place = match shape.opcode {
        Some(Opcode::Time) => at + 1,
        Some(Opcode::Owner) => at + 2,
        _ => at,
    };
    if let Some(word) = words.get_mut(place) {
        *word = if place == at { *word & !(DELTA_LIMIT - 1) | delta & (DELTA_LIMIT - 1) } else { time };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared_ring::record::encode;

    const NOW: u64 = 1_000_000_000;

    fn stream(words: &[u64]) -> Stream {
        let mut stream = Stream::new(ImageId(0), 0);
        stream.words.extend_from_slice(words);
        stream
    }

    fn words_of(record: Record, delta: u64) -> Vec<u64> {
        let (words, length) = encode(record, delta);
        words[..length].to_vec()
    }

    /// The times of all records, as a reader of moved words computes them.
    fn times(moved: Moved<'_>) -> Vec<u64> {
        let (mut at, mut time, mut times) = (0, moved.time, Vec::new());
        while let Some(first) = moved.words.get(at) {
            let shape = shape(*first).unwrap();
            time = time_of(moved.words, at, shape, time);
            at += shape.words;
            times.push(time);
        }
        times
    }

    /// Check that impossible words end a stream after the last valid record.
    #[test]
    fn impossible_words_end_the_stream() {
        let free = words_of(Record::Free { address: 0x10_0000 }, 5);
        let unknown = 4000u64 << 20;
        let half = words_of(Record::Time { time: 7 }, 0)[0];
        for (last, is_cut, expected) in [
            (unknown, false, Err(Corrupt::Opcode)),
            (unknown, true, Err(Corrupt::Opcode)),
            (half, false, Err(Corrupt::Length)),
            (half, true, Ok(1)),
        ] {
            let mut stream = stream(&[free[0], last]);
            assert_eq!(stream.check(NOW, is_cut, |_, _, _| {}), expected, "{last:x} {is_cut}");
            assert_eq!((stream.checked, stream.time()), (1, 5));
        }
    }

    /// Check that records about a process are shown, and no others.
    #[test]
    fn what_processes_say_is_noticed() {
        let said = [Record::Owner { slot: 3, tid: 1, time: 5 }, Record::Exec, Record::ExecFailed];
        let words = said.iter().flat_map(|said| [*said, Record::Free { address: 0x10_0000 }]);
        let words: Vec<u64> = words.flat_map(|record| words_of(record, 0)).collect();
        let mut noticed = Vec::new();
        assert_eq!(stream(&words).check(NOW, false, |_, _, record| noticed.push(record)), Ok(6));
        assert_eq!(noticed, said);
    }

    /// Check that times in the future and in the past are corrected.
    #[test]
    fn impossible_times_are_moved() {
        let free = |delta| words_of(Record::Free { address: 0x10_0000 }, delta);
        let time = |time| words_of(Record::Time { time }, 0);
        let words = [time(90), free(3), time(50), free(4), time(u64::MAX), free(5)].concat();
        let mut stream = stream(&words);
        assert_eq!(stream.check(100, false, |_, _, _| {}), Ok(6));
        let (moved, next) = stream.move_until(MergeKey::LAST);
        assert_eq!(times(moved), [90, 93, 93, 97, 100, 100]);
        assert_eq!(next, MergeKey::LAST);
    }

    proptest! {
        /// Check that arbitrary words, in arbitrary pieces, give ordered records that end where the stream says, and
        /// that moving them in arbitrary steps gives the same words with the same times.
        #[test]
        fn any_words_are_moved_in_order(
            words in proptest::collection::vec(
                prop_oneof![any::<u64>(), (1u64 << 36..1 << 40), (1u64..4096).prop_map(|field| field << 20)], 0..3000),
            cuts in proptest::collection::vec(0..400usize, 0..8),
            stops in proptest::collection::vec(0..NOW, 0..20),
        ) {
            let mut whole = stream(&words);
            let expected = whole.check(NOW, true, |_, _, _| {});
            let mut pieces = stream(&[]);
            let mut rest = words.as_slice();
            let mut records = 0;
            let mut failed = None;
            for cut in cuts.iter().copied().chain([words.len()]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                rest = after;
                pieces.words.extend_from_slice(piece);
                match pieces.check(NOW, true, |_, _, _| {}) {
                    Ok(more) => records += more,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            prop_assert_eq!(failed.map_or(Ok(records), Err), expected);
            prop_assert_eq!((pieces.checked, pieces.checked_time), (whole.checked, whole.checked_time));

            let all = whole.words[..whole.checked].to_vec();
            let all_times = times(Moved { time: 0, words: &all });
            prop_assert!(all_times.is_sorted() && all_times.iter().all(|time| *time <= NOW));
            let (mut moved, mut moved_times) = (Vec::new(), Vec::new());
            for stop in stops.iter().copied().chain([u64::MAX]) {
                let stop = MergeKey::new(stop, Rank::End);
                if pieces.key() < stop {
                    let (part, next) = pieces.move_until(stop);
                    moved.extend_from_slice(part.words);
                    moved_times.extend(times(part));
                    prop_assert!(next >= stop);
                    prop_assert!(moved_times.last().is_none_or(|time| *time <= stop.time()));
                    prop_assert_eq!(next, pieces.key());
                }
                pieces.compact(0);
            }
            prop_assert_eq!(moved, all);
            prop_assert_eq!(moved_times, all_times);
        }
    }
}
