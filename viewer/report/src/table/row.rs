//! A row of a table.

use super::Value;
use capture::NodeId;
use std::borrow::Cow;

/// A row: its numbers, what they are about, and rows below it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// In the order of the columns.
    pub cells: Vec<Value>,
    /// What the numbers are about.
    pub name: Value,
    /// What it consists of, or what is said about it.
    pub below: Vec<Row>,
    /// True if it says nothing about the subject, so that people do not get it.
    pub is_minor: bool,
}

/// Columns, each beside what a row has in it, and the function that makes these cells of a row.
macro_rules! columns {
    (|$row:tt: $kind:ty| $($column:expr => $cell:expr),+ $(,)?) => {
        ([$($column),+], |$row: $kind| [$($crate::table::Value::from($cell)),+])
    };
}
pub(crate) use columns;

impl Row {
    /// With these numbers about this.
    pub fn new(cells: impl Into<Vec<Value>>, name: impl Into<Value>) -> Self {
        Self { cells: cells.into(), name: name.into(), ..Self::default() }
    }

    /// So many rows that are left out, and the option that shows them.
    pub(crate) fn rest(number: usize, noun: impl Into<Cow<'static, str>>, option: &'static str) -> Self {
        Self::new([], Value::Rest(number, noun.into(), option))
    }

    /// The same with rows below it.
    #[must_use]
    pub fn below(self, rows: impl IntoIterator<Item = Row>) -> Self {
        Self { below: rows.into_iter().collect(), ..self }
    }

    /// The stack that it is about, if any.
    pub fn stack(&self) -> Option<NodeId> {
        self.name.stack()
    }
}
