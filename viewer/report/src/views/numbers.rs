//! The numbers of a row in a metric: the one that ranks, its error if it is an estimate, its share, and the other one.

use crate::table::{Column, Value};
use analysis::{Amount, Metric, Spread};
use engine::{Compared, Loaded};

/// Makes the numbers of rows.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    metric: Metric,
    total: Amount,
    /// Numbers are estimates, and each row shows its error.
    pub(crate) are_estimates: bool,
    heads: [&'static str; 2],
}

impl Numbers {
    /// For rows of a capture in this metric.
    pub(crate) fn new(loaded: &Loaded, metric: Metric) -> Self {
        Self::of(loaded, metric, metric.of(&loaded.profile.total))
    }

    /// The same with this total.
    pub(crate) fn of(loaded: &Loaded, metric: Metric, total: Amount) -> Self {
        let are_estimates = loaded.profile.sampling.is_some() && metric.is_of_memory();
        Self { metric, total, are_estimates, heads: heads(loaded, metric) }
    }

    /// For changes between two sides, which are estimates if one side is.
    pub(crate) fn of_changes(compared: &Compared, metric: Metric) -> Self {
        let is_sampled = [&compared.before, &compared.after].iter().any(|side| side.sampling.is_some());
        let are_estimates = is_sampled && metric.is_of_memory();
        Self { are_estimates, ..Self::new(&compared.loaded, metric) }
    }

    /// The columns of a row.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let [first, second] = self.heads.map(Column::shown);
        let share = Column::shown("share").width(7);
        [first].into_iter().chain(self.error_column()).chain([share, second]).collect()
    }

    /// The numbers of a row.
    pub(crate) fn cells(&self, amount: Amount, spread: Spread) -> Vec<Value> {
        let share = Value::Share(self.metric.rank(amount), self.metric.rank(self.total));
        let [first, second] = self.pair(amount, spread);
        [first].into_iter().chain(self.error(amount, spread)).chain([share, second]).collect()
    }

    /// The error of the number that ranks, if that is an estimate.
    pub(crate) fn error(&self, amount: Amount, spread: Spread) -> Option<Value> {
        let error = match self.metric.counts_blocks() {
            true => Value::Error(spread.blocks_error(), amount.blocks),
            false => Value::Error(spread.bytes_error(), amount.bytes),
        };
        self.are_estimates.then_some(error)
    }

    /// The heading of errors, if there are any.
    pub(crate) fn error_column(&self) -> Option<Column> {
        self.are_estimates.then(|| Column::shown("error").width(7))
    }

    /// The number that ranks, and the other one.
    pub(crate) fn pair(&self, amount: Amount, spread: Spread) -> [Value; 2] {
        let spread = if self.are_estimates { spread } else { Spread::ZERO };
        let blocks = Value::count(amount.blocks).marked(spread.blocks_error());
        let size = match self.metric {
            Metric::Cpu => Value::Cpu(amount.bytes),
            _ => Value::bytes(amount.bytes).marked(spread.bytes_error()),
        };
        if self.metric.counts_blocks() { [blocks, size] } else { [size, blocks] }
    }
}

/// What the number that ranks and the other one are called.
pub(crate) fn heads(loaded: &Loaded, metric: Metric) -> [&'static str; 2] {
    match metric {
        Metric::Peak | Metric::Leaked | Metric::Live => ["bytes", "blocks"],
        Metric::Bytes => ["bytes", "calls"],
        Metric::Allocations | Metric::Temporary | Metric::Frees => ["calls", "bytes"],
        Metric::Cpu => ["samples", if loaded.counts_cycles() { "cycles" } else { "time" }],
    }
}
