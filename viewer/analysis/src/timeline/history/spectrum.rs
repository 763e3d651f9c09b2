//! Blocks by size and by lifetime.

use crate::base::cost::Amount;
use crate::count::estimate::Estimator;

/// Classes of a number by its bit length: 0, 1, 2 to 3, 4 to 7, and so on.
const CLASSES: usize = 65;

/// The blocks of one class of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// Allocated.
    pub allocated: Amount,
    /// Of these, temporary.
    pub temporary: Amount,
    /// Of these, never freed: leaked, uncertain or left behind by exec.
    pub left: Amount,
}

/// Blocks by the bit length of their size and of their lifetime in nanoseconds. Class *n* holds the numbers from 2ⁿ⁻¹
/// to 2ⁿ − 1, class 0 the number 0.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// By size.
    pub sizes: [SizeClass; CLASSES],
    /// Blocks that were freed or resized, by lifetime.
    pub lives: [Amount; CLASSES],
}

impl Default for Spectrum {
    fn default() -> Self {
        Self { sizes: [SizeClass::default(); CLASSES], lives: [Amount::ZERO; CLASSES] }
    }
}

impl Spectrum {
    pub(super) fn size(&mut self, size: u64) -> &mut SizeClass {
        &mut self.sizes[class(size)]
    }

    pub(super) fn life(&mut self, nanoseconds: u64) -> &mut Amount {
        &mut self.lives[class(nanoseconds)]
    }

    /// Everything in whole blocks.
    pub(super) fn whole(mut self, estimator: &Estimator) -> Self {
        for class in &mut self.sizes {
            class.allocated = estimator.whole(class.allocated);
            class.temporary = estimator.whole(class.temporary);
            class.left = estimator.whole(class.left);
        }
        self.lives = self.lives.map(|life| estimator.whole(life));
        self
    }
}

fn class(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}
