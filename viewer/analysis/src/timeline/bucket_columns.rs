//! How steps are stored: one column for each number, each as far as another one does not tell it.

use super::buckets::Bucket;
use crate::base::cost::Amount;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Blocks and bytes of what was held at the end, less what follows from the step before; of the peak, less what was held
/// at the beginning; and what was allocated and freed.
const COLUMNS: usize = 8;

pub(super) fn serialize<S: Serializer>(buckets: &[Bucket], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = vec![Vec::new(); COLUMNS];
    let mut before = Amount::ZERO;
    for Bucket { held, peak, allocated, freed } in buckets.iter().copied() {
        let amounts = [held - before - allocated + freed, peak - before, allocated, freed];
        let numbers = amounts.into_iter().flat_map(|amount| [amount.blocks, amount.bytes]);
        columns.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        before = held;
    }
    columns.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Bucket>, D::Error> {
    let columns: Vec<Vec<i64>> = Deserialize::deserialize(deserializer)?;
    let rows = columns.first().map_or(0, Vec::len);
    if columns.len() != COLUMNS || columns.iter().any(|column| column.len() != rows) {
        return Err(D::Error::custom("columns of different lengths"));
    }
    let mut before = Amount::ZERO;
    let bucket = |row: usize| {
        let amount =
            |place: usize| Amount { blocks: columns[2 * place][row], bytes: columns[2 * place + 1][row] };
        let [rest, peak, allocated, freed] = std::array::from_fn(amount);
        let held = rest + before + allocated - freed;
        let bucket = Bucket { held, peak: peak + before, allocated, freed };
        before = held;
        bucket
    };
    Ok((0..rows).map(bucket).collect())
}
