//! Names that a program assigns: to its pools, and to moments in its life.
//!
//! A record with a name is as long as the name needs. Its first word gives that length beside the opcode, so that
//! records can still be skipped without looking at the rest:
//!
//! ```text
//!  63        32 31    26 25    20 19 18      0
//! ┌────────────┬────────┬────────┬──┬─────────┐
//! │ 0          │ words  │ opcode │0 │ Δt      │   words = those of the name
//! ├────────────┴────────┼────────┴──┴─────────┤
//! │ pool, kind of mark  │ bytes of the name   │
//! ├─────────────────────┴─────────────────────┤
//! │ the name, 8 bytes a word, padded by zeros │
//! └───────────────────────────────────────────┘
//! ```
//!
//! Example: the mark `loaded`, two units after the last record, is `0x0000_0000_05C0_0002`, `0x0000_0000_0000_0006`,
//! `0x0000_6465_6461_6F6C`.
//!
//! Any bytes are a name: no encoding is implied, nor that they can be displayed.

use super::{DELTA_LIMIT, FIELD_SHIFT, Opcode};

/// Most pools of a process; their numbers start at 1.
pub const MAX_POOLS: u32 = 64;
/// Longest name in bytes; longer ones are cut off.
pub const MAX_NAME: usize = 255;
/// Words of the longest name.
const NAME_WORDS: usize = MAX_NAME.div_ceil(8);
/// Words before the name.
const HEADER: usize = 2;
/// Most words of a record with a name.
pub const MAX_NAMED_WORDS: usize = HEADER + NAME_WORDS;
/// Position of the name's word count in the first word's field: above the opcode, which is below 64.
pub(crate) const LENGTH_SHIFT: u32 = 6;

/// What is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// From here on, the pool of this number, not 0, has the name in the process that writes.
    Pool(u32),
    /// A moment.
    Mark(MarkKind),
}

/// What a mark says about its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MarkKind {
    /// Nothing but its name.
    Instant = 0,
    /// A region begins.
    Begin = 1,
    /// A region ends.
    End = 2,
    /// No moment of the program's own: from here on it has a library of this name with an allocator that nobody can
    /// see.
    Unseen = 3,
}

impl MarkKind {
    /// The kind of this number; unknown numbers are instants.
    fn from_number(number: u32) -> MarkKind {
        match number {
            1 => MarkKind::Begin,
            2 => MarkKind::End,
            3 => MarkKind::Unseen,
            _ => MarkKind::Instant,
        }
    }
}

impl Named {
    /// Opcode and number.
    fn parts(self) -> (Opcode, u32) {
        match self {
            Named::Pool(pool) => (Opcode::Pool, pool),
            Named::Mark(kind) => (Opcode::Mark, kind as u32),
        }
    }

    pub(crate) fn pool(second: u64) -> Named {
        Named::Pool((second >> 32) as u32)
    }

    pub(crate) fn mark(second: u64) -> Named {
        Named::Mark(MarkKind::from_number((second >> 32) as u32))
    }

    /// The words of the record, and how many of them count. Only the first [`MAX_NAME`] bytes of the name are kept;
    /// `delta` is below [`DELTA_LIMIT`].
    pub fn encode(self, name: &[u8], delta: u64) -> ([u64; MAX_NAMED_WORDS], usize) {
        let name = name.get(..MAX_NAME).unwrap_or(name);
        let (opcode, number) = self.parts();
        let length = name.len().div_ceil(8);
        let field = (length as u64) << LENGTH_SHIFT | opcode as u64;
        let mut words = [0; MAX_NAMED_WORDS];
        let [first, second, text @ ..] = &mut words;
        *first = field << FIELD_SHIFT | delta & (DELTA_LIMIT - 1);
        *second = u64::from(number) << 32 | name.len() as u64;
        for (word, bytes) in text.iter_mut().zip(name.chunks(8)) {
            let mut packed = [0; 8];
            for (to, from) in packed.iter_mut().zip(bytes) {
                *to = *from;
            }
            *word = u64::from_le_bytes(packed);
        }
        (words, HEADER + length)
    }
}

/// A name that was copied out of a record.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    bytes: [u8; NAME_WORDS * 8],
    length: usize,
}

impl Name {
    /// The name in the words of one record: as many bytes as the record says, but no more than it has.
    pub fn of(words: &[u64]) -> Name {
        let text = words.get(HEADER..).unwrap_or(&[]);
        let told = words.get(1).map_or(0, |second| *second as u32 as usize);
        let mut bytes = [0; NAME_WORDS * 8];
        for (to, word) in bytes.chunks_exact_mut(8).zip(text) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Name { bytes, length: told.min(text.len() * 8).min(MAX_NAME) }
    }

    /// The name's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

/// True for a number of words that a name can have.
pub(crate) fn is_length(words: u64) -> bool {
    words <= NAME_WORDS as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::decode::{decode, shape};
    use crate::error::Corrupt;
    use crate::record::Record;
    use proptest::prelude::*;

    fn named() -> impl Strategy<Value = Named> {
        prop_oneof![
            any::<u32>().prop_map(Named::Pool),
            (0u32..3).prop_map(|kind| Named::Mark(MarkKind::from_number(kind))),
        ]
    }

    proptest! {
        /// Check that any bytes are read back unchanged, from exactly their own words.
        #[test]
        fn names_round_trip(
            named in named(),
            name in proptest::collection::vec(any::<u8>(), 0..=MAX_NAME),
            delta in 0..DELTA_LIMIT,
        ) {
            let (words, length) = named.encode(&name, delta);
            let words = &words[..length];
            prop_assert_eq!(decode(words), Ok((delta, Record::Named(named), length)));
            prop_assert_eq!(shape(words[0]).map(|shape| (shape.delta, shape.words)), Ok((delta, length)));
            let found = Name::of(words);
            prop_assert_eq!(found.bytes(), &name[..]);
            prop_assert_eq!(decode(&words[..length - 1]).err(), Some(Corrupt::Length));
        }

        /// Check that words which claim any length yield no more bytes than they have.
        #[test]
        fn any_words_give_a_bounded_name(words in proptest::collection::vec(any::<u64>(), 0..60)) {
            let length = Name::of(&words).bytes().len();
            prop_assert!(length <= MAX_NAME && length <= words.len().saturating_sub(HEADER) * 8);
        }
    }

    /// Check the worked example of the documentation.
    #[test]
    fn pictured_mark_has_these_words() {
        let (words, length) = Named::Mark(MarkKind::Instant).encode(b"loaded", 2);
        assert_eq!(words[..length], [0x05C0_0002, 6, 0x6465_6461_6F6C]);
    }

    /// Check that longer names are cut, and that no record may claim to be longer than the longest name.
    #[test]
    fn long_names_are_cut() {
        let (words, length) = Named::Pool(7).encode(&[b'x'; 10_000], 0);
        assert_eq!((length, Name::of(&words[..length]).bytes().len()), (MAX_NAMED_WORDS, MAX_NAME));
        let longer = words[0] + (1 << (FIELD_SHIFT + LENGTH_SHIFT));
        assert_eq!(shape(longer).err(), Some(Corrupt::Opcode));
    }
}
