//! Ruby's objects: what they are, and strings.
//!
//! Each begins with flags, of which the lowest five are its type. An object of the interpreter's own has its kind
//! above them.

use super::layout::Layout;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::text::Text;

/// Bits of the flags that tell what an object is, and, above 12, of which kind if it is the interpreter's own.
const TYPE: u64 = 0x1F;
const KIND: u64 = 0xF01F;

pub(crate) const CLASS: u64 = 0x02;
pub(crate) const MODULE: u64 = 0x03;
const STRING: u64 = 0x05;
const ARRAY: u64 = 0x07;
pub(crate) const SPECIAL_VARIABLES: u64 = 0x201A;
pub(crate) const METHOD_ENTRY: u64 = 0x601A;
pub(crate) const INSTRUCTION_SEQUENCE: u64 = 0x701A;

/// Strings elsewhere than in the object; arrays in it.
const USER_1: u64 = 1 << 13;
/// Before 3.2, the length of a string in the object.
const LENGTH_SHIFT: u32 = 14;
/// Types that are part of others.
const SPECIAL: u64 = 7;

/// The type of an object; `None` if it is none.
pub(crate) fn type_of(object: u64, memory: &mut KnownMemory) -> Option<u64> {
    if object == 0 || object & SPECIAL != 0 { None } else { Some(memory.word(object)? & TYPE) }
}

/// The kind of an object of the interpreter's own, with its type.
pub(crate) fn kind_of(object: u64, memory: &mut KnownMemory) -> Option<u64> {
    if object == 0 || object & SPECIAL != 0 { None } else { Some(memory.word(object)? & KIND) }
}

/// The text of the string at an address; `None` if there is none.
pub(crate) fn text(string: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<Text> {
    if type_of(string, memory)? != STRING {
        return None;
    }
    let flags = memory.word(string)?;
    let is_elsewhere = flags & USER_1 != 0;
    let at = |offset: u64| string.wrapping_add(offset);
    let length = if is_elsewhere || layout.have_strings_lengths {
        memory.word(at(16))?
    } else {
        flags >> LENGTH_SHIFT & 0x1F
    };
    let start = match (is_elsewhere, layout.have_strings_lengths) {
        (true, _) => memory.word(at(24))?,
        (false, true) => at(24),
        (false, false) => at(16),
    };
    (length <= i64::MAX as u64).then_some(Text { start, length })
}

/// The first element of a short array, or the object itself if it is none.
pub(crate) fn first_of(object: u64, memory: &mut KnownMemory) -> Option<u64> {
    if type_of(object, memory)? != ARRAY {
        return Some(object);
    }
    // Of two elements, so it is in the object.
    if memory.word(object)? & USER_1 == 0 { None } else { memory.word(object.checked_add(16)?) }
}
