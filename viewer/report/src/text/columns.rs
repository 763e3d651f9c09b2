//! The columns of numbers before a name.

use super::style::{Role, Style};
use super::words::words;
use crate::table::{Column, Value};
use crate::views::Numbers;
use analysis::{Amount, Metric, Spread};
use engine::Loaded;

const NUMBER: usize = 10;
const SHARE: usize = 7;

/// Writes amounts in the same columns, row after row.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    loaded: &'a Loaded,
    numbers: Numbers,
    pub(super) metric: Metric,
    pub(super) total: Amount,
    pub(super) style: &'a Style,
}

impl<'a> Columns<'a> {
    /// For rows of a capture in this metric, with this total.
    pub(super) fn new(loaded: &'a Loaded, metric: Metric, total: Amount, style: &'a Style) -> Self {
        Self { loaded, numbers: Numbers::of(loaded, metric, total), metric, total, style }
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
        let cells = self.numbers.cells(amount, spread);
        let (first, others) = laid(&self.numbers.columns(), cells.iter().map(|cell| self.said(cell)));
        format!("{}{others}", self.style.paint(Role::Value, first))
    }

    /// Columns that a row takes in this capture.
    pub(super) fn width(&self) -> usize {
        Self::WIDTH + if self.numbers.are_estimates { Self::ERROR } else { 0 }
    }

    /// The header of such rows.
    pub(super) fn header(&self) -> String {
        heads(&self.numbers.columns())
    }

    /// The ranking number alone.
    pub(super) fn single(&self, amount: Amount, spread: Spread) -> String {
        format!("{:>NUMBER$}", self.said(&self.numbers.pair(amount, spread)[0]))
    }

    /// The header of such a column.
    pub(super) fn single_header(name: &str) -> String {
        format!("{name:>NUMBER$}")
    }

    fn said(&self, value: &Value) -> String {
        words(self.loaded, value, usize::MAX)
    }
}

/// The first of these texts, and the others, each as wide as its column.
pub(super) fn laid(columns: &[Column], texts: impl Iterator<Item = String>) -> (String, String) {
    let mut texts = texts.zip(columns).map(|(text, column)| format!("{text:>0$}", column.width));
    let first = texts.next().unwrap_or_default();
    (first, texts.fold("  ".to_owned(), |others, text| others + &text + "  "))
}

/// The headings of columns.
pub(super) fn heads(columns: &[Column]) -> String {
    let titles = columns.iter().map(|column| column.title.as_deref().unwrap_or_default().to_owned());
    let (first, others) = laid(columns, titles);
    first + &others
}
