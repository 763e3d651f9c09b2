//! Columns of numbers, compact when most are small or close to the previous one.
//!
//! ```text
//!   number    0   −1   1   −2   63   64             zigzag: the lowest bit is the sign
//!   bytes     00  01   02  03   7e   80 01          seven bits each, lowest first; highest bit: more follow
//! ```

use analysis::Amount;
use serde::Serialize;

/// The table entry of a column.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    name: String,
    /// Number of values.
    count: usize,
    /// Number of bytes.
    size: usize,
    /// Whether each value is the difference from the previous one.
    rising: bool,
}

/// Concatenated columns, and the table that locates them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) table: Vec<Column>,
    pub(super) bytes: Vec<u8>,
}

impl Columns {
    /// Adds a column.
    pub(super) fn numbers(&mut self, name: &str, numbers: impl IntoIterator<Item = i64>) {
        self.add(name, numbers.into_iter(), false);
    }

    /// Adds a column of bytes and one of blocks.
    pub(super) fn amounts(&mut self, name: &str, amounts: impl Iterator<Item = Amount> + Clone) {
        self.numbers(&format!("{name}.bytes"), amounts.clone().map(|amount| amount.bytes));
        self.numbers(&format!("{name}.blocks"), amounts.map(|amount| amount.blocks));
    }

    /// Adds a column whose values are stored as differences from the previous one, to be added up by the reader.
    pub(super) fn rising(&mut self, name: &str, numbers: impl IntoIterator<Item = i64>) {
        let mut last = 0_i64;
        let steps =
            numbers.into_iter().map(|number| number.wrapping_sub(std::mem::replace(&mut last, number)));
        self.add(name, steps, true);
    }

    fn add(&mut self, name: &str, numbers: impl Iterator<Item = i64>, rising: bool) {
        let (mut count, start) = (0, self.bytes.len());
        for number in numbers {
            put(&mut self.bytes, number);
            count += 1;
        }
        self.table.push(Column { name: name.to_owned(), count, size: self.bytes.len() - start, rising });
    }
}

fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the bytes of numbers of each length, which the page's scripts read.
    #[test]
    fn numbers_are_as_drawn() {
        for (number, expected) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[0x7e]),
            (64, &[0x80, 1]),
            (-65, &[0x81, 1]),
            (i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            let mut columns = Columns::default();
            columns.numbers("n", [number]);
            assert_eq!(columns.bytes, expected, "{number}");
        }
    }

    /// Check that a rising column contains differences, and that the table tells the columns apart.
    #[test]
    fn rising_columns_hold_differences() {
        let mut columns = Columns::default();
        columns.rising("a", [5, 7, 6]);
        columns.numbers("b", [300]);
        assert_eq!(columns.bytes, [10, 4, 1, 0xd8, 4]);
        let column = |name: &str, count, size, rising| Column { name: name.to_owned(), count, size, rising };
        assert_eq!(columns.table, [column("a", 3, 3, true), column("b", 1, 2, false)]);
    }
}
