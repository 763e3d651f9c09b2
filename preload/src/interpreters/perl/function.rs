//! What Perl's functions are called, and which file and line they have reached.

use super::layout::{Layout, Package, body, name, operation, position, value};
use crate::interpreters::Place;
use crate::interpreters::chain::ScriptFrame;
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use crate::interpreters::text::Text;
use crate::modules::functions;
use shared_ring::record::name::MAX_NAME;

/// Code that is no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    Main = 1,
    Text = 2,
    File = 3,
}

impl Kind {
    fn name(kind: u64) -> Option<&'static [u8]> {
        Some(match kind {
            _ if kind == Self::Main as u64 => b"<main>",
            // As `caller` calls it, and files as well, which it tells apart by a value of their own.
            _ if kind == Self::Text as u64 => b"(eval)",
            _ if kind == Self::File as u64 => b"(require)",
            _ => return None,
        })
    }
}

/// Added to the address of an operation: it is the one behind that which is executed.
pub(crate) const IS_BEHIND: u64 = 1;

/// Most operations of a statement that are looked at, and within each other.
const MOST_OPERATIONS: usize = 4096;
const DEEPEST: usize = 64;

/// What has the name of a function, or its kind if it is none; `None` if it is no code.
#[inline(always)]
pub(crate) fn name_of(code: u64, memory: &mut KnownMemory) -> Option<u64> {
    if code <= Kind::File as u64 {
        return Some(code);
    }
    let own = memory.word(code.checked_add(value::BODY)?)?;
    memory.word(own.checked_add(body::SYMBOL_OF_CODE)?)
}

/// How often code is running.
pub(crate) fn depth(code: u64, memory: &mut KnownMemory) -> Option<u32> {
    let own = memory.word(code.checked_add(value::BODY)?)?;
    memory.number(own.checked_add(body::DEPTH_OF_CODE)?)
}

/// Where a frame is: one of this function, at this position.
pub(crate) fn place(
    frame: &ScriptFrame,
    [code, name]: [u64; 2],
    has_threads: bool,
    layout: &Layout,
    memory: &mut KnownMemory,
) -> Option<Place> {
    let ScriptFrame { code: position, instruction: operation, .. } = *frame;
    let mut called = Name::new();
    match Kind::name(code) {
        Some(name) => called.append(name),
        None => append_name(&mut called, code, name, layout, memory)?,
    }
    let mut file = Name::new();
    let path = file_of(position, has_threads, memory)?;
    path.append_to(&mut file, 0..path.length, memory)?;
    if path.length == 0 {
        return Some(Place { function: 0, line: 0 });
    }
    let nearest = nearest(position, operation, layout, memory).unwrap_or(position);
    let line = memory.number(nearest.checked_add(position::LINE)?)?;
    Some(Place { function: functions::number(called.as_slice(), file.as_slice()), line })
}

/// The position that is nearest to an operation: the last one, or one within its statement that was optimised away
/// since it changes nothing but the line. `None` if there is none. As `Perl_closest_cop` finds it, by which `caller` and
/// messages have their lines.
fn nearest(position: u64, operation: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<u64> {
    let is_behind = operation & IS_BEHIND != 0;
    let wanted = operation & !IS_BEHIND;
    let at = |base: u64, offset: u64| base.checked_add(offset);
    let kind = |operation: u64, memory: &mut KnownMemory| memory.number(at(operation, operation::KIND)?);
    let sibling = |operation: u64, kind: u32, memory: &mut KnownMemory| {
        let has_one = kind & operation::HAS_SIBLING != 0;
        if has_one { memory.word(at(operation, operation::SIBLING)?) } else { Some(0) }
    };
    if wanted == 0 {
        return None;
    }
    // For each operation around the one that is looked at: its next sibling, and the nearest position so far there.
    let mut outer = [(0, 0); DEEPEST];
    let mut depth = 0_usize;
    let own = kind(position, memory)?;
    let (mut one, mut nearest) = (sibling(position, own, memory)?, position);
    let mut is_first = true;
    for _ in 0..MOST_OPERATIONS {
        if one == 0 {
            // All of these were looked at.
            depth = depth.checked_sub(1)?;
            (one, nearest) = *outer.get(depth)?;
            continue;
        }
        let own = kind(one, memory)?;
        let number = own & operation::NUMBER;
        if !is_first && number == 0 && memory.word(at(one, operation::TARGET)?)? == layout.next_state.into() {
            nearest = one;
        }
        let is_it = if is_behind {
            memory.word(at(one, operation::NEXT)?)? == wanted && number != layout.scope.into()
        } else {
            one == wanted
        };
        if is_it {
            return Some(nearest);
        }
        // Only the statement itself is looked at, not those behind it.
        let next = if is_first { 0 } else { sibling(one, own, memory)? };
        is_first = false;
        if own & operation::HAS_KIDS == 0 {
            one = next;
        } else {
            *outer.get_mut(depth)? = (next, nearest);
            depth = depth.wrapping_add(1);
            one = memory.word(at(one, operation::FIRST)?)?;
        }
    }
    None
}

/// Appends a function's name, with its package before it: `Row::fill`, `main::__ANON__`.
fn append_name(
    to: &mut Name,
    code: u64,
    symbol: u64,
    layout: &Layout,
    memory: &mut KnownMemory,
) -> Option<()> {
    if symbol == 0 {
        to.append(b"__ANON__");
        return Some(());
    }
    let at = |base: u64, offset: u64| base.checked_add(offset);
    let own = memory.word(at(code, value::BODY)?)?;
    let flags = memory.number(at(own, body::FLAGS_OF_CODE)?)?;
    let (package, name) = if flags & body::IS_NAMED != 0 {
        let is_lexical = flags & body::IS_LEXICAL != 0;
        (if is_lexical { 0 } else { memory.word(at(own, body::PACKAGE_OF_CODE)?)? }, symbol)
    } else {
        let symbol = memory.word(at(symbol, value::BODY)?)?;
        (memory.word(at(symbol, body::PACKAGE_OF_SYMBOL)?)?, memory.word(at(symbol, body::NAME_OF_SYMBOL)?)?)
    };
    if package != 0
        && let Some(package) = name_of_package(package, layout, memory)?
    {
        append(to, package, memory)?;
        to.append(b"::");
    }
    append(to, name, memory)
}

/// The name of a package; none if it was removed.
fn name_of_package(package: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<Option<u64>> {
    let at = |base: u64, offset: u64| base.checked_add(offset);
    if memory.number(at(package, value::FLAGS)?)? & value::HAS_NAME == 0 {
        return Some(None);
    }
    let own = memory.word(at(package, value::BODY)?)?;
    let named = match layout.package {
        Package::InBody => at(own, body::NAME_OF_PACKAGE)?,
        Package::BehindPlaces => {
            let most = memory.word(at(own, body::MOST_OF_PACKAGE)?)?;
            let places = memory.word(at(package, value::ARRAY)?)?;
            at(places, most.checked_add(1)?.checked_mul(8)?)?
        }
    };
    let name = memory.word(named)?;
    let has_list = memory.number(at(named, body::NAMES)?)? != 0;
    let name = if has_list && name != 0 { memory.word(name)? } else { name };
    Some((name != 0).then_some(name))
}

fn append(to: &mut Name, name: u64, memory: &mut KnownMemory) -> Option<()> {
    text(name, memory)?.append_to(to, 0..MAX_NAME as u64, memory)
}

/// The text of a name.
fn text(name: u64, memory: &mut KnownMemory) -> Option<Text> {
    let length = memory.number(name.checked_add(name::LENGTH)?)?;
    Some(Text { start: name.checked_add(name::TEXT)?, length: length.into() })
}

/// The file of a position.
fn file_of(position: u64, has_threads: bool, memory: &mut KnownMemory) -> Option<Text> {
    let file = memory.word(position.checked_add(position::FILE.into())?)?;
    if file == 0 {
        return Some(Text { start: 0, length: 0 });
    }
    if has_threads {
        let is_end = |index: &u64| memory.byte(file.wrapping_add(*index)) == Some(0);
        let length = (0..MAX_NAME as u64).find(is_end).unwrap_or(MAX_NAME as u64);
        return Some(Text { start: file, length });
    }
    // The name of a symbol, behind two characters.
    let symbol = memory.word(file.checked_add(value::BODY)?)?;
    let name = text(memory.word(symbol.checked_add(body::NAME_OF_SYMBOL)?)?, memory)?;
    Some(Text { start: name.start.checked_add(2)?, length: name.length.saturating_sub(2) })
}
