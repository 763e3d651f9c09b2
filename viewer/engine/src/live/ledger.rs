//! The numbers of rows at the three moments that a reading compares.
//!
//! ```text
//!   since ───────────── before ── now          rows keep their places, new ones are appended
//!     └─── growth ────────────────┘
//!                         └ step ─┘
//! ```

use super::figures::{Change, Figures};

/// The numbers of rows at one moment.
#[derive(Clone, Debug, Default)]
struct Mark {
    /// Nanoseconds on the caller's clock.
    time: u64,
    rows: Vec<Figures>,
}

impl Mark {
    /// Rows that did not exist yet count as zero.
    fn row(&self, place: usize) -> Figures {
        self.rows.get(place).copied().unwrap_or_default()
    }
}

/// The three moments. Memory: three times the numbers of all rows.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    since: Mark,
    before: Mark,
    now: Mark,
}

impl Ledger {
    /// Records the numbers of all rows. A second look at the same time replaces the first.
    pub(super) fn look(&mut self, time: u64, rows: impl Iterator<Item = Figures>) {
        if time > self.now.time {
            std::mem::swap(&mut self.before, &mut self.now);
            self.now.time = time;
        }
        self.now.rows.clear();
        self.now.rows.extend(rows);
    }

    /// Makes the last look the beginning of growth.
    pub(super) fn reset(&mut self) {
        self.since.clone_from(&self.now);
    }

    /// The change of each row, in order.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.now.rows.iter().enumerate().map(|(place, now)| Change {
            now: *now,
            step: *now - self.before.row(place),
            since: *now - self.since.row(place),
        })
    }

    /// When the last look was.
    pub(super) fn time(&self) -> u64 {
        self.now.time
    }

    /// Nanoseconds between the last look and the one before.
    pub(super) fn step(&self) -> u64 {
        self.now.time - self.before.time
    }

    /// Nanoseconds since the beginning of growth.
    pub(super) fn age(&self) -> u64 {
        self.now.time - self.since.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Amount;
    use proptest::prelude::*;

    fn figures(bytes: i64) -> Figures {
        let amount = Amount { blocks: bytes / 8, bytes };
        Figures { held: amount, allocated: amount, ..Figures::default() }
    }

    fn held(change: &Change) -> [i64; 3] {
        [change.now.held.bytes, change.step.held.bytes, change.since.held.bytes]
    }

    /// Check the effect of rows that appear late, of a correction and of a reset.
    #[test]
    fn changes_are_between_looks() {
        let mut ledger = Ledger::default();
        let look = |ledger: &mut Ledger, time, rows: &[i64]| {
            ledger.look(time, rows.iter().map(|bytes| figures(*bytes)));
            ledger.changes().map(|change| held(&change)).collect::<Vec<_>>()
        };
        assert_eq!(look(&mut ledger, 10, &[100]), [[100, 100, 100]]);
        assert_eq!(look(&mut ledger, 20, &[80, 7]), [[80, -20, 80], [7, 7, 7]]);
        assert_eq!(look(&mut ledger, 20, &[90, 7]), [[90, -10, 90], [7, 7, 7]]);
        ledger.reset();
        assert_eq!(look(&mut ledger, 50, &[95, 7, 1]), [[95, 5, 5], [7, 0, 0], [1, 1, 1]]);
        assert_eq!((ledger.time(), ledger.step(), ledger.age()), (50, 30, 30));
    }

    proptest! {
        /// Check that steps between two resets add up to the growth, whatever rows do and whenever they appear.
        #[test]
        fn steps_add_up(looks in prop::collection::vec((1..5_u64, prop::collection::vec(-1000..1000_i64, 0..6), any::<bool>()), 1..20)) {
            let (mut ledger, mut time, mut rows) = (Ledger::default(), 0, Vec::new());
            let mut sums: Vec<i64> = Vec::new();
            for (pause, changes, resets) in looks {
                time += pause;
                rows.resize(changes.len().max(rows.len()), 0);
                changes.iter().zip(&mut rows).for_each(|(change, row)| *row += change);
                ledger.look(time, rows.iter().map(|bytes| figures(*bytes)));
                sums.resize(rows.len(), 0);
                for (sum, change) in sums.iter_mut().zip(ledger.changes()) {
                    *sum += change.step.held.bytes;
                    prop_assert_eq!(change.since.held.bytes, *sum);
                }
                if resets {
                    ledger.reset();
                    sums.fill(0);
                }
            }
        }
    }
}
