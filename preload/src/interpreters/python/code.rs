//! Code objects: what they are called, which file they are from, and which line an instruction of theirs is in.

use super::layout::{Bytes, Layout};
use super::lines;
use super::text::{fingerprint, text};
use crate::interpreters::chain::ScriptFrame;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::{Place, mix};
use crate::modules::functions;
use unwind::SavedWord;

/// Longest table of lines that is read, in bytes.
const MOST: u64 = 1 << 22;

/// Bytes of either end of such a table that tell it from others.
const END: u64 = 64;

/// The hash of a string that has not been asked for it.
const UNKNOWN: u64 = u64::MAX;

/// A frame's code object.
pub(crate) struct CodeObject<'a> {
    pub(crate) layout: &'a Layout,
    /// What all code objects have for their type.
    pub(crate) kind: u64,
}

impl CodeObject<'_> {
    /// A number that the code object of a frame shares with no other one that was at its address, as far as their
    /// names, files or lines differ, of lines both ends of their table; `None` if it is no code object. `note` is given
    /// the words that hold as long as it is there.
    pub(crate) fn identity(
        &self,
        frame: &ScriptFrame,
        memory: &mut KnownMemory,
        mut note: impl FnMut(SavedWord),
    ) -> Option<u64> {
        let Self { layout, kind } = *self;
        let at = |offset: u16| frame.code.checked_add(offset.into());
        if memory.word(at(layout.kind)?)? != kind {
            return None;
        }
        let mut noted = |address: u64, memory: &mut KnownMemory| {
            let value = memory.word(address)?;
            note(SavedWord { address, value });
            Some(value)
        };
        let code = &layout.code;
        if code.version != 0 {
            let version = at(code.version)?;
            let word = noted(version & !7, memory)?;
            let version = if version.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 };
            if version != 0 {
                return Some(version.into());
            }
        }
        let name = noted(at(code.name)?, memory)?;
        let hash = noted(name.checked_add(layout.text.hash.into())?, memory)?;
        let lines = noted(at(code.lines)?, memory)?;
        let file = memory.word(at(code.file)?)?;
        let first = memory.number(at(code.first_line)?)?;
        let hash = if hash == UNKNOWN { self.text_of(name, memory) } else { hash };
        let identity = mix(mix(hash, self.text_of(file, memory)), first.into());
        Some(mix(mix(identity, lines), self.lines_of(lines, memory).unwrap_or(0)) | 1 << 63)
    }

    /// A number that tells a string from others by what it says: the hash that it keeps of itself, once it has one.
    fn text_of(&self, string: u64, memory: &mut KnownMemory) -> u64 {
        let text = &self.layout.text;
        let hash = string.checked_add(text.hash.into()).and_then(|place| memory.word(place));
        let known = hash.filter(|hash| *hash != UNKNOWN);
        known.or_else(|| fingerprint(string, text, memory)).unwrap_or(0)
    }

    /// A number that tells a table of lines from others by its length and both its ends: the same function made of
    /// other text may have got the place of the last one, and its table that of the last table.
    fn lines_of(&self, table: u64, memory: &mut KnownMemory) -> Option<u64> {
        let Bytes { length, content } = self.layout.bytes;
        let length = memory.word(table.checked_add(length.into())?)?;
        let start = table.checked_add(content.into())?;
        if length <= 2 * END {
            return Some(mix(length, memory.fingerprint(start, length)?));
        }
        let head = memory.fingerprint(start, END)?;
        let tail = memory.fingerprint(start.checked_add(length.saturating_sub(END))?, END)?;
        Some(mix(mix(length, head), tail))
    }

    /// What a frame's code object is called, and the line that the frame has reached. The function is 0 for code of
    /// the interpreter's own.
    pub(crate) fn place(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<Place> {
        let Self { layout, .. } = *self;
        let at = |offset: u16| frame.code.checked_add(offset.into());
        let name = memory.word(at(layout.code.name)?)?;
        let file = memory.word(at(layout.code.file)?)?;
        let first = memory.number(at(layout.code.first_line)?)?;
        // What cleans up after `__init__` is called like its file.
        if name == file && first == 0 || name == 0 || file == 0 {
            return Some(Place { function: 0, line: 0 });
        }
        let (Some(name), Some(file)) = (text(name, &layout.text, memory), text(file, &layout.text, memory))
        else {
            return Some(Place { function: functions::number(b"?", b""), line: 0 });
        };
        let function = functions::number(name.as_slice(), file.as_slice());
        let line = self.line(frame, first, memory).unwrap_or(0);
        Some(Place { function, line })
    }

    fn line(&self, frame: &ScriptFrame, first: u32, memory: &mut KnownMemory) -> Option<u32> {
        let Self { layout, .. } = *self;
        let table = memory.word(frame.code.checked_add(layout.code.lines.into())?)?;
        let length = memory.word(table.checked_add(layout.bytes.length.into())?)?.min(MOST);
        let start = table.checked_add(layout.bytes.content.into())?;
        let offset = self.offset(frame, memory)?;
        // A table that cannot be read ends there.
        let bytes = (0..length).map_while(|index| memory.byte(start.checked_add(index)?));
        Some(lines::line(layout.format, first, offset, bytes))
    }

    /// How far a frame's instruction is behind the beginning of its code, in bytes.
    fn offset(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<i64> {
        let Self { layout, .. } = *self;
        if layout.code.instructions == 0 {
            return Some(i64::from(frame.instruction as u32 as i32) * i64::from(layout.unit));
        }
        let mut start = frame.code.checked_add(layout.code.instructions.into())?;
        if layout.frame.copy != 0 {
            let number = memory.number(frame.frame.checked_add(layout.frame.copy.into())?)?;
            if number != 0 {
                // The table of copies: how many there are, and then their addresses.
                let copies = memory.word(frame.code.checked_add(layout.code.copies.into())?)?;
                start =
                    memory.word(copies.checked_add(8)?.checked_add(u64::from(number).checked_mul(8)?)?)?;
            }
        }
        Some(frame.instruction.wrapping_sub(start).cast_signed())
    }
}
