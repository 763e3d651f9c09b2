//! The key by which a process of another user joins a recording.
//!
//! A collector of root records programs that become other users, so it cannot tell by the uid who belongs to its
//! recording; and anybody can read the name of its socket (`/proc/net/unix`). So each recording draws a key and
//! passes it on in the environment, which only the process' own user and root can read. The key is worthless once the
//! recording is over.

use core::fmt;

/// 128 random bits; all zero when there is no key.
#[derive(Clone, Copy, Default)]
pub struct Key([u8; Key::BYTES]);

impl Key {
    /// Size in bytes.
    pub const BYTES: usize = 16;
    /// Digits of the key's text.
    pub const DIGITS: usize = 2 * Key::BYTES;
    /// The environment variable that passes it on.
    pub const VARIABLE: &str = "SYSPROF_MEMPROF_KEY";
    /// What a process without a key shows.
    pub const NONE: Key = Key([0; Key::BYTES]);

    /// A key of these bytes, which are random.
    pub const fn new(bytes: [u8; Key::BYTES]) -> Key {
        Key(bytes)
    }

    /// From the text, hexadecimal digits; `None` when it is not a key.
    pub fn from_text(text: &[u8]) -> Option<Key> {
        if text.len() != Key::DIGITS {
            return None;
        }
        let mut bytes = [0; Key::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            for digit in pair {
                *byte = *byte << 4 | char::from(*digit).to_digit(16)? as u8;
            }
        }
        Some(Key(bytes))
    }

    /// The key's text.
    pub fn to_text(&self) -> [u8; Key::DIGITS] {
        let mut text = [0; Key::DIGITS];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            for (digit, value) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = char::from_digit(value.into(), 16).map_or(b'0', |digit| digit as u8);
            }
        }
        text
    }

    /// True when `shown` is this key, and this is not [`Key::NONE`]. Takes the same time whichever bits are wrong, so
    /// that nobody can find them one by one.
    pub fn admits(&self, shown: &Key) -> bool {
        let differing = |one: &Key, other: &Key| {
            let pairs = one.0.iter().zip(&other.0);
            pairs.fold(0, |bits, (one, other)| core::hint::black_box(bits | (one ^ other)))
        };
        differing(self, shown) == 0 && differing(self, &Key::NONE) != 0
    }

    /// As words of a message.
    pub(crate) fn to_words(self) -> [u32; 4] {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    /// From words of a message.
    pub(crate) fn from_words(words: [u32; 4]) -> Key {
        let mut bytes = [0; Key::BYTES];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Key(bytes)
    }
}

/// Never shows the key, since output may end up in logs.
impl fmt::Debug for Key {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("Key(…)")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that a key can be read back from its text and from a message, and that a key differing in a single
        /// bit does not admit.
        #[test]
        fn one_key_admits(bytes in any::<[u8; 16]>(), bit in 0..128_usize) {
            prop_assume!(bytes != [0; 16]);
            let key = Key::new(bytes);
            prop_assert!(key.admits(&Key::from_text(&key.to_text()).unwrap()));
            prop_assert!(key.admits(&Key::from_words(key.to_words())));
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!key.admits(&Key::new(other)));
            prop_assert!(!key.admits(&Key::NONE));
        }

        /// Check that any text is a key or refused, and that only the right number of digits makes a key.
        #[test]
        fn any_text_is_a_key_or_none(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let digits = text.len() == Key::DIGITS && text.iter().all(u8::is_ascii_hexdigit);
            prop_assert_eq!(Key::from_text(&text).is_some(), digits);
        }
    }

    /// Check that without a key nobody is admitted, and that no key is printed.
    #[test]
    fn no_key_admits_nobody() {
        assert!(!Key::NONE.admits(&Key::NONE));
        assert_eq!(Key::NONE.to_text(), [b'0'; Key::DIGITS]);
        assert_eq!(format!("{:?}", Key::new([0x5a; 16])), "Key(…)");
        assert_eq!(&Key::new([0x5a; 16]).to_text(), b"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
    }
}
