//! Functions of scripts: what they are called, which file they are from, and which line a frame has reached.

use super::layout::{CLASS_NAME, HASH, INSTRUCTION, LENGTH, LINE, Layout, NAME, OPCODE, SCOPE, TEXT};
use crate::interpreters::chain::ScriptFrame;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use crate::interpreters::text::Text;
use crate::interpreters::{Place, mix};
use crate::modules::functions;
use shared_ring::record::name::MAX_NAME;
use unwind::SavedWord;

/// The type of a function of the interpreter's, or of an extension's; those of scripts are 2 and, if evaluated, 4.
const INTERNAL: u8 = 1;
/// What code outside of functions is called where PHP itself prints a stack.
const MAIN: &[u8] = b"{main}";
/// The instruction that a frame is at while an exception leaves it.
const HANDLE_EXCEPTION: u8 = 149;

/// True for a function of a script; `None` if it is no function.
pub(crate) fn is_of_script(function: u64, memory: &mut KnownMemory) -> Option<bool> {
    match memory.byte(function)? {
        INTERNAL => Some(false),
        2 | 4 => Some(true),
        _ => None,
    }
}

/// A number that a function shares with no other one that was at its address, as far as their names, files or
/// lines differ; 0 for one that is not of a script, and `None` if it is no function. `note` is given the words that
/// hold as long as it is there.
pub(crate) fn identity(
    function: u64,
    layout: &Layout,
    memory: &mut KnownMemory,
    mut note: impl FnMut(SavedWord),
) -> Option<u64> {
    let mut noted = |address: u64, memory: &mut KnownMemory| {
        let value = memory.word(address)?;
        note(SavedWord { address, value });
        Some(value)
    };
    let at = |offset: u64| function.checked_add(offset);
    if !is_of_script(function, memory)? {
        noted(function, memory)?;
        return Some(0);
    }
    let name = noted(at(NAME)?, memory)?;
    let class = noted(at(SCOPE)?, memory)?;
    let instructions = noted(at(layout.instructions.into())?, memory)?;
    let file = noted(at(layout.file.into())?, memory)?;
    let lines = noted(at(u64::from(layout.file).wrapping_add(8))?, memory)?;
    let text = text(file, memory)?;
    // Strings keep their hash once somebody has asked for it.
    let hash = file.checked_add(HASH)?;
    let tells = if memory.word(hash)? == 0 { text.last_word().unwrap_or(hash) } else { hash };
    noted(tells, memory)?;
    let named = if name == 0 { 0 } else { self::text(name, memory)?.fingerprint(memory)? };
    let identity = mix(mix(named, text.fingerprint(memory)?), mix(class, lines));
    Some(mix(identity, instructions) | 1)
}

/// What a frame's function is called, and the line that the frame has reached.
pub(crate) fn place(frame: &ScriptFrame, layout: &Layout, memory: &mut KnownMemory) -> Option<Place> {
    let at = |offset: u64| frame.code.checked_add(offset);
    let mut file = Name::new();
    let path = text(memory.word(at(layout.file.into())?)?, memory)?;
    path.append_to(&mut file, 0..path.length, memory)?;
    let name = name(frame.code, memory)?;
    let function = functions::number(name.as_slice(), file.as_slice());
    Some(Place { function, line: line(frame, layout, memory).unwrap_or(0) })
}

/// The name, with its class before it: `Row::fill`, `Row::{closure}`.
fn name(function: u64, memory: &mut KnownMemory) -> Option<Name> {
    let mut name = Name::new();
    let own = memory.word(function.checked_add(NAME)?)?;
    if own == 0 {
        name.append(MAIN);
        return Some(name);
    }
    let class = memory.word(function.checked_add(SCOPE)?)?;
    if class != 0 {
        let text = text(memory.word(class.checked_add(CLASS_NAME)?)?, memory)?;
        // Behind a zero, that of a class without a name has the file and a number.
        let is_end = |index: &u64| memory.byte(text.start.wrapping_add(*index)) == Some(0);
        let length = (0..text.length.min(MAX_NAME as u64)).find(is_end).unwrap_or(text.length);
        text.append_to(&mut name, 0..length, memory)?;
        name.append(b"::");
    }
    let text = text(own, memory)?;
    text.append_to(&mut name, 0..text.length, memory)?;
    Some(name)
}

/// The line that a frame has reached.
pub(crate) fn line(frame: &ScriptFrame, layout: &Layout, memory: &mut KnownMemory) -> Option<u32> {
    let at = |offset: u16| frame.code.checked_add(offset.into());
    let start = memory.word(at(layout.instructions)?)?;
    let count = u64::from(memory.number(at(layout.count)?)?);
    let is_inside = |instruction: u64| {
        let offset = instruction.checked_sub(start)?;
        (offset % INSTRUCTION == 0 && offset / INSTRUCTION < count).then_some(instruction)
    };
    let instruction = match is_inside(frame.instruction) {
        Some(instruction) => instruction,
        None => {
            // It is one of the globals', and before it they have the one that has thrown.
            let opcode = memory.byte(frame.instruction.checked_add(OPCODE)?)?;
            let thrower = memory.word(frame.instruction.checked_sub(8)?)?;
            is_inside(thrower).filter(|_| opcode == HANDLE_EXCEPTION)?
        }
    };
    memory.number(instruction.checked_add(LINE)?)
}

/// The text of the string at an address; `None` if that is none.
fn text(string: u64, memory: &mut KnownMemory) -> Option<Text> {
    let length = memory.word(string.checked_add(LENGTH)?)?;
    (length <= i64::MAX as u64).then_some(Text { start: string.checked_add(TEXT)?, length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreters::php::layout::of_interface;
    use core::sync::atomic::{AtomicU64, Ordering};

    fn memory() -> KnownMemory {
        KnownMemory::unknown()
    }

    /// Words that stay.
    fn words(words: Vec<u64>) -> &'static [AtomicU64] {
        words.into_iter().map(AtomicU64::new).collect::<Vec<_>>().leak()
    }

    fn address(words: &[AtomicU64]) -> u64 {
        words.as_ptr().addr() as u64
    }

    fn kept(these: Vec<u64>) -> u64 {
        address(words(these))
    }

    fn string(text: &[u8]) -> u64 {
        let mut words = vec![1, 0, text.len() as u64];
        let padded = [text, &[0; 8]].concat();
        words.extend(padded.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        kept(words)
    }

    fn class(name: &[u8]) -> u64 {
        kept(vec![2, string(name)])
    }

    /// Instructions that have these lines.
    fn instructions(lines: &[u32]) -> u64 {
        kept(lines.iter().flat_map(|line| [0, 0, 0, u64::from(*line) | 60 << 32]).collect())
    }

    fn function(layout: &Layout, [name, class]: [u64; 2], lines: &[u32]) -> &'static [AtomicU64] {
        let mut these = vec![0_u64; 32];
        (these[0], these[1], these[2]) = (2, name, class);
        these[usize::from(layout.count) / 8] |= (lines.len() as u64) << (layout.count % 8 * 8);
        these[usize::from(layout.instructions) / 8] = instructions(lines);
        these[usize::from(layout.file) / 8] = string(b"/srv/app/row.php");
        these[usize::from(layout.file) / 8 + 1] = 3 | 9 << 32;
        words(these)
    }

    fn start(layout: &Layout, function: u64) -> u64 {
        memory().word(function + u64::from(layout.instructions)).expect("it is there")
    }

    fn layouts() -> impl Iterator<Item = Layout> {
        [20190902, 20200930, 20220829, 20230831, 20240924].into_iter().filter_map(of_interface)
    }

    /// Check names of functions, methods, closures, code outside of functions, and classes without a name.
    #[test]
    fn functions_have_their_class() {
        let class_of_row = class(b"App\\Row");
        let nameless = class(b"class@anonymous\0/srv/app/row.php:3$0");
        for (name, class, expected) in [
            (string(b"load"), 0, "load"),
            (string(b"fill"), class_of_row, "App\\Row::fill"),
            (string(b"{closure}"), class_of_row, "App\\Row::{closure}"),
            (string(b"own"), nameless, "class@anonymous::own"),
            (0, 0, "{main}"),
            (0, class_of_row, "{main}"),
        ] {
            for layout in layouts() {
                let function = function(&layout, [name, class], &[4]);
                let name = super::name(address(function), &mut memory()).expect("it can be read");
                assert_eq!(String::from_utf8_lossy(name.as_slice()), expected);
            }
        }
    }

    /// Check the line of an instruction, and that of the one that has thrown while an exception leaves a function.
    #[test]
    fn lines_are_those_of_instructions() {
        for layout in layouts() {
            let code = address(function(&layout, [string(b"f"), 0], &[4, 5, 7]));
            let line =
                |instruction: u64| line(&ScriptFrame { frame: 0, code, instruction }, &layout, &mut memory());
            let start = start(&layout, code);
            assert_eq!([0, 1, 2].map(|index| line(start + index * INSTRUCTION)), [Some(4), Some(5), Some(7)]);
            assert_eq!(line(start + 3 * INSTRUCTION), None, "behind the last");
            assert_eq!(line(start + 8), None, "within one");
            let thrown = |thrower, opcode: u8| kept(vec![thrower, 0, 0, 0, u64::from(opcode) << 32]) + 8;
            assert_eq!(line(thrown(start + INSTRUCTION, HANDLE_EXCEPTION)), Some(5));
            assert_eq!(line(thrown(start + INSTRUCTION, 60)), None, "another instruction");
            assert_eq!(line(thrown(start - 8, HANDLE_EXCEPTION)), None, "thrown elsewhere");
            assert_eq!(line(0), None);
        }
    }

    /// Check that a function is told from another one in its place by each word that its name or lines depend on, and
    /// that these words are noted; those of the interpreter are none of a script.
    #[test]
    fn functions_are_told_apart() {
        for layout in layouts() {
            let identity = |function: u64| {
                let mut noted = Vec::new();
                let identity = super::identity(function, &layout, &mut memory(), |word| noted.push(word));
                (identity, noted)
            };
            let words = function(&layout, [string(b"f"), 0], &[4, 5]);
            let function = address(words);
            let (before, noted) = identity(function);
            assert_eq!(noted.len(), 6);
            let own =
                noted.iter().filter_map(|word| words.get((word.address.checked_sub(function)? / 8) as usize));
            assert_eq!(own.clone().count(), 5, "the last one is the file's");
            for word in own {
                let value = word.fetch_xor(1 << 40, Ordering::Relaxed);
                assert_ne!(identity(function).0, before, "{layout:?}");
                word.store(value, Ordering::Relaxed);
            }
            assert_eq!(identity(function).0, before);
            assert_eq!(identity(kept(vec![1; 32])).0, Some(0), "a function of the interpreter");
            assert_eq!(identity(kept(vec![3; 32])).0, None);
            assert_eq!(identity(8).0, None);
        }
    }
}
