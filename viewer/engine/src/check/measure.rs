//! What a rule is about.

use analysis::{Amount, Cost, Metric, Spread, format};

analysis::named! {
    /// A number of a capture, or of a part of it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Measure {
        /// Bytes held at the peak.
        Peak = "peak",
        /// Bytes still allocated at the end, except those suppressed.
        Leaked = "leaked",
        /// Bytes unreachable when processes were last scanned, except those suppressed.
        Unreachable = "unreachable",
        /// Number of allocations.
        Allocations = "allocations",
        /// Bytes of all allocations.
        Bytes = "bytes",
        /// Number of temporary allocations.
        Temporary = "temporary",
        /// Bytes allocated less bytes freed between two moments.
        Growth = "growth",
        /// Number of frees of addresses without a live block. Not part of any stack's cost.
        InvalidFrees = "invalid-frees",
        /// Number of calls that should have returned memory and returned none. Not part of any stack's cost.
        Failed = "failed",
    }
}

impl Measure {
    /// True for numbers of blocks, false for bytes.
    pub fn counts_blocks(self) -> bool {
        matches!(self, Measure::Allocations | Measure::Temporary | Measure::InvalidFrees | Measure::Failed)
    }

    /// True for numbers that depend on which block was freed when.
    pub(super) fn depends_on_frees(self) -> bool {
        !matches!(self, Measure::Allocations | Measure::Bytes | Measure::Failed)
    }

    /// The number, for measures that are part of a stack's cost.
    pub fn of(self, cost: &Cost) -> i64 {
        let amount = match self {
            Measure::Growth => cost.allocated - cost.freed,
            _ => self.metric().map_or(Amount::ZERO, |metric| metric.of(cost)),
        };
        if self.counts_blocks() { amount.blocks } else { amount.bytes }
    }

    /// By what stacks are told that have a part of it; none for what is no part of a stack's cost.
    pub(super) fn metric(self) -> Option<Metric> {
        Some(match self {
            Measure::Peak => Metric::Peak,
            // Unreachable blocks are in the place of leaked ones: see `Analyzer::unreachable`.
            Measure::Leaked | Measure::Unreachable => Metric::Leaked,
            Measure::Allocations => Metric::Allocations,
            // What has grown was allocated.
            Measure::Bytes | Measure::Growth => Metric::Bytes,
            Measure::Temporary => Metric::Temporary,
            Measure::InvalidFrees | Measure::Failed => return None,
        })
    }

    /// Its standard error; 0 when everything was recorded.
    pub(super) fn error(self, spread: &Cost<Spread>) -> i64 {
        let spread = match self {
            Measure::Growth => growth(spread),
            _ => self.metric().map_or(Spread::ZERO, |metric| metric.of(spread)),
        };
        if self.counts_blocks() { spread.blocks_error() } else { spread.bytes_error() }
    }

    /// A number of this measure for people.
    pub fn text(self, value: i64) -> String {
        if self.counts_blocks() { format::count(value) } else { format::bytes(value) }
    }
}

/// The variances of what was allocated in a part less what was freed in it.
///
/// ```text
///  allocated  ├─ freed again in it     in both, so it adds nothing to the uncertainty
///             └─ live                  ─┐
///  freed      ├─ freed again in it      ├─ what differs
///             └─ of blocks from before ─┘
/// ```
fn growth(spread: &Cost<Spread>) -> Spread {
    let again = spread.allocated - spread.live();
    spread.live() + spread.freed.without(again)
}
