//! The quantities that views can show.

use super::cost::{Amount, Cost};
use super::named::named;
use std::ops::Add;
use std::str::FromStr;

named! {
    /// Which part of a cost a view shows and sorts by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Metric {
        /// Bytes held at the peak of the capture.
        #[default]
        Peak = "peak",
        /// Bytes alive when the process or the recording ended.
        Leaked = "leaked",
        /// Bytes alive at a moment: [`Metric::Leaked`], uncertain ones, and those left behind by exec.
        Live = "live",
        /// Number of allocations.
        Allocations = "allocations",
        /// Bytes of all allocations.
        Bytes = "bytes",
        /// Number of temporary allocations.
        Temporary = "temporary",
        /// Number of frees, at the stacks that free.
        Frees = "frees",
        /// CPU samples.
        Cpu = "cpu",
    }
}

impl Metric {
    /// What a capture lacks if it has none of it.
    pub fn what(self) -> &'static str {
        match self {
            Metric::Peak | Metric::Allocations | Metric::Bytes => "allocations",
            Metric::Leaked => "blocks still allocated at the end",
            Metric::Live => "live blocks",
            Metric::Temporary => "temporary allocations",
            Metric::Frees => "stacks of frees (record with --free-stacks)",
            Metric::Cpu => "CPU samples",
        }
    }

    /// The part of a cost that it shows.
    pub fn of<T: Copy + Add<Output = T>>(self, cost: &Cost<T>) -> T {
        match self {
            Metric::Peak => cost.peak,
            Metric::Leaked => cost.leaked,
            Metric::Live => cost.live(),
            Metric::Allocations | Metric::Bytes => cost.allocated,
            Metric::Temporary => cost.temporary,
            Metric::Frees => cost.frees,
            Metric::Cpu => cost.cpu,
        }
    }

    /// True when the metric is a number of blocks, with bytes beside it; false the other way round.
    pub fn counts_blocks(self) -> bool {
        matches!(self, Metric::Allocations | Metric::Temporary | Metric::Frees | Metric::Cpu)
    }

    /// True when the metric is about blocks of memory, however recorded; false when it is about what the kernel
    /// reports.
    pub fn is_of_memory(self) -> bool {
        self != Metric::Cpu
    }

    /// The number that percentages refer to.
    pub fn rank(self, amount: Amount) -> i64 {
        if self.counts_blocks() { amount.blocks } else { amount.bytes }
    }

    /// What rows are ordered by: the rank, then the other number.
    pub fn order(self, amount: Amount) -> (i64, i64) {
        if self.counts_blocks() { (amount.blocks, amount.bytes) } else { (amount.bytes, amount.blocks) }
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

/// Not the name of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown measure `{0}`: use peak, leaked, live, allocations, bytes, temporary, frees or cpu")]
pub struct UnknownMetric(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that every metric is found by its own name, and that the error for another name lists them all.
    #[test]
    fn names_lead_back() {
        let error = "Peak".parse::<Metric>().unwrap_err().to_string();
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
            assert!(error.contains(metric.name()), "{error}");
        }
    }
}
