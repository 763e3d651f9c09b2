//! The columns of numbers before a name.

use super::estimate::{marked, relative};
use super::style::{Role, Style};
use super::units::Units;
use analysis::format::{bytes, count, percent};
use analysis::{Amount, Metric, Spread};
use engine::Loaded;

const NUMBER: usize = 10;
const SHARE: usize = 7;

/// Writes amounts in the same columns, row after row.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) metric: Metric,
    pub(super) total: Amount,
    /// Numbers are estimates, and each row shows its error.
    pub(super) sampled: bool,
    units: Units,
    pub(super) style: &'a Style,
}

impl<'a> Columns<'a> {
    /// For rows of a capture in this metric, with this total.
    pub(super) fn new(loaded: &Loaded, metric: Metric, total: Amount, style: &'a Style) -> Self {
        let sampled = loaded.profile.sampling.is_some() && metric.is_of_memory();
        Self { metric, total, sampled, units: Units::of(loaded, metric), style }
    }

    /// Columns that [`Self::row`] takes.
    pub(super) const WIDTH: usize = 2 * NUMBER + SHARE + 6;

    /// Additional columns of [`Self::row`] in a sampled capture.
    pub(super) const ERROR: usize = SHARE + 2;

    /// Columns that [`Self::single`] takes.
    pub(super) const SINGLE: usize = NUMBER;

    /// `  12.3 MiB   45.6 %       1,234  `: the ranking number comes first. In a sampled capture it is
    /// followed by its error, as in ` ≈12.3 MiB   ±5.1 %   45.6 %      ≈1,234  `.
    pub(super) fn row(&self, amount: Amount, spread: Spread) -> String {
        let (first, second) = self.pair(amount, spread);
        let share = percent(self.metric.rank(amount), self.metric.rank(self.total));
        let first = self.style.paint(Role::Value, format!("{first:>NUMBER$}"));
        let error = match (self.sampled, self.metric.counts_blocks()) {
            (false, _) => String::new(),
            (true, true) => relative(spread.blocks_error(), amount.blocks),
            (true, false) => relative(spread.bytes_error(), amount.bytes),
        };
        let error = self.error(&error);
        format!("{first}  {error}{share:>SHARE$}  {second:>NUMBER$}  ")
    }

    /// A column that exists only for sampled captures.
    fn error(&self, text: &str) -> String {
        if self.sampled { format!("{text:>SHARE$}  ") } else { String::new() }
    }

    /// Columns that a row takes in this capture.
    pub(super) fn width(&self) -> usize {
        Self::WIDTH + if self.sampled { Self::ERROR } else { 0 }
    }

    /// The header of such rows.
    pub(super) fn header(&self) -> String {
        let (first, second) = self.units.heads();
        let error = self.error("error");
        format!("{first:>NUMBER$}  {error}{:>SHARE$}  {second:>NUMBER$}  ", "share")
    }

    /// The ranking number alone.
    pub(super) fn single(&self, amount: Amount, spread: Spread) -> String {
        format!("{:>NUMBER$}", self.pair(amount, spread).0)
    }

    /// The header of such a column.
    pub(super) fn single_header(name: &str) -> String {
        format!("{name:>NUMBER$}")
    }

    fn pair(&self, amount: Amount, spread: Spread) -> (String, String) {
        if !self.sampled {
            return self.units.pair(amount);
        }
        let bytes = marked(bytes(amount.bytes), spread.bytes_error());
        let blocks = marked(count(amount.blocks), spread.blocks_error());
        if self.metric.counts_blocks() { (blocks, bytes) } else { (bytes, blocks) }
    }
}
