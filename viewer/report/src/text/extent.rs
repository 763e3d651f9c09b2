//! How much of a table people get.

use super::stack_line::{not_shown, not_shown_of};
use crate::table::{Most, Row, Table, Value};
use analysis::format::bytes;

/// How much of a document is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Rows of a table.
    pub rows: usize,
    /// Rows below a row; 0 where these are shown elsewhere.
    pub below: usize,
    /// True where the reader can give options of the command line to see more.
    pub has_options: bool,
}

/// A line of a table.
pub(crate) enum Shown<'a> {
    /// A row at this level.
    Row(&'a Row, usize),
    /// How many rows at this level are not shown.
    Rest(String, usize),
}

impl Shown<'_> {
    /// Levels of indentation.
    pub(crate) fn level(&self) -> usize {
        match self {
            Shown::Row(_, level) | Shown::Rest(_, level) => *level,
        }
    }
}

impl Extent {
    /// For a command with this limit.
    pub fn of_command(limit: usize) -> Self {
        Self { rows: limit, below: limit, has_options: true }
    }

    /// What is shown of a table, from top to bottom.
    pub(crate) fn of(self, table: &Table) -> Vec<Shown<'_>> {
        let mut shown = Vec::new();
        let (below, limit) = (table.below, table.most.rows(self.rows));
        let hidden = table.for_people().count().saturating_sub(limit);
        let others = hidden.saturating_add(usize::try_from(table.more).unwrap_or(usize::MAX));
        let rest =
            (others > 0).then(|| Shown::Rest(not_shown(others, table.noun, self.option(table.most)), 0));
        let (first, last) = if table.most == Most::Last { (rest, None) } else { (None, rest) };
        shown.extend(first);
        let skipped = if table.most == Most::Last { hidden } else { 0 };
        for row in table.for_people().skip(skipped).take(limit) {
            shown.push(Shown::Row(row, 0));
            let (some, others) = row.below.split_at(self.below_of(below.most, row));
            shown.extend(some.iter().map(|row| Shown::Row(row, 1)));
            if self.below > 0 && !others.is_empty() {
                // Where no limit shows them, their size says whether they are worth asking for.
                let sum = first_bytes(table, others).filter(|_| below.most != Most::Asked);
                let sum = sum.map_or(String::new(), |sum| format!(", {}", bytes(sum)));
                let text = not_shown_of(others.len(), below.noun, &sum, self.option(below.most));
                shown.push(Shown::Rest(text, 1));
            }
        }
        shown.extend(last);
        shown
    }

    /// How many of the rows below a row are shown.
    fn below_of(self, most: Most, row: &Row) -> usize {
        if self.below == 0 { 0 } else { most.rows(self.below).min(row.below.len()) }
    }

    /// The option that shows more.
    fn option(self, most: Most) -> &'static str {
        match most {
            _ if !self.has_options => "",
            Most::Asked | Most::Last => "--limit",
            Most::Rows(_) | Most::All => "--json",
        }
    }
}

/// What the first numbers of rows add up to, if they are bytes.
fn first_bytes(table: &Table, rows: &[Row]) -> Option<i64> {
    let first = table.columns.iter().position(|column| column.title.is_some())?;
    let size = |row: &Row| match row.cells.get(first) {
        Some(Value::Bytes(size)) => Some(*size),
        _ => None,
    };
    i64::try_from(rows.iter().map(size).sum::<Option<i128>>()?).ok()
}
