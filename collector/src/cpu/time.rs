//! Converts times of records into the ticks that agents record.
//!
//! The kernel's own clock is linear in the time stamp counter, and the ring's first page has the coefficients. If it
//! has none (as on a virtual machine that uses its host's clock), records carry `CLOCK_MONOTONIC_RAW`, and a pair of
//! that clock and the counter is taken whenever the rings are read; between two pairs, times are interpolated.
//!
//! ```text
//!   ticks │           ·────── pair of this round
//!         │        ×          a sample in between
//!         │     ·──────────── pair of the round before
//!         └─────────────────► CLOCK_MONOTONIC_RAW
//! ```

use super::event::RecordClock;
use super::ring::Conversion;
use crate::base::clock::{Clock, Pair};
use std::collections::VecDeque;

/// Pairs that are kept: those of the last seconds.
const PAIRS: usize = 32;

/// Converts times of records into ticks.
#[derive(Debug)]
pub(super) struct Times {
    conversion: Option<Conversion>,
    pairs: VecDeque<Pair>,
    /// Longest time that reading a pair took, in ticks: by so much the two clocks may be apart.
    window: u64,
}

impl Times {
    /// For records of this clock; the conversion comes from the ring's page.
    pub(super) fn new(clock: RecordClock, conversion: Option<Conversion>) -> Times {
        let conversion = conversion.filter(|_| clock == RecordClock::Native);
        Times { conversion, pairs: VecDeque::new(), window: 0 }
    }

    /// Takes a pair, before the rings are read.
    pub(super) fn measure(&mut self, clock: &Clock) {
        if self.conversion.is_none() {
            self.add(clock.pair());
        }
    }

    fn add(&mut self, pair: Pair) {
        self.window = self.window.max(pair.window);
        self.pairs.push_back(pair);
        if self.pairs.len() > PAIRS {
            self.pairs.pop_front();
        }
    }

    /// The ticks of a record's time.
    pub(super) fn ticks(&self, time: u64) -> u64 {
        if let Some(Conversion { zero, mult, shift }) = self.conversion {
            return (u128::from(time.saturating_sub(zero)) << shift).checked_div(mult.into()).unwrap_or(0)
                as u64;
        }
        let (Some(&first), Some(&last)) = (self.pairs.front(), self.pairs.back()) else { return 0 };
        let after = self.pairs.iter().position(|pair| pair.raw_ns >= time);
        let (from, to) = match after {
            // Before the first or after the last pair: along the longest line there is.
            Some(0) | None => (first, last),
            Some(after) => (self.pairs[after - 1], self.pairs[after]),
        };
        let rate = match to.raw_ns.saturating_sub(from.raw_ns) {
            0 => 1.0,
            distance => to.ticks.saturating_sub(from.ticks) as f64 / distance as f64,
        };
        let distance = time.wrapping_sub(to.raw_ns).cast_signed() as f64;
        to.ticks.saturating_add_signed((distance * rate) as i64)
    }

    /// Ticks by which a converted time may be wrong.
    pub(super) fn error(&self) -> u64 {
        // The kernel rounds to nanoseconds, each of which is at most a handful of ticks.
        if self.conversion.is_some() { 8 } else { self.window + 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that the page's conversion is inverted exactly, up to whole nanoseconds.
        #[test]
        fn conversion_is_turned_round(ticks in 0u64..1 << 52, zero: u32, mult in 1u32 << 28..1 << 31) {
            let conversion = Conversion { zero: zero.into(), mult, shift: 31 };
            let time = u64::from(zero) + ((u128::from(ticks) * u128::from(mult)) >> 31) as u64;
            let times = Times::new(RecordClock::Native, Some(conversion));
            let found = times.ticks(time);
            prop_assert!(found <= ticks && ticks - found <= times.error(), "{} for {}", found, ticks);
        }

        /// Check that times between pairs of clocks that run at a steady rate are converted in order and within the
        /// stated error.
        #[test]
        fn times_between_pairs_are_exact(rate in 0.5f64..5.0, steps in prop::collection::vec(1u64..200_000_000, 2..50)) {
            let mut times = Times::new(RecordClock::Raw, None);
            let (mut now, mut before) = (1_000_000_000u64, 0);
            let at = |raw: u64| (raw as f64 * rate) as u64;
            times.add(Pair { ticks: at(now), raw_ns: now, window: 10 });
            for step in steps {
                let middle = now + step / 2;
                now += step;
                times.add(Pair { ticks: at(now), raw_ns: now, window: 10 });
                for raw in [middle, now] {
                    let found = times.ticks(raw);
                    prop_assert!(found.abs_diff(at(raw)) <= times.error(), "{} at {}", found, raw);
                    prop_assert!(found >= before);
                    before = found;
                }
            }
        }
    }
}
