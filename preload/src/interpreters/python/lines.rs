//! The line that an instruction belongs to, from the tables of code objects.
//!
//! | versions | table | entries |
//! |---|---|---|
//! | 3.8, 3.9 | `co_lnotab` | bytes of code, then lines with their sign: what comes after them is so much further |
//! | 3.10 | `co_linetable` | the same, but what the entry itself covers has that line; −128 for none |
//! | from 3.11 | `co_linetable` | a byte with kind and length, then, by kind, numbers of six bits a byte |
//!
//! A table is anybody's bytes: whatever they are, the result is a line or none.

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Until 3.9.
    Increments,
    /// 3.10.
    Ranges,
    /// From 3.11.
    Locations,
}

/// The line of the instruction `offset` bytes behind the beginning of the code, which begins in the line `first`; 0 if
/// it has none.
pub(crate) fn line(format: Format, first: u32, offset: i64, table: impl Iterator<Item = u8>) -> u32 {
    let line = match format {
        // Before its first instruction, a function is where it begins.
        _ if offset < 0 => Some(i64::from(first)),
        Format::Increments => Some(by_increments(first.into(), offset, table)),
        Format::Ranges => by_ranges(first.into(), offset, table),
        Format::Locations => by_locations(first.into(), offset, table),
    };
    line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

fn by_increments(mut line: i64, offset: i64, mut table: impl Iterator<Item = u8>) -> i64 {
    let mut address = 0_i64;
    while let (Some(bytes), Some(lines)) = (table.next(), table.next()) {
        address = address.wrapping_add(bytes.into());
        if address > offset {
            break;
        }
        line = line.wrapping_add(i64::from(lines.cast_signed()));
    }
    line
}

fn by_ranges(mut line: i64, offset: i64, mut table: impl Iterator<Item = u8>) -> Option<i64> {
    const NONE: i8 = -128;
    let mut end = 0_i64;
    while let (Some(bytes), Some(lines)) = (table.next(), table.next()) {
        end = end.wrapping_add(bytes.into());
        let lines = lines.cast_signed();
        if lines != NONE {
            line = line.wrapping_add(lines.into());
        }
        if offset < end {
            return (lines != NONE).then_some(line);
        }
    }
    None
}

fn by_locations(mut line: i64, offset: i64, table: impl Iterator<Item = u8>) -> Option<i64> {
    /// Only the first byte of an entry has it.
    const FIRST: u8 = 0x80;
    const ONE_LINE: u8 = 10;
    const NO_COLUMNS: u8 = 13;
    const LONG: u8 = 14;
    const NONE: u8 = 15;
    let mut table = table.peekable();
    let mut end = 0_i64;
    while let Some(first) = table.next() {
        let kind = first >> 3 & 15;
        // Code units have two bytes.
        end = end.wrapping_add(2 * (i64::from(first & 7) + 1));
        let lines = match kind {
            ONE_LINE..NO_COLUMNS => i64::from(kind - ONE_LINE),
            NO_COLUMNS | LONG => signed(&mut table),
            _ => 0,
        };
        line = line.wrapping_add(lines);
        if offset < end {
            return (kind != NONE).then_some(line);
        }
        while table.next_if(|byte| byte & FIRST == 0).is_some() {}
    }
    None
}

/// A number with its sign in the lowest bit: six bits a byte, the lowest first; another byte follows if bit 6 is set.
fn signed(table: &mut impl Iterator<Item = u8>) -> i64 {
    const MORE: u8 = 0x40;
    let (mut number, mut shift) = (0_u64, 0_u32);
    for byte in table {
        number |= u64::from(byte & 63).checked_shl(shift).unwrap_or(0);
        shift = shift.saturating_add(6);
        if byte & MORE == 0 {
            break;
        }
    }
    let size = (number >> 1).cast_signed();
    if number & 1 == 0 { size } else { size.wrapping_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(format: Format, first: u32, table: &[u8], offsets: &[i64]) -> Vec<u32> {
        offsets.iter().map(|offset| line(format, first, *offset, table.iter().copied())).collect()
    }

    /// Check tables of `def f():` in line 10, with an expression in line 11 and a return in line 13, as 3.9, 3.10 and
    /// 3.11 write them.
    #[test]
    fn tables_of_each_format_are_read() {
        let increments = [0, 1, 8, 2];
        assert_eq!(lines(Format::Increments, 10, &increments, &[-1, 0, 6, 8, 100]), [10, 11, 11, 13, 13]);
        let ranges = [8, 1, 4, 2, 2, 0x80];
        assert_eq!(
            lines(Format::Ranges, 10, &ranges, &[-1, 0, 6, 8, 10, 12, 14]),
            [10, 11, 11, 13, 13, 0, 0]
        );
        // Columns only, one line further, without columns two lines further, and two code units without a line.
        let locations = [0x80, 0x11, 0xDA, 0x04, 0x08, 0xE8, 0x04, 0xF9];
        assert_eq!(
            lines(Format::Locations, 10, &locations, &[-2, 0, 2, 6, 8, 10, 12]),
            [10, 10, 11, 11, 13, 0, 0]
        );
        // A long entry, 70 lines back.
        let long = [0xF0, 0x40 | (141 & 63), 141 >> 6, 0, 1, 1];
        assert_eq!(lines(Format::Locations, 100, &long, &[0, 2]), [30, 0]);
    }

    proptest! {
        /// Check that any bytes have an answer.
        #[test]
        fn any_table_has_an_answer(
            table in proptest::collection::vec(any::<u8>(), 0..200), first in any::<u32>(), offset in any::<i64>(),
        ) {
            for format in [Format::Increments, Format::Ranges, Format::Locations] {
                line(format, first, offset, table.iter().copied());
            }
        }
    }
}
