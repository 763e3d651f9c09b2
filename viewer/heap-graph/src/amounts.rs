//! The order of amounts.

use analysis::Amount;
use std::cmp::Reverse;

/// The sort order of rows.
pub(crate) fn most_first(amount: Amount) -> Reverse<(i64, i64)> {
    Reverse((amount.bytes, amount.blocks))
}
