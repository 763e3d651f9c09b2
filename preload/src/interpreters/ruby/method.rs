//! The class of the method that a frame runs.
//!
//! The frame's environment, or the outermost of those around it, has the method's entry, and that the class:
//!
//! ```text
//!  frame → environment of a block → … → of the method → method's entry → class → name
//! ```

use super::layout::{Classes, FRAME, Layout};
use super::object::{self, CLASS, METHOD_ENTRY, MODULE, SPECIAL_VARIABLES};
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use crate::modules::landmarks::{self, RUBY};

/// Words of an environment: the method's entry, what is around it, and flags.
pub(crate) const ENTRY: u64 = 16;
const AROUND: u64 = 8;
/// The flag of an environment that has none around it.
const IS_LOCAL: u64 = 2;
/// Most environments around each other.
const MOST: usize = 64;
/// Offset in a method's entry of its class.
const OWNER: u64 = 32;
/// Offset in an object of its class.
const CLASS_OF: u64 = 8;

/// Before 3.2: offset in a class of its further words, there of its variables, and in a table of those of their number
/// and of what there is of them.
const EXTENSION: u64 = 24;
const VARIABLES: u64 = 8;
const BOUND: u64 = 40;
const ENTRIES: u64 = 48;
/// Bytes of an entry, which has a hash, a key and a value.
const ENTRY_BYTES: u64 = 24;
/// Most variables that are looked at.
const MOST_VARIABLES: u64 = 256;

/// In 3.2: offset in a class of its variables' values.
const VALUES: u64 = 32;

/// From 3.3: offsets in a class of what a class of one object alone belongs to, of flags, and of its name.
const ATTACHED: u64 = 128;
const FLAGS: u64 = 144;
const PATH: u64 = 152;
/// The flag of a name that stays.
const IS_PERMANENT: u64 = 1 << 40;

/// Appends the class of the method that a frame runs, with `#` or `.` behind it; `None` if it has no name, or cannot be
/// read.
pub(crate) fn append_class(
    frame: u64,
    layout: &Layout,
    name: &mut Name,
    memory: &mut KnownMemory,
) -> Option<()> {
    let class = class_of(frame, memory)?;
    match attached(class, layout, memory) {
        Some(object) => {
            append_name(object, layout, name, memory)?;
            name.append(b".");
        }
        None => {
            append_name(class, layout, name, memory)?;
            name.append(b"#");
        }
    }
    Some(())
}

/// The class that has the method.
fn class_of(frame: u64, memory: &mut KnownMemory) -> Option<u64> {
    let mut environment = memory.word(frame.checked_add(FRAME.previous.into())?)?;
    for _ in 0..MOST {
        let is_local = memory.word(environment)? & IS_LOCAL != 0;
        let mut entry = memory.word(environment.checked_sub(ENTRY)?)?;
        if is_local && object::kind_of(entry, memory) == Some(SPECIAL_VARIABLES) {
            entry = memory.word(entry.checked_add(8)?)?;
        }
        if object::kind_of(entry, memory) == Some(METHOD_ENTRY) {
            return memory.word(entry.checked_add(OWNER)?);
        }
        if is_local {
            return None;
        }
        environment = memory.word(environment.checked_sub(AROUND)?)? & !3;
    }
    None
}

fn is_class(object: u64, memory: &mut KnownMemory) -> bool {
    matches!(object::type_of(object, memory), Some(CLASS | MODULE))
}

/// The class or module that a class is that of, if it is one of its own.
fn attached(class: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<u64> {
    let is_it = |object: u64, memory: &mut KnownMemory| {
        is_class(object, memory) && memory.word(object.wrapping_add(CLASS_OF)) == Some(class)
    };
    match layout.classes {
        Classes::Variables => variable(class, memory, |_, value, memory| is_it(value, memory)),
        Classes::FirstVariable => first_variable(class, memory).filter(|object| is_it(*object, memory)),
        Classes::Words => {
            let object = memory.word(class.checked_add(ATTACHED)?)?;
            is_it(object, memory).then_some(object)
        }
    }
}

fn append_name(class: u64, layout: &Layout, name: &mut Name, memory: &mut KnownMemory) -> Option<()> {
    if !is_class(class, memory) {
        return None;
    }
    let path = match layout.classes {
        Classes::Variables => {
            let key = name_key(layout, memory)?;
            variable(class, memory, |other, _, _| other == key)?
        }
        Classes::FirstVariable => {
            first_variable(class, memory).filter(|path| is_constant(*path, layout, memory))?
        }
        Classes::Words => {
            let is_permanent = memory.word(class.checked_add(FLAGS)?)? & IS_PERMANENT != 0;
            if !is_permanent {
                return None;
            }
            memory.word(class.checked_add(PATH)?)?
        }
    };
    let text = object::text(path, layout, memory)?;
    text.append_to(name, 0..text.length, memory)
}

/// The value of the first variable of a class of 3.2.
fn first_variable(class: u64, memory: &mut KnownMemory) -> Option<u64> {
    let values = memory.word(class.checked_add(VALUES)?)?;
    if values == 0 { None } else { memory.word(values) }
}

/// True for a text that names a constant, and not what a program keeps in a class.
fn is_constant(path: u64, layout: &Layout, memory: &mut KnownMemory) -> bool {
    let mut first = Name::new();
    let text = object::text(path, layout, memory).filter(|text| text.length != 0);
    let is_read = text.is_some_and(|text| text.append_to(&mut first, 0..1, memory).is_some());
    is_read && matches!(first.as_slice(), [b'A'..=b'Z' | 0x80..])
}

/// The key of the hidden variable that has a class' name: that by which `Object` has its own.
fn name_key(layout: &Layout, memory: &mut KnownMemory) -> Option<u64> {
    let object = memory.word(RUBY.address(landmarks::Ruby::Object as usize))?;
    let mut key = 0;
    variable(object, memory, |other, value, memory| {
        let mut name = Name::new();
        let text = object::text(value, layout, memory);
        let is_it = text.is_some_and(|text| text.append_to(&mut name, 0..text.length, memory).is_some())
            && name.as_slice() == b"Object";
        if is_it {
            key = other;
        }
        is_it
    })?;
    Some(key)
}

/// The value of the first variable of a class that is the one wanted, by key and value.
fn variable(
    class: u64,
    memory: &mut KnownMemory,
    mut is_it: impl FnMut(u64, u64, &mut KnownMemory) -> bool,
) -> Option<u64> {
    let extension = memory.word(class.checked_add(EXTENSION)?)?;
    let table = memory.word(extension.checked_add(VARIABLES)?)?;
    let bound = memory.word(table.checked_add(BOUND)?)?.min(MOST_VARIABLES);
    let entries = memory.word(table.checked_add(ENTRIES)?)?;
    for index in 0..bound {
        let entry = entries.checked_add(index.wrapping_mul(ENTRY_BYTES))?;
        let (hash, key, value) =
            (memory.word(entry)?, memory.word(entry.checked_add(8)?)?, memory.word(entry.checked_add(16)?)?);
        // One that was deleted has this hash.
        if hash != u64::MAX && is_it(key, value, memory) {
            return Some(value);
        }
    }
    None
}
