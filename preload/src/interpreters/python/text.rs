//! Python's strings, as UTF-8.

use super::layout::Text;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use shared_ring::record::name::MAX_NAME;

/// Where the characters of a string are.
#[derive(Clone, Copy, Debug)]
struct Characters {
    start: u64,
    /// As many as a name has room for at most.
    count: u64,
    /// Bytes of one.
    width: u64,
}

impl Characters {
    /// Those of the string at an address; `None` if there is none, or one that is written as before Python 3.3.
    fn of(address: u64, layout: &Text, memory: &mut KnownMemory) -> Option<Self> {
        let state =
            memory.number(address.checked_add(layout.state.into())?)?.checked_shr(layout.kind.into())?;
        let count = memory.word(address.checked_add(layout.length.into())?)?.min(MAX_NAME as u64);
        let (width, is_compact, is_ascii) = (state & 7, state >> 3 & 1 != 0, state >> 4 & 1 != 0);
        if !is_compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        let start = if is_ascii { layout.ascii } else { layout.wide };
        Some(Self { start: address.checked_add(start.into())?, count, width: width.into() })
    }
}

/// The string at an address.
pub(crate) fn text(address: u64, layout: &Text, memory: &mut KnownMemory) -> Option<Name> {
    let Characters { start, count, width } = Characters::of(address, layout, memory)?;
    let mut text = Name::new();
    for index in 0..count {
        let at = start.wrapping_add(index.wrapping_mul(width));
        let word = memory.word(at & !7)? >> (8 * (at % 8));
        let number = match width {
            1 => u32::from(word as u8),
            2 => u32::from(word as u16),
            _ => word as u32,
        };
        // Surrogates stand for bytes of names of files that are no text.
        if !text.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)) {
            break;
        }
    }
    Some(text)
}

/// A number that tells the string at an address from others by what it says: for as much of it as a name has.
pub(crate) fn fingerprint(address: u64, layout: &Text, memory: &mut KnownMemory) -> Option<u64> {
    let Characters { start, count, width } = Characters::of(address, layout, memory)?;
    memory.fingerprint(start, count.wrapping_mul(width))
}
