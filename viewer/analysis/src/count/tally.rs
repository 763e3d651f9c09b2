//! Sums of single blocks, apart from those of a profile.

use super::estimate::{Estimator, Rounding};
use crate::base::cost::Amount;
use crate::base::spread::Spread;
use capture::Sampling;

/// A sum of blocks, each counted as the blocks that it stands for if the capture is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    estimator: Estimator,
    sum: Amount,
    spread: Spread,
}

impl Tally {
    /// An empty sum, for a capture with this sampling.
    pub fn new(sampling: Option<Sampling>) -> Self {
        Self { estimator: Estimator::new(sampling), sum: Amount::ZERO, spread: Spread::ZERO }
    }

    /// Counts a block.
    // Cost: two adds, and an exponential in sampled captures.
    #[inline]
    pub fn add(&mut self, size: u64) {
        let counted = self.estimator.count(size);
        self.sum += counted.amount;
        self.spread += counted.spread;
    }

    /// Counts `bytes` bytes of a block of this size.
    pub fn add_part(&mut self, size: u64, bytes: u64) {
        let counted = self.estimator.count_part(size, bytes);
        self.sum += counted.amount;
        self.spread += counted.spread;
    }

    /// Adds another sum of the same capture.
    pub fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.spread += other.spread;
    }

    /// The sum, in whole blocks.
    pub fn amount(&self) -> Amount {
        self.estimator.whole(self.sum)
    }

    /// The variances of the sum.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Sums in whole blocks, each of which takes over the rounding error of those before: so they add up to the
    /// rounded total, to within half a block.
    pub fn amounts<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Vec<Amount> {
        let mut rest = 0;
        let rounded =
            tallies.into_iter().map(|tally| Rounding::new(tally.estimator).amount(tally.sum, &mut rest));
        rounded.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that exact sums add up, and that rounded sums of samples add up to the rounded whole.
    #[test]
    fn tallies_add_up() {
        let mut exact = Tally::new(None);
        [3, 4, 5].into_iter().for_each(|size| exact.add(size));
        assert_eq!((exact.amount(), exact.spread()), (Amount { blocks: 3, bytes: 12 }, Spread::ZERO));

        let sampling = Sampling::new(64 << 10);
        let (mut whole, mut parts) = (Tally::new(sampling), Vec::new());
        for size in (1..100_u64).map(|number| number << 10) {
            let mut part = Tally::new(sampling);
            part.add(size);
            whole.merge(&part);
            parts.push(part);
        }
        let sum = Tally::amounts(&parts).into_iter().fold(Amount::ZERO, |sum, amount| sum + amount);
        assert!(
            (sum.blocks - whole.amount().blocks).abs() <= 1 && sum.bytes == whole.amount().bytes,
            "{sum:?}"
        );
        assert!(whole.spread().blocks > 0.0);
    }
}
