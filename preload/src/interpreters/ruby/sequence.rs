//! Instruction sequences: what they are called, which file they are from, and which line an instruction is in.

use super::layout::Layout;
use super::object;
use super::{lines, method};
use crate::interpreters::chain::ScriptFrame;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use crate::interpreters::text::Text;
use crate::interpreters::{Place, mix};
use crate::modules::functions;
use unwind::SavedWord;

/// Offset in a sequence of its body, and there of its instructions.
const BODY: u64 = 16;
const INSTRUCTIONS: u64 = 8;
/// Where the body says where it is from: path, and names without and with what kind of code it is, and lines.
const PATH: u64 = 64;
const BASE_LABEL: u64 = 72;
const LABEL: u64 = 80;
const FIRST_LINE: u64 = 88;
const FIRST_POSITION: u64 = 96;
/// The kind of sequence that is a method.
const METHOD: u32 = 1;
/// In a table of lines: entries, their number, and which instruction has which.
const LINES: u64 = 0;
const LINE_COUNT: u64 = 16;
const LINE_INDEX: u64 = 24;

/// A number that the sequence of a frame shares with no other one that was at its address, as far as their names, files
/// or lines differ; `None` if it is no sequence. `note` is given the words that hold as long as it is there.
pub(crate) fn identity(
    code: u64,
    layout: &Layout,
    memory: &mut KnownMemory,
    mut note: impl FnMut(SavedWord),
) -> Option<u64> {
    if object::kind_of(code, memory)? != object::INSTRUCTION_SEQUENCE {
        return None;
    }
    let mut noted = |address: u64, memory: &mut KnownMemory| {
        let value = memory.word(address)?;
        note(SavedWord { address, value });
        Some(value)
    };
    let body = noted(code.checked_add(BODY)?, memory)?;
    let at = |offset: u64| body.wrapping_add(offset);
    let path = noted(at(PATH), memory)?;
    let label = noted(at(LABEL), memory)?;
    let line = noted(at(FIRST_LINE), memory)?;
    let position = noted(at(FIRST_POSITION), memory)?;
    let path = object::text(object::first_of(path, memory)?, layout, memory)?;
    if let Some(last) = path.last_word() {
        noted(last, memory)?;
    }
    let label = object::text(label, layout, memory)?.fingerprint(memory)?;
    let table = at(layout.lines.into());
    let size = u64::from(memory.number(table.wrapping_add(LINE_COUNT))?);
    let identity = mix(mix(label, path.fingerprint(memory)?), mix(line, position));
    Some(mix(mix(identity, memory.word(at(INSTRUCTIONS))?), mix(memory.word(table)?, size)) | 1)
}

/// What a frame's sequence is called, and the line that the frame has reached.
pub(crate) fn place(frame: &ScriptFrame, layout: &Layout, memory: &mut KnownMemory) -> Option<Place> {
    let body = memory.word(frame.code.checked_add(BODY)?)?;
    let at = |offset: u64| body.wrapping_add(offset);
    let path = memory.word(at(PATH))?;
    let path = object::text(object::first_of(path, memory)?, layout, memory)?;
    let mut file = Name::new();
    path.append_to(&mut file, 0..path.length, memory)?;
    let name = name(frame, body, layout, memory)?;
    let function = functions::number(name.as_slice(), file.as_slice());
    let line = line(frame.instruction, body, layout, memory).unwrap_or(0);
    Some(Place { function, line })
}

/// The name, with the method's class before it if that has a name: `block in Row#fill`.
fn name(frame: &ScriptFrame, body: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<Name> {
    let label = object::text(memory.word(body.wrapping_add(LABEL))?, layout, memory)?;
    let base = object::text(memory.word(body.wrapping_add(BASE_LABEL))?, layout, memory)?;
    let before = label.length.saturating_sub(base.length);
    let end = Text { start: label.start.checked_add(before)?, length: label.length.min(base.length) };
    // Evaluated text: from 3.4 on it is labelled as such, and Ruby calls it by what it is evaluated in.
    let (label, before) = if end.equals(base, memory)? { (label, before) } else { (base, 0) };
    let mut name = Name::new();
    label.append_to(&mut name, 0..before, memory)?;
    if is_of_method(body, layout, memory) == Some(true) {
        // A class without a name, or one that cannot be read, leaves the method's.
        let mut owner = Name::new();
        if method::append_class(frame.frame, layout, &mut owner, memory).is_some() {
            name.append(owner.as_slice());
        }
    }
    label.append_to(&mut name, before..label.length, memory)?;
    Some(name)
}

/// True for a method, and for blocks and the like in one.
fn is_of_method(body: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<bool> {
    let local = memory.word(body.checked_add(layout.local.into())?)?;
    let body = memory.word(local.checked_add(BODY)?)?;
    Some(memory.number(body)? == METHOD)
}

fn line(instruction: u64, body: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<u32> {
    let table = body.checked_add(layout.lines.into())?;
    let at = |offset: u64| table.wrapping_add(offset);
    let entries = memory.word(at(LINES))?;
    let count = u64::from(memory.number(at(LINE_COUNT))?);
    let start = memory.word(body.checked_add(INSTRUCTIONS)?)?;
    // The instruction is the next one.
    let position = (instruction.checked_sub(start)? / 8).saturating_sub(1);
    let index = if count <= 1 {
        0
    } else {
        let table = memory.word(at(LINE_INDEX))?;
        lines::rank(position, |offset| memory.word(table.checked_add(offset)?))?.checked_sub(1)?
    };
    if index >= count {
        return None;
    }
    memory.number(entries.checked_add(index.checked_mul(layout.entry)?)?)
}
