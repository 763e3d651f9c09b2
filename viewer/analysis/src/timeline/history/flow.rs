//! What a slice of time did to the blocks of one stack.

use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use std::ops::AddAssign;

/// A change; supports `+=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Change of what is live: allocated less what ended.
    pub live: Amount,
    /// Allocated.
    pub allocated: Amount,
    /// The part of the blocks freed that was temporary.
    pub temporary: Amount,
    /// Freed by this stack, whoever allocated it; zero where the stacks of frees were not recorded.
    pub frees: Amount,
}

impl Flow {
    /// True when nothing happened, or what came went again and none of it counts.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Each part in whole blocks.
    pub(super) fn whole(&self, estimator: &Estimator) -> Self {
        Self {
            live: estimator.whole(self.live),
            allocated: estimator.whole(self.allocated),
            temporary: estimator.whole(self.temporary),
            frees: estimator.whole(self.frees),
        }
    }

    /// The change from an earlier sum to this one.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            live: self.live - earlier.live,
            allocated: self.allocated - earlier.allocated,
            temporary: self.temporary - earlier.temporary,
            frees: self.frees - earlier.frees,
        }
    }
}

impl AddAssign for Flow {
    fn add_assign(&mut self, other: Self) {
        self.live += other.live;
        self.allocated += other.allocated;
        self.temporary += other.temporary;
        self.frees += other.frees;
    }
}
