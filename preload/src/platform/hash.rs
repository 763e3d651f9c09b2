//! A hash of texts and numbers.

/// Separates two texts; no byte has this value.
pub(crate) const END: u64 = 256;

/// A text as [`fnv`] takes it.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = u64> {
    text.iter().copied().map(u64::from)
}

/// FNV-1a (Fowler, Noll and Vo) over words instead of bytes; for a text, whose words are its bytes, the known
/// function.
pub(crate) fn fnv(words: impl IntoIterator<Item = u64>) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3);
    words.into_iter().fold(0xCBF2_9CE4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the values that the authors publish.
    #[test]
    fn hashes_are_those_of_fnv_1a() {
        assert_eq!(fnv(words(b"")), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv(words(b"a")), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv(words(b"foobar")), 0x8594_4171_F739_67E8);
    }
}
