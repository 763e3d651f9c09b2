//! What a slice of time did to the blocks of one stack.

use crate::base::cost::Amount;
use crate::base::parts::parts;

/// A change; supports `+=` and `-`.
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
}

parts!(Flow { live, allocated, temporary, frees });
