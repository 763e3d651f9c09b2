//! Integers of one to ten bytes: seven bits each, lowest first, the high bit set on all but the last (LEB128).
//!
//! ```text
//!     value    bytes          zigzag: 0 -1  1 -2  2
//!       127    7f             becomes 0  1  2  3  4
//!       128    80 01
//!   2^64 - 1   ff ff ff ff ff ff ff ff ff 01
//! ```

use crate::error::Malformed;

const ENDS_EARLY: Malformed = Malformed("a column ends inside a number");
const TOO_LARGE: Malformed = Malformed("a number needs more than 64 bits");

/// Appends `value`.
#[inline]
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends the difference `to - from` (modulo 2⁶⁴), short when the two are close in either direction.
#[inline]
pub(crate) fn put_delta(bytes: &mut Vec<u8>, from: u64, to: u64) {
    put(bytes, zigzag(to.wrapping_sub(from)));
}

/// Takes one number off the front of `bytes`.
// Cost: a load, a compare and an add for values below 128, which are nearly all of them.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Ok(u64::from(first))
        }
        _ => take_long(bytes),
    }
}

/// Takes a difference off the front of `bytes` and adds it to `from`.
#[inline]
pub(crate) fn take_delta(bytes: &mut &[u8], from: u64) -> Result<u64, Malformed> {
    Ok(from.wrapping_add(unzigzag(take(bytes)?)))
}

/// Takes a number that must fit 32 bits.
#[inline]
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Result<u32, Malformed> {
    u32::try_from(take(bytes)?).map_err(|_| Malformed("an id needs more than 32 bits"))
}

fn take_long(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for (position, &byte) in bytes.iter().enumerate().take(10) {
        let shift = 7 * position as u32;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return Err(TOO_LARGE);
        }
        value |= bits << shift;
        if byte < 0x80 {
            *bytes = &bytes[position + 1..];
            return Ok(value);
        }
    }
    Err(if bytes.len() < 10 { ENDS_EARLY } else { TOO_LARGE })
}

/// Maps small negative and small positive differences to small numbers.
#[inline]
pub(crate) fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

/// Undoes [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that the examples of the format's document hold byte for byte.
    #[test]
    fn examples_have_these_bytes() {
        let cases: [(u64, &[u8]); 5] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ];
        for (value, expected) in cases {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(bytes, expected, "{value}");
            assert_eq!(take(&mut bytes.as_slice()), Ok(value));
        }
    }

    /// Check that numbers which end early or overflow are errors and take nothing.
    #[test]
    fn broken_numbers_are_errors() {
        let cases: [(&[u8], Malformed); 5] = [
            (&[], ENDS_EARLY),
            (&[0x80], ENDS_EARLY),
            (&[0xff; 9], ENDS_EARLY),
            (&[0xff; 10], TOO_LARGE),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], TOO_LARGE),
        ];
        for (bytes, expected) in cases {
            let mut rest = bytes;
            assert_eq!(take(&mut rest), Err(expected), "{bytes:02x?}");
            assert_eq!(rest, bytes);
        }
    }

    proptest! {
        /// Check that any number and any difference come back.
        #[test]
        fn numbers_and_differences_come_back(value: u64, from: u64) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put_delta(&mut bytes, from, value);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take(&mut rest), Ok(value));
            prop_assert_eq!(take_delta(&mut rest, from), Ok(value));
            prop_assert!(rest.is_empty());
        }

        /// Check that arbitrary bytes never panic and what is taken off is counted once.
        #[test]
        fn arbitrary_bytes_are_taken_in_order(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            while let Ok(_value) = take(&mut rest) {}
            prop_assert!(bytes.ends_with(rest));
        }
    }
}
