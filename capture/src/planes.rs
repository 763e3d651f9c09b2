//! Columns of numbers in planes: how many, the first byte of each number, then all second bytes, all third ones …
//!
//! ```text
//!     number         first byte    planes
//!     0 … 247        the number    none
//!     248 … 2^64-1   247 + n       its n bytes, 1 to 8, the lowest in plane 0
//!
//!     5, 1000, 7, 70000     04 | 05 f9 07 fa | e8 70 | 03 11 | 01
//! ```
//!
//! Made for numbers of which many repeat and some look random, as differences of addresses do. In one row with the
//! rest, the bytes of the random ones would end each repetition that a compressor finds; and their high bytes, which
//! resemble each other, would not be adjacent.

use std::ops::Range;

use crate::error::Malformed;
use crate::varint;

/// Numbers from here on have bytes in planes.
pub(crate) const LONG: u8 = 248;
/// Bytes of the longest number.
const PLANES: usize = 8;

/// Bytes counted at a time: their count fits a byte, and it is a multiple of the vector width.
const PIECE: usize = 224;

/// A column has fewer numbers than its chunk's events need.
pub(crate) const ENDS_EARLY: Malformed = Malformed("a column ends before its chunk's events");

/// How many bytes in planes belong to this first byte.
#[inline]
fn length(first: u8) -> usize {
    usize::from(first.saturating_sub(LONG - 1))
}

/// How many bytes are at least `least`.
// In pieces whose counts fit a byte, so that the comparison is vectorized.
fn count_from(bytes: &[u8], least: u8) -> usize {
    let in_piece = |piece: &[u8]| piece.iter().map(|byte| u8::from(*byte >= least)).sum::<u8>();
    bytes.chunks(PIECE).map(|piece| usize::from(in_piece(piece))).sum()
}

/// A column that is being written.
#[derive(Default)]
pub(crate) struct PlaneWriter {
    firsts: Vec<u8>,
    planes: [Vec<u8>; PLANES],
}

impl PlaneWriter {
    /// Adds a number.
    #[inline(always)]
    pub(crate) fn put(&mut self, number: u64) {
        if number < LONG.into() {
            self.firsts.push(number as u8);
        } else {
            self.put_long(number);
        }
    }

    #[inline(never)]
    fn put_long(&mut self, number: u64) {
        let length = PLANES - number.leading_zeros() as usize / 8;
        self.firsts.push(LONG - 1 + length as u8);
        for (plane, byte) in self.planes.iter_mut().zip(number.to_le_bytes()).take(length) {
            plane.push(byte);
        }
    }

    /// Adds the difference `to - from` (modulo 2⁶⁴), short when the two are close in either direction.
    #[inline(always)]
    pub(crate) fn put_delta(&mut self, from: u64, to: u64) {
        self.put(varint::zigzag(to.wrapping_sub(from)));
    }

    /// Length in bytes, without the count that precedes the numbers.
    pub(crate) fn len(&self) -> usize {
        self.firsts.len() + self.planes.iter().map(Vec::len).sum::<usize>()
    }

    /// Appends to an empty column the count that precedes the numbers; nothing if there are none.
    pub(crate) fn put_count(&self, column: &mut Vec<u8>) {
        if !self.firsts.is_empty() {
            varint::put(column, self.firsts.len() as u64);
        }
    }

    /// What follows the count: the numbers' first bytes and each plane.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.firsts).chain(&self.planes).map(Vec::as_slice)
    }

    /// The numbers, in the order in which they were added.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let mut planes = self.planes.each_ref().map(|plane| plane.iter());
        self.firsts.iter().map(move |first| {
            if *first < LONG {
                return u64::from(*first);
            }
            let bytes = planes.iter_mut().take(length(*first)).filter_map(Iterator::next);
            bytes.zip((0..).step_by(8)).fold(0, |number, (byte, shift)| number | u64::from(*byte) << shift)
        })
    }

    pub(crate) fn clear(&mut self) {
        self.firsts.clear();
        self.planes.iter_mut().for_each(Vec::clear);
    }
}

/// Where the unread rest of a column's planes lies in a payload.
#[derive(Debug)]
pub(crate) struct Planes([Range<usize>; PLANES]);

impl Planes {
    /// The planes of an empty column.
    pub(crate) const NONE: Self = Planes([const { 0..0 }; PLANES]);

    /// Finds a column's first bytes and its planes.
    pub(crate) fn find(payload: &[u8], column: Range<usize>) -> Result<(Range<usize>, Self), Malformed> {
        let bytes = payload.get(column.clone()).ok_or(ENDS_EARLY)?;
        let mut rest = bytes;
        let count = if bytes.is_empty() { 0 } else { varint::take(&mut rest)? };
        let Some(firsts) = usize::try_from(count).ok().and_then(|count| rest.split_off(..count)) else {
            return Err(ENDS_EARLY);
        };
        let start = column.end - rest.len();
        let (mut planes, mut end) = (Planes::NONE, start);
        for (plane, least) in planes.0.iter_mut().zip(LONG..=u8::MAX) {
            let length = count_from(firsts, least);
            *plane = end..end + length;
            end += length;
            if length == 0 {
                break;
            }
        }
        if end != column.end {
            return Err(Malformed("a column ends inside a number"));
        }
        Ok((start - firsts.len()..start, planes))
    }

    /// The rest of the next number, whose first byte is `first`.
    pub(crate) fn take(&mut self, payload: &[u8], first: u8) -> Result<u64, Malformed> {
        if first < LONG {
            return Ok(first.into());
        }
        let mut number = 0;
        for (plane, shift) in self.0.iter_mut().zip((0..).step_by(8)).take(length(first)) {
            let byte = plane.next().and_then(|place| payload.get(place)).ok_or(ENDS_EARLY)?;
            number |= u64::from(*byte) << shift;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(numbers: &[u64]) -> Vec<u8> {
        let mut writer = PlaneWriter::default();
        numbers.iter().for_each(|number| writer.put(*number));
        assert!(writer.numbers().eq(numbers.iter().copied()));
        let mut column = Vec::new();
        writer.put_count(&mut column);
        writer.parts().for_each(|part| column.extend_from_slice(part));
        assert_eq!(column.len().saturating_sub(1), writer.len());
        writer.clear();
        assert_eq!(writer.len(), 0);
        column
    }

    /// Check that the example in the format's document holds byte for byte, and where single bytes end.
    #[test]
    fn examples_have_these_bytes() {
        assert_eq!(column(&[5, 1000, 7, 70_000]), [4, 5, 0xf9, 7, 0xfa, 0xe8, 0x70, 3, 0x11, 1]);
        assert_eq!(column(&[247, 248]), [2, 247, 248, 248]);
        assert_eq!(column(&[u64::MAX]), [1, 255, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert!(column(&[]).is_empty());
    }

    /// Check that columns which end inside a number are errors.
    #[test]
    fn broken_columns_are_errors() {
        for bytes in [&[1, 0xf8][..], &[1, 0xf9, 1], &[2, 5], &[1, 5, 5], &[1, 0xf8, 1, 1], &[0xff; 12]] {
            assert!(Planes::find(bytes, 0..bytes.len()).is_err(), "{bytes:02x?}");
        }
        assert!(Planes::find(&[1], 0..2).is_err());
        let mut none = Planes::NONE;
        assert!(none.take(&[1], LONG).is_err());
    }

    proptest! {
        /// Check that numbers come back wherever the column lies, and no more of them than there are.
        #[test]
        fn numbers_come_back(
            before: Vec<u8>,
            numbers in proptest::collection::vec(prop_oneof![0..300u64, any::<u64>(), any::<u32>().prop_map(u64::from)], 0..50),
            after: Vec<u8>,
        ) {
            let column = column(&numbers);
            let payload = [before.as_slice(), &column, &after].concat();
            let (firsts, mut planes) = Planes::find(&payload, before.len()..before.len() + column.len()).unwrap();
            prop_assert_eq!(firsts.len(), numbers.len());
            for (place, number) in firsts.zip(numbers) {
                prop_assert_eq!(planes.take(&payload, payload[place]), Ok(number));
            }
            prop_assert_eq!(planes.take(&payload, LONG), Err(ENDS_EARLY));
        }

        /// Check that arbitrary bytes give whole numbers or an error.
        #[test]
        fn arbitrary_columns_are_whole_or_errors(payload: Vec<u8>) {
            if let Ok((mut firsts, mut planes)) = Planes::find(&payload, 0..payload.len()) {
                prop_assert!(firsts.all(|place| planes.take(&payload, payload[place]).is_ok()));
                prop_assert!(planes.0.iter().all(Range::is_empty));
            }
        }
    }
}
