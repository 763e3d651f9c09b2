//! Decodes words to records: a total function over hostile input.

use crate::error::Corrupt;
use crate::record::name::{self, Named};
use crate::record::{DELTA_LIMIT, OPCODES, Opcode, Record, field_shift, kind_bit};

/// The first record of `words`: its Δt in shifted ticks, the record, and how many words it took.
///
/// # Errors
/// [`Corrupt::Opcode`] for an unknown kind; [`Corrupt::Length`] when the record does not end within `words`, which no
/// correct producer publishes.
#[inline]
pub fn decode(words: &[u64]) -> Result<(u64, Record, usize), Corrupt> {
    let Some(&first) = words.first() else { return Err(Corrupt::Length) };
    let field = first >> field_shift();
    let delta = first & (DELTA_LIMIT - 1);
    if field >= OPCODES {
        let address = field << 4;
        if first & kind_bit() == 0 {
            return Ok((delta, Record::Free { address }, 1));
        }
        let Some(&second) = words.get(1) else { return Err(Corrupt::Length) };
        let record =
            Record::Alloc { address, size: second & 0xFFFF_FFFF, alignment: 0, stack: (second >> 32) as u32 };
        return Ok((delta, record, 2));
    }
    escape(field, delta, words)
}

/// The first word of an allocation or free in the short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Δt in shifted ticks.
    pub delta: u64,
    /// The block.
    pub address: u64,
    /// True for a free; else it is an allocation, whose stack and size are in the next word.
    pub is_free: bool,
}

impl Short {
    /// Decodes `first`; `None` when it begins another kind of record.
    #[inline(always)]
    pub fn of(first: u64) -> Option<Short> {
        let field = first >> field_shift();
        (field >= OPCODES).then(|| Short {
            delta: first & (DELTA_LIMIT - 1),
            address: field << 4,
            is_free: first & kind_bit() == 0,
        })
    }
}

/// What the first word of a record says about it, so that records can be counted, timed and moved without looking at
/// the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Δt in shifted ticks.
    pub delta: u64,
    /// Words of the record, including this one.
    pub words: usize,
    /// The opcode; `None` for short allocations (two words) and short frees (one).
    pub opcode: Option<Opcode>,
}

/// The shape of the record that begins with `first`.
///
/// # Errors
/// [`Corrupt::Opcode`] for an unknown kind.
// Cost of the short forms: two shifts, a test.
#[inline(always)]
pub fn shape(first: u64) -> Result<Shape, Corrupt> {
    let field = first >> field_shift();
    let delta = first & (DELTA_LIMIT - 1);
    if field >= OPCODES {
        return Ok(Shape { delta, words: 1 + usize::from(first & kind_bit() != 0), opcode: None });
    }
    let (opcode, words) = opcode(field)?;
    Ok(Shape { delta, words, opcode: Some(opcode) })
}

/// The opcode in a field, and the number of words of its record.
#[cold]
fn opcode(field: u64) -> Result<(Opcode, usize), Corrupt> {
    let (number, more) = (field & ((1 << name::LENGTH_SHIFT) - 1), field >> name::LENGTH_SHIFT);
    let found = Opcode::ALL.into_iter().find(|(opcode, _)| *opcode as u64 == number);
    let (opcode, words) = found.ok_or(Corrupt::Opcode)?;
    match more {
        0 => Ok((opcode, words)),
        more if opcode.has_name() && name::is_length(more) => Ok((opcode, words + more as usize)),
        _ => Err(Corrupt::Opcode),
    }
}

#[cold]
fn escape(field: u64, delta: u64, words: &[u64]) -> Result<(u64, Record, usize), Corrupt> {
    let (opcode, length) = opcode(field)?;
    if words.len() < length {
        return Err(Corrupt::Length);
    }
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let high = |index: usize| (word(index) >> 32) as u32;
    let low = |index: usize| word(index) as u32;
    let record = match opcode {
        Opcode::Time => Record::Time { time: word(1) },
        Opcode::Owner => Record::Owner { slot: high(1), tid: low(1), time: word(2) },
        Opcode::End => Record::End,
        Opcode::AllocLong => {
            let alignment = match low(3) {
                0 => 0,
                log2 => 1u64.checked_shl(log2 - 1).unwrap_or(0),
            };
            Record::Alloc { address: word(1), size: word(2), alignment, stack: high(3) }
        }
        Opcode::FreeLong => Record::Free { address: word(1) },
        Opcode::FreeWithStack => Record::FreeWithStack { address: word(1), stack: low(2) },
        Opcode::ReallocBegin => Record::ReallocBegin { address: word(1) >> 16, serial: word(1) as u16 },
        Opcode::ReallocEnd => Record::ReallocEnd {
            address: word(1) >> 16,
            serial: word(1) as u16,
            size: word(2),
            stack: low(3),
        },
        Opcode::ReallocFailed => Record::ReallocFailed { serial: word(1) as u16 },
        Opcode::ReallocFreed => Record::ReallocFreed { serial: word(1) as u16 },
        Opcode::Map => {
            Record::Map { address: word(1), length: word(2), stack: high(3), in_hook: low(3) & 1 != 0 }
        }
        Opcode::Unmap => Record::Unmap { address: word(1), length: word(2) },
        Opcode::UnmapFailed => Record::UnmapFailed { address: word(1), length: word(2) },
        Opcode::Remap => Record::Remap {
            old_address: word(1),
            old_length: word(2),
            address: word(3),
            length: word(4),
            stack: low(5),
        },
        Opcode::Break => {
            Record::Break { from: word(1), address: word(2), stack: high(3), in_hook: low(3) & 1 != 0 }
        }
        Opcode::AllocFailed => {
            let (size, alignment, count) = (word(1), word(2), word(3));
            Record::AllocFailed { size, alignment, count, error: low(4), stack: high(4) }
        }
        Opcode::GapBegin => Record::GapBegin,
        Opcode::Unsampled => Record::Unsampled,
        Opcode::GapEnd => Record::GapEnd { allocations: word(1), frees: word(2) },
        Opcode::Exec => Record::Exec,
        Opcode::ExecFailed => Record::ExecFailed,
        Opcode::Exit => Record::Exit { code: low(1) as i32 },
        Opcode::Fork => Record::Fork { fork: low(1) },
        Opcode::Pause => Record::Pause,
        Opcode::Resume => Record::Resume,
        Opcode::ReportAlloc => {
            Record::ReportAlloc { pool: low(3), address: word(1), size: word(2), stack: high(3) }
        }
        Opcode::ReportFree => Record::ReportFree { pool: low(2), address: word(1) },
        Opcode::ReportRealloc => Record::ReportRealloc {
            pool: low(4),
            old: word(1),
            address: word(2),
            size: word(3),
            stack: high(4),
        },
        Opcode::Pool => Record::Named(Named::pool(word(1))),
        Opcode::Mark => Record::Named(Named::mark(word(1))),
    };
    Ok((delta, record, length))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record::{MAX_WORDS, encode, short_alloc, short_free};
    use proptest::prelude::*;

    fn records() -> impl Strategy<Value = Record> {
        let address =
            prop_oneof![Just(0x10_0000u64), 0u64..1 << 47, (1u64 << 12..1 << 43).prop_map(|x| x << 4)];
        let size = prop_oneof![0u64..100_000, any::<u64>()];
        (0usize..26, address, size, any::<u32>(), any::<u16>(), 0u32..40, any::<bool>()).prop_map(
            |(kind, address, size, stack, serial, log2, flag)| match kind {
                0 => Record::Alloc { address, size, alignment: 0, stack },
                1 => Record::Alloc { address, size, alignment: 1 << log2, stack },
                2 => Record::Free { address },
                3 => Record::ReallocBegin { address, serial },
                4 => Record::ReallocEnd { serial, address, size, stack },
                5 => Record::ReallocFailed { serial },
                6 => Record::ReallocFreed { serial },
                7 => Record::Map { address, length: size, stack, in_hook: flag },
                8 => Record::Unmap { address, length: size },
                9 => Record::UnmapFailed { address, length: size },
                10 => Record::Remap { old_address: size, old_length: 3, address, length: 5, stack },
                11 => Record::Break { from: size, address, stack, in_hook: flag },
                12 => Record::GapEnd { allocations: size, frees: address },
                13 => Record::Exit { code: stack as i32 },
                14 => Record::Fork { fork: stack },
                15 => Record::Owner { slot: stack, tid: u32::from(serial), time: size },
                16 => Record::Unsampled,
                17 => Record::Pause,
                18 => Record::Resume,
                19 => Record::ReportAlloc { pool: u32::from(serial), address, size, stack },
                20 => Record::ReportFree { pool: stack, address: size },
                21 => Record::ReportRealloc { pool: stack, old: size, address, size: !size, stack: log2 },
                22 => Record::Named(Named::Pool(stack)),
                23 => Record::FreeWithStack { address, stack },
                24 => Record::AllocFailed { size, alignment: address, count: !size, error: log2, stack },
                _ => Record::Time { time: size },
            },
        )
    }

    proptest! {
        /// Check that every record is decoded unchanged, from exactly its own words.
        #[test]
        fn records_round_trip(record in records(), delta in 0..DELTA_LIMIT) {
            let (words, length) = encode(record, delta);
            prop_assert!(length <= MAX_WORDS);
            prop_assert_eq!(decode(&words[..length]), Ok((delta, record, length)));
            prop_assert_eq!(decode(&words[..length - 1]).err(), Some(Corrupt::Length));
            let shape = shape(words[0]).unwrap();
            prop_assert_eq!((shape.delta, shape.words), (delta, length));
            let short = Short::of(words[0]).map(|short| (short.delta, short.address, short.is_free));
            let expected = match record {
                Record::Alloc { address, .. } if length == 2 => Some((delta, address, false)),
                Record::Free { address } if length == 1 => Some((delta, address, true)),
                _ => None,
            };
            prop_assert_eq!(short, expected);
        }

        /// Check that no input makes the decoder panic or take more words than there are.
        #[test]
        fn any_words_are_decoded_or_refused(words in proptest::collection::vec(any::<u64>(), 0..40), small in any::<bool>()) {
            let words: Vec<u64> = words.iter().map(|w| if small { w >> 32 } else { *w }).collect();
            if let Ok((_, _, length)) = decode(&words) {
                prop_assert!(length >= 1 && length <= words.len());
            }
            let refused = decode(&words).err().filter(|error| *error == Corrupt::Opcode);
            prop_assert_eq!(words.first().and_then(|first| shape(*first).err()), refused);
        }
    }

    /// Check that the common records are as small as the format promises.
    #[test]
    fn malloc_takes_two_words_and_free_one() {
        // The last two are a high block of a program, and the highest that fits.
        for address in [0x5581_2340, 0x7FFF_FFFF_F010, (1 << 48) - 16] {
            assert_eq!(encode(Record::Alloc { address, size: 24, alignment: 0, stack: 7 }, 3).1, 2);
            assert_eq!(encode(Record::Free { address }, 3).1, 1);
        }
    }

    /// Check the worked example of the documentation, and the words of every escape: the golden table of the wire
    /// format.
    #[test]
    fn wire_is_as_documented() {
        assert_eq!(short_alloc(0x5581_2340, 24, 7, 3), Some([0x0000_5581_2348_0003, 0x0000_0007_0000_0018]));
        assert_eq!(short_free(0x5581_2340, 3), Some(0x0000_5581_2340_0003));
        for (index, (opcode, length)) in Opcode::ALL.into_iter().enumerate() {
            assert_eq!(opcode as usize, index + 1);
            assert!(length <= MAX_WORDS);
        }
        assert_eq!(encode(Record::Owner { slot: 1, tid: 2, time: 3 }, 0).0[..3], [2 << 20, 1 << 32 | 2, 3]);
        assert_eq!(encode(Record::End, 5).0[0], 3 << 20 | 5);
        let alloc = Record::ReportAlloc { pool: 1, address: 2, size: 3, stack: 4 };
        assert_eq!(encode(alloc, 5).0[..4], [24 << 20 | 5, 2, 3, 4 << 32 | 1]);
        assert_eq!(encode(Record::ReportFree { pool: 1, address: 2 }, 0).0[..3], [25 << 20, 2, 1]);
        let realloc = Record::ReportRealloc { pool: 1, old: 2, address: 3, size: 4, stack: 5 };
        assert_eq!(encode(realloc, 0).0[..5], [26 << 20, 2, 3, 4, 5 << 32 | 1]);
        let free = Record::FreeWithStack { address: 2, stack: 3 };
        assert_eq!(encode(free, 5).0[..3], [29 << 20 | 5, 2, 3]);
        let failed = Record::AllocFailed { size: u64::MAX, alignment: 3, count: 2, error: 12, stack: 4 };
        assert_eq!(encode(failed, 5).0[..5], [30 << 20 | 5, u64::MAX, 3, 2, 4 << 32 | 12]);
        let moved = Record::Break { from: 2, address: 3, stack: 4, in_hook: true };
        assert_eq!(encode(moved, 5).0[..4], [14 << 20 | 5, 2, 3, 4 << 32 | 1]);
        assert_eq!(crate::PROTOCOL_VERSION, 10, "a change of the wire needs a new version");
    }

    /// Check that addresses and sizes that the short forms can't hold use the long forms.
    #[test]
    fn odd_blocks_take_the_long_form() {
        for (address, size) in
            [(0x1001, 1), (0xFFF0, 1), (0x7FFF_FFFF_FFF8, 1), (1 << 48, 1), (0x10_0000, 1 << 32)]
        {
            assert_eq!(short_alloc(address, size, 1, 0), None);
            let record = Record::Alloc { address, size, alignment: 0, stack: 1 };
            let (words, length) = encode(record, 0);
            assert_eq!(length, 4);
            assert_eq!(decode(&words[..length]), Ok((0, record, length)));
        }
    }
}
