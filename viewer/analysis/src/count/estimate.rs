//! Estimates all allocations from the sampled ones.
//!
//! Where everything was recorded, a block counts as itself. A sample counts as the blocks that it stands for
//! ([`capture::Sampling`]), which is not a whole number. While events are counted, blocks are therefore kept in units
//! of 1/65536, so that the end of a block subtracts exactly what its birth added. At the end each row is rounded to
//! whole blocks, and the rounding error is passed on to the next row:
//!
//! ```text
//!  estimated  1.58  1.58  1.58  1.58      sum 6.32
//!  rounded    2     1     2     1         sum 6, not 8
//!  passed on  −.42  +.16  −.26  +.32
//! ```
//!
//! So sums over rows match the estimates to within half a block, and no row is off by more than one.

use crate::base::cost::{Amount, Cost};
use crate::base::spread::Spread;
use capture::Sampling;

/// log₂ of the units per block in a sampled capture.
const UNIT: u32 = 16;

/// What a block adds to sums: an amount and its variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) amount: Amount,
    pub(crate) spread: Spread,
}

/// How much the blocks of a capture count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimator {
    sampling: Option<Sampling>,
}

impl Estimator {
    pub(crate) fn new(sampling: Option<Sampling>) -> Self {
        Self { sampling }
    }

    /// True when amounts are estimates.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sampling.is_some()
    }

    /// What a block of this size counts.
    #[inline]
    pub(crate) fn count(&self, size: u64) -> Counted {
        match self.sampling {
            None => Counted { amount: Amount::block(size), spread: Spread::ZERO },
            Some(sampling) => sample(sampling, size, size),
        }
    }

    /// What `bytes` bytes of a block of this size count.
    pub(crate) fn count_part(&self, size: u64, bytes: u64) -> Counted {
        match self.sampling {
            None => Counted { amount: Amount::block(bytes), spread: Spread::ZERO },
            Some(sampling) => sample(sampling, size, bytes),
        }
    }

    /// A number of whole blocks in the units in which others are added to it.
    pub(crate) fn unrounded(&self, whole: Amount) -> Amount {
        match self.sampling {
            None => whole,
            Some(_) => Amount { blocks: whole.blocks.wrapping_shl(UNIT), ..whole },
        }
    }

    /// A single sum, in whole blocks.
    pub(crate) fn whole(&self, amount: Amount) -> Amount {
        Rounding::new(*self).amount(amount, &mut 0)
    }
}

// Inlined, so that what is counted stays in registers. A function would return it in memory, and then the sum of an
// unsampled block, too, would wait until two stores of 8 bytes can be loaded as 16.
#[inline(always)]
fn sample(sampling: Sampling, size: u64, bytes: u64) -> Counted {
    let weight = sampling.weight(size);
    let bytes = bytes as f64;
    let units = f64::from(1 << UNIT);
    Counted {
        // Forged files may have sizes that overflow either number; the conversion saturates then.
        amount: Amount {
            blocks: (weight.blocks * units).round() as i64,
            bytes: (weight.blocks * bytes).round() as i64,
        },
        spread: Spread { blocks: weight.variance, bytes: weight.variance * bytes * bytes },
    }
}

/// Rounds the rows of a capture to whole blocks, one after the other.
#[derive(Debug)]
pub(crate) struct Rounding {
    is_sampled: bool,
    /// The rounding error of the previous rows, in units.
    rest: Cost<i64>,
}

impl Rounding {
    pub(crate) fn new(estimator: Estimator) -> Self {
        Self { is_sampled: estimator.is_sampled(), rest: Cost::default() }
    }

    /// Rounds the next row.
    pub(crate) fn row(&mut self, cost: Cost) -> Cost {
        if !self.is_sampled {
            return cost;
        }
        let mut rest = self.rest;
        let rounded = Cost {
            allocated: self.amount(cost.allocated, &mut rest.allocated),
            freed: self.amount(cost.freed, &mut rest.freed),
            temporary: self.amount(cost.temporary, &mut rest.temporary),
            frees: self.amount(cost.frees, &mut rest.frees),
            peak: self.amount(cost.peak, &mut rest.peak),
            leaked: self.amount(cost.leaked, &mut rest.leaked),
            uncertain: self.amount(cost.uncertain, &mut rest.uncertain),
            at_exec: self.amount(cost.at_exec, &mut rest.at_exec),
            // CPU samples are counted one by one, however allocations were sampled.
            cpu: cost.cpu,
        };
        self.rest = rest;
        rounded
    }

    pub(crate) fn amount(&self, amount: Amount, rest: &mut i64) -> Amount {
        // A row without blocks stays at zero, whatever the rest.
        if !self.is_sampled || amount.blocks == 0 {
            return amount;
        }
        let units = amount.blocks.wrapping_add(*rest);
        let blocks = units.wrapping_add(1 << (UNIT - 1)) >> UNIT;
        *rest = units.wrapping_sub(blocks << UNIT);
        Amount { blocks, bytes: amount.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimator(interval: u64) -> Estimator {
        Estimator::new(Sampling::new(interval))
    }

    fn rounded(interval: u64, rows: &[&[u64]]) -> Vec<i64> {
        let estimator = estimator(interval);
        let mut rounding = Rounding::new(estimator);
        let sum =
            |sizes: &&[u64]| sizes.iter().fold(Amount::ZERO, |sum, size| sum + estimator.count(*size).amount);
        rows.iter()
            .map(|sizes| rounding.row(Cost { leaked: sum(sizes), ..Cost::default() }).leaked.blocks)
            .collect()
    }

    /// Check the picture above, that a row without blocks stays at zero, and that exact rows stay as they are.
    #[test]
    fn rows_share_what_rounding_leaves() {
        let one: &[u64] = &[1000];
        assert_eq!(rounded(1000, &[one, one, one, &[], one]), [2, 1, 2, 0, 1]);
        assert_eq!(rounded(0, &[one, &[1, 2, 3], &[]]), [1, 3, 0]);
    }

    /// Check that each number of a row is rounded by itself: its error goes to the same number of the next row.
    #[test]
    fn numbers_of_a_row_are_rounded_apart() {
        let estimator = estimator(1000);
        let one = estimator.count(1000).amount;
        let mut rounding = Rounding::new(estimator);
        let row = Cost {
            allocated: one,
            freed: one,
            temporary: one,
            frees: one,
            peak: one,
            leaked: one,
            uncertain: one,
            at_exec: one,
            ..Cost::default()
        };
        for blocks in [2, 1, 2, 1] {
            let Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, .. } =
                rounding.row(row);
            let numbers = [allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec];
            assert_eq!(numbers.map(|amount| amount.blocks), [blocks; 8]);
        }
    }

    /// Check that a block of many intervals counts as itself, and a small one as those that it stands for.
    #[test]
    fn samples_count_as_what_they_stand_for() {
        let large = estimator(1000).count(50_000);
        assert_eq!(
            large,
            Counted { amount: Amount { blocks: 1 << UNIT, bytes: 50_000 }, spread: Spread::ZERO }
        );
        let small = estimator(1 << 20).count(16);
        assert_eq!(small.amount.bytes, (1 << 20) + 8);
        assert_eq!(small.amount.blocks >> UNIT, 65_536);
        assert_eq!((small.spread.blocks_error(), small.spread.bytes_error()), (65_536, 1 << 20));
        assert_eq!(estimator(0).count(7), Counted { amount: Amount::block(7), spread: Spread::ZERO });
    }

    proptest! {
        /// Check that sums over rounded rows match the estimates, and that no row is off by more than one.
        #[test]
        fn rounded_rows_add_up(sizes in prop::collection::vec(prop::collection::vec(1..100_000u64, 1..4), 1..100), interval in 1..50_000u64) {
            let estimator = estimator(interval);
            let rows: Vec<&[u64]> = sizes.iter().map(Vec::as_slice).collect();
            let found = rounded(interval, &rows);
            let exact = |row: &[u64]| row.iter().map(|size| estimator.count(*size).amount.blocks).sum::<i64>() as f64 / 65_536.0;
            for (row, found) in rows.iter().zip(&found) {
                prop_assert!((exact(row) - *found as f64).abs() <= 1.0);
                prop_assert!(*found >= 1);
            }
            let sum: f64 = rows.iter().map(|row| exact(row)).sum();
            prop_assert!((sum - found.iter().sum::<i64>() as f64).abs() <= 0.501);
        }

        /// Check that the end of a block subtracts what its birth added, to the last unit, in any order.
        #[test]
        fn blocks_leave_as_they_came(sizes in prop::collection::vec(0..1u64 << 40, 0..50), interval in 1..1u64 << 40) {
            let estimator = estimator(interval);
            let mut sum = Amount::ZERO;
            sizes.iter().for_each(|size| sum += estimator.count(*size).amount);
            sizes.iter().rev().for_each(|size| sum -= estimator.count(*size).amount);
            prop_assert_eq!(sum, Amount::ZERO);
        }
    }
}
