//! Rows of numbers, stored by column: the numbers of a column are alike and compress well, columns of zeros to nothing.

use super::cost::Amount;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// `N` columns of equal length.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Columns<const N: usize>(Vec<Vec<i64>>);

impl<const N: usize> Columns<N> {
    pub(crate) fn new() -> Self {
        Self(vec![Vec::new(); N])
    }

    /// Adds a row of `N` numbers: some, and two for each amount.
    pub(crate) fn push<const A: usize>(&mut self, numbers: &[i64], amounts: [Amount; A]) {
        let of_amounts = amounts.into_iter().flat_map(|amount| [amount.blocks, amount.bytes]);
        let row = numbers.iter().copied().chain(of_amounts);
        self.0.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
    }

    pub(crate) fn rows(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    pub(crate) fn number(&self, row: usize, column: usize) -> i64 {
        self.0[column][row]
    }

    /// The amounts of a row, which begin in this column.
    pub(crate) fn amounts<const A: usize>(&self, row: usize, first: usize) -> [Amount; A] {
        std::array::from_fn(|place| Amount {
            blocks: self.number(row, first + 2 * place),
            bytes: self.number(row, first + 2 * place + 1),
        })
    }
}

impl<'de, const N: usize> Deserialize<'de> for Columns<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let columns = Self(Deserialize::deserialize(deserializer)?);
        let rows = columns.rows();
        match columns.0.len() == N && columns.0.iter().all(|column| column.len() == rows) {
            true => Ok(columns),
            false => Err(D::Error::custom("columns of different lengths")),
        }
    }
}
