//! The line that an instruction belongs to.
//!
//! An instruction sequence has an entry for each place where the line changes. Which entry an instruction has is the
//! number of such places up to it, and a succinct bit vector has the counts:
//!
//! ```text
//!  6 words, for the first 54 instructions:  9 counts of 7 bits each
//!  then a block for each 512:   │ count before it │ 7 counts of 9 bits: so many more before each 64 │ 8 words of bits │
//! ```
//!
//! The table is anybody's memory: whatever it is, the result is a number.

/// Instructions that have their count in the first words.
const FIRST: u64 = 54;
/// Instructions of a block, and its bytes.
const BLOCK: u64 = 512;
const BLOCK_BYTES: u64 = 80;

/// The number of entries that begin at or before an instruction. `word` reads the table's words, by their offset.
pub(crate) fn rank(position: u64, mut word: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
    let Some(behind) = position.checked_sub(FIRST) else {
        return Some(word(8 * (position / 9))? >> (7 * (position % 9)) & 0x7F);
    };
    let block = (FIRST / 9 * 8).checked_add((behind / BLOCK).checked_mul(BLOCK_BYTES)?)?;
    let (bit, part) = (behind % 64, behind % BLOCK / 64);
    // The upper half of this word is nothing.
    let before = word(block)? & u64::from(u32::MAX);
    let parts = word(block.checked_add(8)?)?;
    let before_part = if part == 0 { 0 } else { parts >> (9 * (part - 1)) & 0x1FF };
    let bits = word(block.checked_add(16 + 8 * part)?)? << (63 - bit);
    Some(before + before_part + u64::from(bits.count_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The table as Ruby makes it, for entries that begin at these instructions.
    fn table(starts: &[u64], length: u64) -> Vec<u64> {
        let count = |up_to: u64| starts.iter().filter(|start| **start <= up_to).count() as u64;
        let mut words = Vec::new();
        for word in 0..6 {
            words.push((0..9).fold(0, |all, slot| all | count(word * 9 + slot) << (7 * slot)));
        }
        for block in 0..length.saturating_sub(FIRST).div_ceil(BLOCK) {
            let start = FIRST + block * BLOCK;
            let before = count(start - 1);
            words.push(before | 0xDEAD << 32);
            words.push(
                (1..8).fold(0, |all, part| all | (count(start + 64 * part - 1) - before) << (9 * (part - 1))),
            );
            for part in 0..8 {
                let bit = |bit: &u64| starts.contains(&(start + 64 * part + bit));
                words.push((0..64).filter(bit).fold(0, |all, bit| all | 1 << bit));
            }
        }
        words
    }

    proptest! {
        /// Check that each instruction has the last entry that begins at or before it.
        #[test]
        fn instructions_have_the_entry_before_them(
            mut starts in proptest::collection::vec(0_u64..2000, 1..120), length in 1_u64..2000,
        ) {
            starts.push(0);
            starts.sort_unstable();
            starts.dedup();
            let table = table(&starts, length);
            for position in 0..length {
                let expected = starts.iter().filter(|start| **start <= position).count() as u64;
                // Counts in the first words have seven bits.
                if position >= FIRST || expected < 128 {
                    let found = rank(position, |offset| table.get((offset / 8) as usize).copied());
                    prop_assert_eq!(found, Some(expected), "{}", position);
                }
            }
        }

        /// Check that any table has an answer.
        #[test]
        fn any_table_has_an_answer(words in proptest::collection::vec(any::<u64>(), 0..40), position in any::<u64>()) {
            rank(position, |offset| words.get((offset / 8) as usize).copied());
        }
    }
}
