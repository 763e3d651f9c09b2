//! What CPU samples stand for.

use analysis::format::{count, duration};
use engine::Loaded;

/// The weight of samples for people: time, or cycles where these were counted.
pub(super) fn cpu(loaded: &Loaded, weight: i64) -> String {
    let weight = weight.max(0).unsigned_abs();
    match loaded.counts_cycles() {
        true => format!("{} M", count(weight / 1_000_000)),
        false => duration(weight),
    }
}
