//! What the blocks of a sampled recording stand for.
//!
//! A block of s bytes was recorded with the probability p = 1 − exp(−s / interval), independently of all others, and
//! always if it has [`CERTAIN`] intervals or more. So it stands for 1 / p blocks of its kind: the sum of y / p over
//! recorded blocks is on average the sum of y over all blocks, the estimator of Horvitz and Thompson (*A
//! generalization of sampling without replacement from a finite universe*, 1952). Its variance is estimated, without
//! bias too, by the sum of y² (1 − p) / p².
//!
//! | size, at an interval of 512 KiB | p | stands for | so the recorded one counts |
//! |---|---|---|---|
//! | 24 B | 0.0000458 | 21,846 blocks | 512 KiB |
//! | 512 KiB | 0.632 | 1.58 blocks | 829 KiB |
//! | 10 MiB and more | 1 | 1 block | as it is |

use std::num::NonZeroU64;

/// Blocks of at least this many intervals were always recorded.
const CERTAIN: u64 = 20;

/// What a sampled block of some size says about all allocations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// Blocks that it stands for, at least 1.
    pub blocks: f64,
    /// What it adds to the variance of an estimated number of blocks; times its size squared, to that of bytes.
    pub variance: f64,
}

/// The sampling of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    interval: NonZeroU64,
}

impl Sampling {
    /// For this mean sampling distance in bytes; none for 0, when every allocation was recorded.
    pub fn new(interval: u64) -> Option<Self> {
        NonZeroU64::new(interval).map(|interval| Self { interval })
    }

    /// Mean sampling distance in bytes.
    pub fn interval(self) -> u64 {
        self.interval.get()
    }

    /// What a sampled block of this size stands for. A block of 0 bytes was sampled as one of 1.
    pub fn weight(self, size: u64) -> Weight {
        if size / CERTAIN >= self.interval.get() {
            return Weight { blocks: 1.0, variance: 0.0 };
        }
        let intervals = size.max(1) as f64 / self.interval.get() as f64;
        // 1 − exp(−x) without the loss of digits for small x.
        let p = -(-intervals).exp_m1();
        Weight { blocks: 1.0 / p, variance: (1.0 - p) / (p * p) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check the table above, and the variances of its rows, which were computed separately.
    #[test]
    fn weights_are_as_documented() {
        let sampling = Sampling::new(512 << 10).unwrap();
        for (size, blocks, variance) in [
            (0, 524_288.5, 2.748_779e11),
            (24, 21_845.8, 4.772_186e8),
            (512 << 10, 1.581_98, 0.920_674),
            (5 << 20, 1.000_045, 4.540_405e-5),
            (10 << 20, 1.0, 0.0),
        ] {
            let weight = sampling.weight(size);
            assert!((weight.blocks / blocks - 1.0).abs() < 1e-5, "{size}: {weight:?}");
            assert!((weight.variance - variance).abs() <= variance * 1e-5, "{size}: {weight:?}");
        }
        assert_eq!(Sampling::new(0), None);
        assert_eq!(sampling.interval(), 512 << 10);
    }

    proptest! {
        /// Check that for any size and interval a weight is at least 1 and finite, that a certain block has no
        /// variance, and that a larger block never stands for more blocks.
        #[test]
        fn weights_are_sane(interval in 1..=u64::MAX, size: u64, more: u64) {
            let sampling = Sampling::new(interval).unwrap();
            let Weight { blocks, variance } = sampling.weight(size);
            prop_assert!(blocks >= 1.0 && blocks.is_finite());
            prop_assert!(variance >= 0.0 && variance.is_finite());
            prop_assert!((variance == 0.0) == (size / CERTAIN >= interval) || size / interval > CERTAIN / 2);
            prop_assert!(sampling.weight(size.saturating_add(more)).blocks <= blocks);
        }
    }
}
