//! The columns of numbers before a name.

use super::style::{Role, Style};
use crate::analysis::{Amount, Metric};
use crate::format::{bytes, count, percent};

const NUMBER: usize = 10;
const SHARE: usize = 7;

/// Writes amounts in the same columns, row after row.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) metric: Metric,
    pub(super) total: Amount,
    pub(super) style: &'a Style,
}

impl Columns<'_> {
    /// Columns that [`Self::row`] takes.
    pub(super) const WIDTH: usize = 2 * NUMBER + SHARE + 6;

    /// Columns that [`Self::single`] takes.
    pub(super) const SINGLE: usize = NUMBER;

    /// `  12.3 MiB   45.6 %       1,234  `: the number that ranks comes first.
    pub(super) fn row(&self, amount: Amount) -> String {
        let (first, second) = self.pair(amount);
        let share = percent(self.metric.rank(amount), self.metric.rank(self.total));
        let first = self.style.paint(Role::Value, format!("{first:>NUMBER$}"));
        format!("{first}  {share:>SHARE$}  {second:>NUMBER$}  ")
    }

    /// What stands over such rows.
    pub(super) fn header(&self) -> String {
        let (first, second) = match self.metric {
            Metric::Peak | Metric::Leaked => ("bytes", "blocks"),
            Metric::Bytes => ("bytes", "calls"),
            Metric::Allocations | Metric::Temporary => ("calls", "bytes"),
        };
        format!("{first:>NUMBER$}  {:>SHARE$}  {second:>NUMBER$}  ", "share")
    }

    /// The number that ranks alone.
    pub(super) fn single(&self, amount: Amount) -> String {
        format!("{:>NUMBER$}", self.pair(amount).0)
    }

    /// What stands over such a column.
    pub(super) fn single_header(name: &str) -> String {
        format!("{name:>NUMBER$}")
    }

    fn pair(&self, amount: Amount) -> (String, String) {
        let (bytes, blocks) = (bytes(amount.bytes), count(amount.blocks));
        if self.metric.counts_blocks() { (blocks, bytes) } else { (bytes, blocks) }
    }
}
