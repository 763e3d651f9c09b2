//! Times as lines: most programs allocate at a steady pace for a while, so that where a stretch begins and ends says
//! when each of its events was, within a microsecond.
//!
//! ```text
//!   time │            ·o         o  knots, stored
//!        │        · ·            ·  events, each at most 1 µs beside its line
//!        │     o·
//!        │  · ·
//!        └──────────────► number of the event
//! ```
//!
//! A line begins where the one before ended, and goes on as long as there is a slope with which it passes all events
//! closely enough (the swing filter of Elmeleegy and others, 2009): each event narrows the range of such slopes, and the
//! one that leaves none begins the next line. Times that go forward are stored as times that go forward.

use crate::error::Malformed;
use crate::format::{MAX_EVENTS, TIME_UNIT_NS};
use crate::varint;

/// Nanoseconds: knots lie at multiples of this.
const UNIT: u64 = 125;

/// Nanoseconds that a line may pass beside an event; what the rounding of its end adds keeps it below a microsecond.
const CLOSE: f64 = 900.0;
const _: () = assert!(CLOSE as u64 + UNIT / 2 + 2 < TIME_UNIT_NS);

/// Nanoseconds that a line of several events spans at most, so that slopes are exact enough.
const FAR: u64 = 1 << 50;

/// Nanoseconds up to which a line may pass above an event and still be a time.
const LATEST: u64 = u64::MAX / 2;

/// Makes lines of times.
#[derive(Debug)]
pub(super) struct LineWriter {
    /// Where the line begins, in units.
    from: u64,
    /// Events on it.
    count: u64,
    /// Time of the last of them.
    last: u64,
    /// The slopes with which it passes all of them, nanoseconds for each event.
    low: f64,
    high: f64,
}

impl LineWriter {
    pub(super) const START: Self =
        LineWriter { from: 0, count: 0, last: 0, low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Adds the time of the next event.
    // Cost: a division, and two comparisons that seldom say that the line ends.
    #[inline(always)]
    pub(super) fn push(&mut self, time: u64, column: &mut Vec<u8>) {
        let (low, high) = narrower(self.slopes(time), (self.low, self.high));
        if low <= high {
            (self.count, self.last, self.low, self.high) = (self.count + 1, time, low, high);
        } else {
            self.begin(time, column);
        }
    }

    /// Begins a line at the end of the one before.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, time: u64, column: &mut Vec<u8>) {
        self.end(column);
        let (low, high) = self.slopes(time);
        (self.count, self.last, self.low, self.high) = (1, time, low, high);
    }

    /// The slopes of lines that do not fall and pass the next event closely; none when it is too far away.
    #[inline(always)]
    fn slopes(&self, time: u64) -> (f64, f64) {
        let start = self.from.wrapping_mul(UNIT);
        if time.abs_diff(start) >= FAR || time > LATEST {
            return (f64::INFINITY, f64::NEG_INFINITY);
        }
        let distance = time.wrapping_sub(start).cast_signed() as f64;
        let share = 1.0 / (self.count.cast_signed() + 1) as f64;
        let (low, high) = ((distance - CLOSE) * share, (distance + CLOSE) * share);
        (if low > 0.0 { low } else { 0.0 }, high)
    }

    /// Ends the line, if there is one.
    #[cold]
    pub(super) fn end(&mut self, column: &mut Vec<u8>) {
        let to = match self.count {
            0 => return,
            // As it is, unless the line before has passed above it: times do not fall for that.
            1 if self.from.wrapping_mul(UNIT).wrapping_sub(self.last) < TIME_UNIT_NS => self.from,
            1 => self.last / UNIT,
            count => {
                let rise = (self.low + self.high) / 2.0 * count as f64;
                // Rounded: it does not fall.
                self.from.wrapping_add((rise / UNIT as f64 + 0.5) as u64)
            }
        };
        varint::put(column, self.count - 1);
        varint::put_delta(column, self.from, to);
        (self.from, self.count) = (to, 0);
    }
}

/// The slopes that are in both ranges.
// Not `max` and `min`, which ask whether a number is none.
#[inline(always)]
fn narrower((low, high): (f64, f64), (least, most): (f64, f64)) -> (f64, f64) {
    (if low > least { low } else { least }, if high < most { high } else { most })
}

/// Reads times from lines.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// Time of the last event, nanoseconds.
    time: u64,
    /// Events that are left on the line, and how many it had.
    left: u64,
    count: u64,
    /// Nanoseconds from each event to the next: whole ones, and `rest` of `count`.
    step: u64,
    rest: u64,
    /// What the rests have come to.
    sum: u64,
}

impl LineReader {
    /// The time of the next event.
    // Cost: two additions and a comparison.
    #[inline(always)]
    pub(super) fn next(&mut self, column: &mut &[u8]) -> Result<u64, Malformed> {
        if self.left == 0 {
            self.begin(column)?;
        }
        self.left -= 1;
        self.sum += self.rest;
        let carry = self.sum >= self.count;
        self.sum -= if carry { self.count } else { 0 };
        self.time = self.time.wrapping_add(self.step).wrapping_add(carry.into());
        Ok(self.time)
    }

    fn begin(&mut self, column: &mut &[u8]) -> Result<(), Malformed> {
        let count = varint::take(column)?.saturating_add(1);
        if count > MAX_EVENTS as u64 {
            return Err(Malformed("a line of times has more events than a chunk"));
        }
        let rise = varint::take_delta(column, 0)?.wrapping_mul(UNIT).cast_signed();
        (self.left, self.count, self.sum) = (count, count, 0);
        // Rounded down, so that the rest is not negative.
        self.step = rise.div_euclid(count.cast_signed()).cast_unsigned();
        self.rest = rise.rem_euclid(count.cast_signed()).cast_unsigned();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(times: &[u64]) -> Vec<u8> {
        let (mut writer, mut column) = (LineWriter::START, Vec::new());
        times.iter().for_each(|time| writer.push(*time, &mut column));
        writer.end(&mut column);
        column
    }

    fn decode(mut column: &[u8], count: usize) -> Vec<u64> {
        let mut reader = LineReader::default();
        let times = (0..count).map(|_| reader.next(&mut column).unwrap()).collect();
        assert!(column.is_empty());
        times
    }

    /// Check that a steady pace takes one line, and a pause one more.
    #[test]
    fn steady_pace_takes_one_line() {
        let mut times: Vec<u64> = (0..1000).map(|event| 5_000_000 + event * 130 + event % 7 * 90).collect();
        assert!(encode(&times).len() < 12, "{:?}", encode(&times));
        times.extend((0..1000).map(|event| 9_000_000 + event * 130));
        assert!(encode(&times).len() < 24, "{:?}", encode(&times));
    }

    /// Check that the bytes are those of the format's example.
    #[test]
    fn example_has_these_bytes() {
        // 12 units from 0, then 60 more.
        assert_eq!(encode(&[1_500, 9_010]), [0, 24, 0, 120]);
        assert_eq!(decode(&[0, 24, 0, 120], 2), [1_500, 9_000]);
        // One line of 62 units: 31 for each.
        assert_eq!(encode(&[3_900, 7_700]), [1, 124]);
        assert_eq!(decode(&[1, 124], 2), [3_875, 7_750]);
    }

    proptest! {
        /// Check that all times come back within a microsecond, and in order when they were in order.
        #[test]
        fn times_come_back_closely(
            pauses in proptest::collection::vec(prop_oneof![8 => 0u64..300, 1 => 0u64..5_000, 1 => 0u64..1 << 60], 0..400),
            jumps in proptest::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..3),
        ) {
            let mut times: Vec<u64> = pauses.iter().scan(0u64, |time, pause| {
                *time = time.saturating_add(*pause);
                Some(*time)
            }).collect();
            let found = decode(&encode(&times), times.len());
            prop_assert!(found.is_sorted(), "{found:?}");
            for (index, time) in jumps {
                if !times.is_empty() {
                    let place = index.index(times.len());
                    times[place] = time;
                }
            }
            let found = decode(&encode(&times), times.len());
            for (found, time) in found.iter().zip(&times) {
                prop_assert!(found.abs_diff(*time) < TIME_UNIT_NS, "{found} for {time}");
            }
        }

        /// Check that any bytes give times or an error.
        #[test]
        fn any_bytes_give_times_or_an_error(bytes: Vec<u8>) {
            let (mut reader, mut column) = (LineReader::default(), bytes.as_slice());
            for _ in 0..1000 {
                if reader.next(&mut column).is_err() {
                    break;
                }
            }
        }
    }
}
