//! Times as lines: most programs allocate at a steady pace for a while, so the beginning and end of such a stretch
//! give the time of each of its events to within a microsecond.
//!
//! ```text
//!   time │            ·o         o  knots, stored
//!        │        · ·            ·  events, each at most 1 µs beside its line
//!        │     o·
//!        │  · ·
//!        └──────────────► number of the event
//! ```
//! A line begins where the last one ended, and goes on as long as some slope passes close enough to all its events
//! (the swing filter of Elmeleegy and others, 2009): each event narrows the range of such slopes, and the event that
//! leaves none ends the line. Times that never go back are stored as times that never go back.
//!
//! What makes a knot expensive is digits that nobody needs. So a line ends at the last event at which one of its
//! slopes leads to a multiple of [`GRID`], if that is not far back, and the events after it begin the next line.
//! Compressed, times take a third to two thirds less than if lines were as long as possible and ended at the mean
//! slope; 2 to 14 % of the events are looked at twice.

use crate::error::Malformed;
use crate::format::{MAX_EVENTS, TIME_UNIT_NS};
use crate::varint;

/// Nanoseconds: knots lie at multiples of this.
const UNIT: u64 = 125;

/// Nanoseconds: nearly all knots lie at multiples of this, the widest grid that has a point near each event.
const GRID: u64 = 2 * TIME_UNIT_NS;
const _: () = assert!(GRID.is_multiple_of(UNIT));

/// Nanoseconds by which a line may miss an event; with the reader's rounding down this stays below a microsecond.
const CLOSE: f64 = 998.0;
const _: () = assert!(CLOSE as u64 + 1 < TIME_UNIT_NS);

/// Most events of a line.
const LONGEST: usize = 1024;

/// Most events of a line that are left to the next one, which looks at them again.
const BACK: usize = 64;

/// Most nanoseconds that a line of several events spans, so that slopes are exact enough.
const FAR: u64 = 1 << 50;

/// Latest time of an event on a line, nanoseconds: a line that passes above it must still give valid times.
const LATEST: u64 = u64::MAX / 2;

/// Makes lines of times.
#[derive(Debug)]
pub(super) struct LineWriter {
    /// Where the line begins, in units.
    from: u64,
    /// The slopes that pass all events of the line.
    slopes: Slopes,
    /// The events of the line.
    passed: Vec<Passed>,
}

/// An event on a line.
#[derive(Clone, Copy, Debug)]
struct Passed {
    time: u64,
    /// The slopes that pass this event and those before it.
    slopes: Slopes,
}

/// A range of slopes, in nanoseconds per event; empty where the lowest is above the highest.
#[derive(Clone, Copy, Debug)]
struct Slopes {
    low: f64,
    high: f64,
}

impl Slopes {
    const ALL: Self = Slopes { low: f64::NEG_INFINITY, high: f64::INFINITY };
    const NONE: Self = Slopes { low: f64::INFINITY, high: f64::NEG_INFINITY };

    /// The slopes that are in both ranges.
    // Not `max` and `min`, which also check for NaN.
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Slopes {
            low: if self.low > other.low { self.low } else { other.low },
            high: if self.high < other.high { self.high } else { other.high },
        }
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// The multiple of `grid` nearest to the middle of where the slopes lead after `count` events from `start`, if
    /// one of them leads to it.
    #[inline(always)]
    fn knot(self, start: u64, count: usize, grid: u64) -> Option<u64> {
        let count = count.cast_signed() as f64;
        let (low, high) = (self.low * count, self.high * count);
        let middle = start.saturating_add_signed(((low + high) / 2.0) as i64);
        let knot = middle.saturating_add(grid / 2) / grid * grid;
        let rise = knot.wrapping_sub(start).cast_signed() as f64;
        (low <= rise && rise <= high).then_some(knot)
    }
}

impl LineWriter {
    pub(super) fn new() -> Self {
        LineWriter { from: 0, slopes: Slopes::ALL, passed: Vec::with_capacity(LONGEST + 1) }
    }

    /// Adds the time of the next event.
    // Cost: a division, and two comparisons that rarely end the line.
    #[inline(always)]
    pub(super) fn push(&mut self, time: u64, column: &mut Vec<u8>) {
        let before = self.passed.len();
        let slopes = self.slopes_to(time, before).and(self.slopes);
        self.passed.push(Passed { time, slopes });
        if slopes.is_empty() || before == LONGEST {
            self.settle(before, column);
        } else {
            self.slopes = slopes;
        }
    }

    /// Ends all lines. The next one begins at 0.
    pub(super) fn end(&mut self, column: &mut Vec<u8>) {
        while !self.passed.is_empty() {
            self.put(self.passed.len(), column);
            self.settle(0, column);
        }
        self.from = 0;
    }

    /// Ends lines until all events from number `next` on are on the last one.
    #[inline(never)]
    fn settle(&mut self, mut next: usize, column: &mut Vec<u8>) {
        while let Some(event) = self.passed.get(next) {
            let slopes = self.slopes_to(event.time, next).and(self.slopes);
            if next != 0 && (slopes.is_empty() || next == LONGEST) {
                self.put(next, column);
                next = 0;
            } else {
                self.passed[next].slopes = slopes;
                self.slopes = slopes;
                next += 1;
            }
        }
    }

    /// The slopes of non-falling lines that pass close to the event after the first `before` ones; none when it is
    /// too far away.
    #[inline(always)]
    fn slopes_to(&self, time: u64, before: usize) -> Slopes {
        let start = self.from.wrapping_mul(UNIT);
        if time.abs_diff(start) >= FAR || time > LATEST {
            return Slopes::NONE;
        }
        let distance = time.wrapping_sub(start).cast_signed() as f64;
        let share = 1.0 / (before.cast_signed() + 1) as f64;
        let (low, high) = ((distance - CLOSE) * share, (distance + CLOSE) * share);
        Slopes { low: if low > 0.0 { low } else { 0.0 }, high }
    }

    /// Ends the line, after the first `count` events or fewer.
    fn put(&mut self, count: usize, column: &mut Vec<u8>) {
        let start = self.from.wrapping_mul(UNIT);
        let first = count.saturating_sub(BACK) + 1;
        let knot = [GRID, UNIT].into_iter().find_map(|grid| {
            let mut counts = (first..=count).rev();
            counts.find_map(|count| Some((count, self.passed[count - 1].slopes.knot(start, count, grid)?)))
        });
        let (count, to) = match knot {
            Some((count, knot)) => (count, knot / UNIT),
            // Only the first event: end at its time, or where the last line ended if that is later, so that times do
            // not fall.
            None => {
                let time = self.passed[0].time;
                (1, if start.wrapping_sub(time) < TIME_UNIT_NS { self.from } else { time / UNIT })
            }
        };
        varint::put(column, count as u64 - 1);
        varint::put_delta(column, self.from, to);
        self.passed.drain(..count);
        (self.from, self.slopes) = (to, Slopes::ALL);
    }
}

/// Reads times from lines.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// Time of the last event, nanoseconds.
    time: u64,
    /// Events left on the line, and how many it had.
    left: u64,
    count: u64,
    /// Nanoseconds from one event to the next: the whole part, and `rest` of `count`.
    step: u64,
    rest: u64,
    /// Sum of the rests so far.
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
        let (mut writer, mut column) = (LineWriter::new(), Vec::new());
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

    /// Check that lines have the bytes of the format's example, and that knots lie on the grid.
    #[test]
    fn example_has_these_bytes() {
        // 16 units from 0, then 64 more.
        assert_eq!(encode(&[1_500, 9_010]), [0, 32, 0, 128, 1]);
        assert_eq!(decode(&[0, 32, 0, 128, 1], 2), [2_000, 10_000]);
        // One line of 64 units: 32 for each.
        assert_eq!(encode(&[3_900, 7_700]), [1, 128, 1]);
        assert_eq!(decode(&[1, 128, 1], 2), [4_000, 8_000]);
        // Knots may lie elsewhere.
        assert_eq!(decode(&[0, 24, 1, 80], 3), [1_500, 4_000, 6_500]);
    }

    /// Check that a line ends early where it can end on the grid, that the next one takes the events after that, and
    /// that an event with no multiple nearby keeps its time: 3,000 ns lies between two.
    #[test]
    fn lines_end_on_the_grid() {
        let times = [1_100, 3_000, 20_000];
        assert_eq!(encode(&times), [0, 32, 0, 16, 0, 144, 2]);
        assert_eq!(decode(&encode(&times), 3), [2_000, 3_000, 20_000]);
    }

    /// Check that where no event is near the grid, lines end between its points and are no shorter.
    #[test]
    fn lines_beside_the_grid_are_long() {
        let times: Vec<u64> = (0..4000).map(|event| 3_000 + event * 2_000).collect();
        let column = encode(&times);
        assert!(column.len() < 48, "{column:?}");
        let found = decode(&column, times.len());
        assert!(found.iter().zip(&times).all(|(found, time)| found.abs_diff(*time) < TIME_UNIT_NS));
    }

    /// Check that a pace with pauses takes one line for each stretch and each pause, wherever they lie: what is
    /// stored is bounded by how often the pace changes.
    #[test]
    fn pauses_take_a_line_each() {
        let pause = |stretch: u64| (0..500).map(move |event| (stretch * 9 + 5) * 1_000_000 + event * 130);
        let times: Vec<u64> = (0..8).flat_map(pause).collect();
        let column = encode(&times);
        assert!(column.len() < 8 * 12, "{} bytes", column.len());
        let found = decode(&column, times.len());
        assert!(found.iter().zip(&times).all(|(found, time)| found.abs_diff(*time) < TIME_UNIT_NS));
    }

    /// Check that even the steadiest pace has lines of limited length, which bounds the writer's memory.
    #[test]
    fn lines_have_a_limited_length() {
        let times: Vec<u64> = (1..=4 * LONGEST as u64).map(|event| event * GRID).collect();
        let (mut writer, mut column) = (LineWriter::new(), Vec::new());
        for time in &times {
            writer.push(*time, &mut column);
            assert!(writer.passed.len() <= LONGEST);
        }
        writer.end(&mut column);
        assert_eq!(decode(&column, times.len()), times);
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
