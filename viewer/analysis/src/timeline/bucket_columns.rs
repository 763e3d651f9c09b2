//! How steps are stored: each number as far as another one does not tell it.

use super::buckets::Bucket;
use crate::base::columns::Columns;
use crate::base::cost::Amount;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What was held at the end, less what follows from the step before; the peak, less what was held at the beginning; and
/// what was allocated and freed.
type BucketColumns = Columns<{ 2 * 4 }>;

pub(super) fn serialize<S: Serializer>(buckets: &[Bucket], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = BucketColumns::new();
    let mut before = Amount::ZERO;
    for Bucket { held, peak, allocated, freed } in buckets.iter().copied() {
        columns.push(&[], [held - before - allocated + freed, peak - before, allocated, freed]);
        before = held;
    }
    columns.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Bucket>, D::Error> {
    let columns = BucketColumns::deserialize(deserializer)?;
    let mut before = Amount::ZERO;
    let bucket = |row: usize| {
        let [rest, peak, allocated, freed] = columns.amounts(row, 0);
        let bucket =
            Bucket { held: rest + before + allocated - freed, peak: peak + before, allocated, freed };
        before = bucket.held;
        bucket
    };
    Ok((0..columns.rows()).map(bucket).collect())
}
