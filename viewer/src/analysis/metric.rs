//! What to look at.

use super::cost::{Amount, Cost};

/// Which part of a cost a view shows and sorts by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Bytes held at the peak of the capture.
    #[default]
    Peak,
    /// Bytes alive when the process or the recording ended.
    Leaked,
    /// Number of allocations.
    Allocations,
    /// Bytes of all allocations.
    Bytes,
    /// Number of temporary allocations.
    Temporary,
}

impl Metric {
    /// All of them, the default first.
    pub const ALL: [Metric; 5] =
        [Metric::Peak, Metric::Leaked, Metric::Allocations, Metric::Bytes, Metric::Temporary];

    /// The word that names it on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Peak => "peak",
            Metric::Leaked => "leaked",
            Metric::Allocations => "allocations",
            Metric::Bytes => "bytes",
            Metric::Temporary => "temporary",
        }
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The part of a cost that it shows.
    pub fn of(self, cost: &Cost) -> Amount {
        match self {
            Metric::Peak => cost.peak,
            Metric::Leaked => cost.leaked,
            Metric::Allocations | Metric::Bytes => cost.allocated,
            Metric::Temporary => cost.temporary,
        }
    }

    /// True when it counts blocks and shows bytes beside, false the other way round.
    pub fn counts_blocks(self) -> bool {
        matches!(self, Metric::Allocations | Metric::Temporary)
    }

    /// The number that rows are sorted by and percentages are taken of.
    pub fn rank(self, amount: Amount) -> i64 {
        if self.counts_blocks() { amount.blocks } else { amount.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that every metric is found under its own name and no other.
    #[test]
    fn names_lead_back() {
        for metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.name()), Some(metric));
        }
        assert_eq!(Metric::from_name("Peak"), None);
    }
}
