//! What a process' memory pointed to at a moment, and the columns of such a scan in a file.
//!
//! A scan stops the process, and keeps each word of its writable memory that, as an address, lies in memory where
//! blocks may be. The events before it say which blocks were there; together they are the graph of the heap: which
//! block keeps which alive. Words that point to a C++ vtable tell the classes of objects.
//!
//! ```text
//!  pointers: | from: differences | to: differences    |
//!  objects:  | at: differences   | class: differences |
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{ProcessId, StringId};
use crate::varint;
use serde::{Deserialize, Serialize};

/// A moment at which a process was stopped and its memory searched for pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// The process that was scanned.
    pub process: ProcessId,
    /// Nanoseconds since the recording began, while the process was stopped: all its events up to this time came
    /// before the scan, all others after it.
    pub time: u64,
    /// Nanoseconds for which the process was stopped.
    pub still_ns: u64,
    /// Bytes that were searched.
    pub searched: u64,
    /// Bytes that could not be read; their pointers are missing.
    pub unread: u64,
    /// Pointers dropped for want of room.
    pub lost: u64,
    /// The areas that were searched, by address.
    pub areas: Vec<Area>,
}

/// A piece of a process' memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Its first address.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// What lies there.
    pub kind: AreaKind,
    /// For stacks, the thread's id; else 0.
    pub tid: u32,
    /// The mapped file; empty for none.
    pub name: StringId,
    /// For variables, where the beginning of their file is mapped; 0 where that is not known, and for other areas.
    pub base: u64,
}

/// What lies in an area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AreaKind {
    /// Anything else.
    #[default]
    Other,
    /// Variables of a program or library (`.data`, `.bss`).
    Variables,
    /// The part of a thread's stack in use, with the thread's registers at the lowest address.
    Stack,
    /// `[heap]`, which `brk` grows.
    Heap,
    /// Anonymous memory.
    Anonymous,
    /// Stale data on stacks: below the part in use, or of threads that have ended. It keeps nothing alive, unless it
    /// is a block itself.
    Left,
}

/// A word of memory that may be the address of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    /// Where the word lies.
    pub from: u64,
    /// Its value.
    pub to: u64,
}

/// A word of memory that points to the vtable of a C++ class, as the first word of an object of that class does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Where the word lies.
    pub at: u64,
    /// Name of the class.
    pub class: StringId,
}

/// Appends the columns of pointers.
pub(crate) fn put_pointers(pointers: &[Pointer], payload: &mut Vec<u8>) {
    put_pairs(pointers.iter().map(|pointer| (pointer.from, pointer.to)), payload);
}

/// Takes `count` pointers.
pub(crate) fn take_pointers(payload: &[u8], count: usize) -> Result<Vec<Pointer>, Malformed> {
    take_pairs(payload, count, |from, to| Ok(Pointer { from, to }))
}

/// Appends the columns of objects.
pub(crate) fn put_objects(objects: &[Object], payload: &mut Vec<u8>) {
    put_pairs(objects.iter().map(|object| (object.at, object.class.0.into())), payload);
}

/// Takes `count` objects, whose classes must be among the first `strings` strings.
pub(crate) fn take_objects(payload: &[u8], count: usize, strings: usize) -> Result<Vec<Object>, Malformed> {
    take_pairs(payload, count, |at, class| {
        let is_known = usize::try_from(class).is_ok_and(|class| class < strings);
        let class = u32::try_from(class).ok().filter(|_| is_known);
        let class = class.ok_or(Malformed("an object's class is no string of this file"))?;
        Ok(Object { at, class: StringId(class) })
    })
}

/// Appends two columns, one for each half of the pairs.
fn put_pairs(pairs: impl Iterator<Item = (u64, u64)>, payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 2] = Default::default();
    let [firsts, seconds] = &mut columns;
    let mut last = (0, 0);
    for pair in pairs {
        varint::put_delta(firsts, last.0, pair.0);
        varint::put_delta(seconds, last.1, pair.1);
        last = pair;
    }
    columns::join(&columns, payload);
}

/// Takes `count` pairs, and passes each to `make`.
fn take_pairs<T>(
    payload: &[u8],
    count: usize,
    make: impl Fn(u64, u64) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let [mut firsts, mut seconds] = columns::split::<2>(payload)?.map(|range| &payload[range]);
    // Each pair takes a byte of each column, so a hostile count alone allocates nothing.
    let mut made = Vec::with_capacity(count.min(firsts.len()));
    let (mut first, mut second) = (0, 0);
    for _ in 0..count {
        first = varint::take_delta(&mut firsts, first)?;
        second = varint::take_delta(&mut seconds, second)?;
        made.push(make(first, second)?);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that any pointers come back.
        #[test]
        fn pointers_come_back(pointers in prop::collection::vec(any::<(u64, u64)>(), 0..50)) {
            let pointers: Vec<Pointer> =
                pointers.into_iter().map(|(from, to)| Pointer { from, to }).collect();
            let mut payload = Vec::new();
            put_pointers(&pointers, &mut payload);
            prop_assert_eq!(take_pointers(&payload, pointers.len()), Ok(pointers));
        }

        /// Check that any objects come back if their classes are known, and are refused if one is not.
        #[test]
        fn objects_come_back(objects in prop::collection::vec((any::<u64>(), 0..9_u32), 0..50), strings in 0..9_usize) {
            let objects: Vec<Object> =
                objects.into_iter().map(|(at, class)| Object { at, class: StringId(class) }).collect();
            let mut payload = Vec::new();
            put_objects(&objects, &mut payload);
            let taken = take_objects(&payload, objects.len(), strings);
            match objects.iter().all(|object| object.class.index() < strings) {
                true => prop_assert_eq!(taken, Ok(objects)),
                false => prop_assert!(taken.is_err()),
            }
        }

        /// Check that arbitrary bytes give pointers or an error, and allocate nothing for pointers that are not
        /// there.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(pointers) = take_pointers(&payload, count) {
                prop_assert!(pointers.capacity() <= payload.len());
            }
            if let Ok(objects) = take_objects(&payload, count, 7) {
                prop_assert!(objects.capacity() <= payload.len());
                prop_assert!(objects.iter().all(|object| object.class.index() < 7));
            }
        }
    }
}
