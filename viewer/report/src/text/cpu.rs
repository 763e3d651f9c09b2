//! The unit of CPU samples.

use analysis::format::{count, duration};
use engine::Loaded;

/// What the weight of a sample means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuUnit {
    Nanoseconds,
    Cycles,
}

impl CpuUnit {
    pub(super) fn of(loaded: &Loaded) -> CpuUnit {
        match loaded.tables.summary.as_ref().map(|summary| summary.cpu.event.as_str()) {
            Some("cycles") => CpuUnit::Cycles,
            _ => CpuUnit::Nanoseconds,
        }
    }

    /// A weight for people.
    pub(super) fn of_weight(self, weight: i64) -> String {
        let weight = weight.max(0).unsigned_abs();
        match self {
            CpuUnit::Nanoseconds => duration(weight),
            CpuUnit::Cycles => format!("{} M", count(weight / 1_000_000)),
        }
    }
}
