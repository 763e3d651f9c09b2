//! A payload of several columns, one after the other, each a run of similar numbers. Such runs compress well, and a
//! decoder reads them without branching on the kind of each record.
//!
//! ```text
//!  +-------+-----------+-----------+-----+----------+----------+-----
//!  | count | length 0  | length 1  | ... | column 0 | column 1 | ...
//!  +-------+-----------+-----------+-----+----------+----------+-----
//!     u8       u32         u32
//! ```
//!
//! A later version may add columns at the end. A reader ignores columns that it does not know, and treats those that
//! a file lacks as empty.

use std::ops::Range;

use crate::error::Malformed;
use crate::format::u32_at;

/// Bytes before the first of `count` columns.
const fn header_length(count: usize) -> usize {
    1 + 4 * count
}

/// Appends the columns to an empty payload.
pub(crate) fn join(columns: &[Vec<u8>], payload: &mut Vec<u8>) {
    put_header(columns.iter().map(Vec::len), payload);
    for column in columns {
        payload.extend_from_slice(column);
    }
}

/// Appends the header for columns of these lengths.
pub(crate) fn put_header(lengths: impl ExactSizeIterator<Item = usize>, payload: &mut Vec<u8>) {
    payload.push(u8::try_from(lengths.len()).expect("a chunk has fewer than 256 columns"));
    for length in lengths {
        let length = u32::try_from(length).expect("a column is shorter than a chunk");
        payload.extend(length.to_le_bytes());
    }
}

/// Finds the first `N` columns of a payload.
pub(crate) fn split<const N: usize>(payload: &[u8]) -> Result<[Range<usize>; N], Malformed> {
    let Some(&count) = payload.first() else { return Err(Malformed("a chunk lacks its columns")) };
    let mut start = header_length(count.into());
    let Some(lengths) = payload.get(1..start) else {
        return Err(Malformed("a chunk ends inside its column lengths"));
    };
    let mut columns = [const { 0..0 }; N];
    for (column, at) in columns.iter_mut().zip((0..lengths.len()).step_by(4)) {
        let end = start.saturating_add(u32_at(lengths, at) as usize);
        if end > payload.len() {
            return Err(Malformed("a column is longer than its chunk"));
        }
        *column = start..end;
        start = end;
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that columns come back, those a reader does not know are ignored, and those it lacks are empty.
        #[test]
        fn columns_come_back(columns in proptest::collection::vec(any::<Vec<u8>>(), 0..6)) {
            let mut payload = Vec::new();
            join(&columns, &mut payload);
            let found = split::<3>(&payload).unwrap();
            for (position, range) in found.into_iter().enumerate() {
                prop_assert_eq!(&payload[range], columns.get(position).map_or(&[][..], Vec::as_slice));
            }
        }

        /// Check that arbitrary bytes give ranges inside of the payload or an error.
        #[test]
        fn arbitrary_bytes_stay_inside(payload: Vec<u8>) {
            if let Ok(columns) = split::<4>(&payload) {
                prop_assert!(columns.iter().all(|range| range.end <= payload.len()));
            }
        }
    }
}
