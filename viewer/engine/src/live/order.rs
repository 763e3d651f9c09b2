//! What rows stand for, and their order.

use super::figures::Change;

/// What rows stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Stacks.
    #[default]
    Stacks,
    /// Functions, sorted by their totals.
    Total,
    /// Functions, sorted by their own numbers.
    Own,
}

impl By {
    /// The word for how functions are sorted, on the command line and in JSON; none for stacks.
    pub fn name(self) -> Option<&'static str> {
        match self {
            By::Stacks => None,
            By::Total => Some("total"),
            By::Own => Some("self"),
        }
    }

    /// The next one, cyclically.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            By::Stacks => By::Total,
            By::Total => By::Own,
            By::Own => By::Stacks,
        }
    }
}

analysis::named! {
    /// What rows are sorted by, the highest first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Order {
        /// Bytes held now.
        #[default]
        Held = "held",
        /// Growth of the bytes held since the beginning.
        Growth = "growth",
        /// Bytes allocated since the last look.
        Rate = "rate",
        /// Allocations since the last look.
        Calls = "calls",
    }
}

impl Order {
    /// The next one, cyclically.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// What rows are sorted by; ties are broken by what they hold.
    pub(super) fn rank(self, change: &Change) -> (i64, i64) {
        let first = match self {
            Order::Held => change.now.held.bytes,
            Order::Growth => change.since.held.bytes,
            Order::Rate => change.step.allocated.bytes,
            Order::Calls => change.step.allocated.blocks,
        };
        (first, change.now.held.bytes)
    }
}
