//! What rows are of, and which come first.

use super::figures::Change;

/// What rows are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Stacks.
    #[default]
    Stacks,
    /// Functions, sorted by what they and all that they call have.
    Total,
    /// Functions, sorted by what they have themselves.
    Own,
}

impl By {
    /// The word for what functions are sorted by, on the command line and in JSON; none for stacks.
    pub fn name(self) -> Option<&'static str> {
        match self {
            By::Stacks => None,
            By::Total => Some("total"),
            By::Own => Some("self"),
        }
    }

    /// The one after it, round and round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            By::Stacks => By::Total,
            By::Total => By::Own,
            By::Own => By::Stacks,
        }
    }
}

/// What rows are sorted by, the highest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Bytes held now.
    #[default]
    Held,
    /// Bytes held more than at the beginning.
    Growth,
    /// Bytes allocated since the last look.
    Rate,
    /// Allocations since the last look.
    Calls,
}

impl Order {
    /// The word for it, on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Order::Held => "held",
            Order::Growth => "growth",
            Order::Rate => "rate",
            Order::Calls => "calls",
        }
    }

    /// The one after it, round and round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Order::Held => Order::Growth,
            Order::Growth => Order::Rate,
            Order::Rate => Order::Calls,
            Order::Calls => Order::Held,
        }
    }

    /// What a row is sorted by: where two are equal, the one that holds more comes first.
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
