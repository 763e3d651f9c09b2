//! Sums of single blocks, apart from those of a profile.

use super::estimate::{Estimator, Rounding};
use crate::base::cost::Amount;
use crate::base::spread::Spread;
use capture::{Sampling, Tables};
use hashbrown::HashMap;
use std::array::from_fn;
use std::hash::Hash;

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

    /// The sum, in whole blocks.
    pub fn amount(&self) -> Amount {
        self.estimator.whole(self.sum)
    }

    /// The variances of the sum.
    pub fn spread(&self) -> Spread {
        self.spread
    }
}

/// Sums of blocks by key, so many for each.
#[derive(Debug)]
pub struct Tallies<K, const N: usize = 1> {
    sampling: Option<Sampling>,
    sums: HashMap<K, [Tally; N]>,
}

impl<K: Copy + Hash + Ord, const N: usize> Tallies<K, N> {
    /// None yet, for the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        Self::sampled(Sampling::new(tables.metadata.sample_interval))
    }

    /// The same with this sampling.
    pub(crate) fn sampled(sampling: Option<Sampling>) -> Self {
        Self { sampling, sums: HashMap::new() }
    }

    /// The sums of a key.
    #[inline]
    pub fn of(&mut self, key: K) -> &mut [Tally; N] {
        self.sums.entry(key).or_insert_with(|| [Tally::new(self.sampling); N])
    }

    /// Drops the sums of other keys.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K) -> bool) {
        self.sums.retain(|key, _| keeps(key));
    }

    /// The sums in whole blocks, in the order of their keys. Each takes over the rounding error of those before: so they
    /// add up to the rounded total, to within half a block.
    pub fn finish(self) -> impl Iterator<Item = (K, [Amount; N])> {
        let mut rows: Vec<(K, [Tally; N])> = self.sums.into_iter().collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let mut rests = [0; N];
        rows.into_iter().map(move |(key, tallies)| {
            let rounded = |at: usize| {
                let Tally { estimator, sum, .. } = tallies[at];
                Rounding::new(estimator).amount(sum, &mut rests[at])
            };
            (key, from_fn(rounded))
        })
    }
}

impl<K: Copy + Hash + Ord> Tallies<K> {
    /// Counts a block.
    #[inline]
    pub fn add(&mut self, key: K, size: u64) {
        self.of(key)[0].add(size);
    }

    /// The sums by key as they are, in no order.
    pub fn into_sums(self) -> impl Iterator<Item = (K, Tally)> {
        self.sums.into_iter().map(|(key, [sum])| (key, sum))
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
        let (mut whole, mut parts) = (Tally::new(sampling), Tallies::sampled(sampling));
        for size in (1..100_u64).map(|number| number << 10) {
            whole.add(size);
            parts.add(size, size);
        }
        let sum = parts.finish().fold(Amount::ZERO, |sum, (_, [amount])| sum + amount);
        assert!(
            (sum.blocks - whole.amount().blocks).abs() <= 1 && sum.bytes == whole.amount().bytes,
            "{sum:?}"
        );
        assert!(whole.spread().blocks > 0.0);
    }
}
