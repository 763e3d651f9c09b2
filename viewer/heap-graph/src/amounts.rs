//! Sums of amounts, and their order.

use analysis::Amount;
use std::cmp::Reverse;

/// The sort order of rows.
pub(crate) fn most_first(amount: Amount) -> Reverse<(i64, i64)> {
    Reverse((amount.bytes, amount.blocks))
}

/// All of them together.
pub(crate) fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::ZERO, |sum, amount| sum + amount)
}
