//! Hashing of addresses and ids.

use std::hash::{BuildHasher, RandomState};

/// A cheap hash of one word: two folded multiplications, about two nanoseconds.
///
/// Seeded per load, because the keys come from a file: with a fixed function, addresses chosen to collide would make
/// every lookup walk the whole table. No output depends on the order of a hash table.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    add: u64,
    multiply: u64,
}

impl Seed {
    /// Another one each time.
    pub fn random() -> Self {
        let state = RandomState::new();
        Self { add: state.hash_one(0_u64), multiply: state.hash_one(1_u64) | 1 }
    }

    /// The hash of a word.
    #[inline]
    pub fn hash(self, word: u64) -> u64 {
        // With one multiplication, one factor in a hundred would make neighbours collide: it is close to a simple
        // fraction for them.
        folded(folded(word ^ self.add, self.multiply), GOLDEN)
    }

    /// The hash of two ids.
    #[inline]
    pub fn pair(self, high: u32, low: u32) -> u64 {
        self.hash(u64::from(high) << 32 | u64::from(low))
    }
}

/// 2⁶⁴ divided by the golden ratio: the factor that is farthest from simple fractions.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn folded(word: u64, factor: u64) -> u64 {
    let product = u128::from(word) * u128::from(factor);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that neighbouring 16-byte granules spread over both the bits that choose a bucket and those that
    /// tag it.
    #[test]
    fn neighbours_spread() {
        (0..1000).for_each(|_| neighbours_spread_with(Seed::random()));
    }

    fn neighbours_spread_with(seed: Seed) {
        let hashes: Vec<u64> = (0..4096_u64).map(|i| seed.hash(0x7f00_0000_0000 + i * 16)).collect();
        let distinct = |shift: u32, mask: u64| {
            hashes.iter().map(|hash| hash >> shift & mask).collect::<std::collections::HashSet<_>>().len()
        };
        assert!(distinct(0, 0xfff) > 1500, "buckets");
        assert!(distinct(57, 0x7f) > 100, "tags");
    }
}
