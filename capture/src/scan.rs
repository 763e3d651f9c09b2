//! What the memory of a process referred to at a moment, and its columns in a file.
//!
//! A scan holds the process still, and keeps each word of its writable memory that, taken as an address, lies in memory where blocks
//! may be. Which blocks were there is what the events before it tell; so the two together are the graph of the heap: which block keeps
//! which alive.
//!
//! ```text
//!  +-------------------+-----------------+
//!  | from: differences | to: differences |
//!  +-------------------+-----------------+
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{ProcessId, StringId};
use crate::varint;
use serde::{Deserialize, Serialize};

/// A moment at which a process stood still and its memory was searched for pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// Whose memory.
    pub process: ProcessId,
    /// Nanoseconds since the recording began, somewhere within the time in which it stood still: all events of the process that are
    /// not later were before it, and all others behind it.
    pub time: u64,
    /// Nanoseconds for which the process stood still.
    pub still_ns: u64,
    /// Bytes that were searched.
    pub searched: u64,
    /// Bytes that could not be read, whose pointers are missing.
    pub unread: u64,
    /// Pointers that there was no room for.
    pub lost: u64,
    /// What was searched, by address.
    pub areas: Vec<Area>,
}

/// A piece of a process' memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Its first address.
    pub start: u64,
    /// The address behind its last.
    pub end: u64,
    /// What lies there.
    pub kind: AreaKind,
    /// The thread whose stack it is; 0 for other areas.
    pub tid: u32,
    /// The file that it is mapped from; empty for none.
    pub name: StringId,
    /// Of variables, where the beginning of their file is mapped; 0 where that is not known, and for other areas.
    pub base: u64,
}

/// What lies in an area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AreaKind {
    /// Something else.
    #[default]
    Other,
    /// Variables of a program or library.
    Variables,
    /// The part of a thread's stack that is in use, with what the thread has in its registers at the lowest address.
    Stack,
    /// `[heap]`, which `brk` makes larger.
    Heap,
    /// Memory that no file holds.
    Anonymous,
    /// What threads have left on stacks, below the part in use or since they have ended: it keeps nothing alive, as far as it is no
    /// block.
    Left,
}

/// A word of memory that may be an address of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    /// Where the word lies.
    pub from: u64,
    /// What it holds.
    pub to: u64,
}

/// Appends the columns of these pointers.
pub(crate) fn put_pointers(pointers: &[Pointer], payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 2] = Default::default();
    let [froms, tos] = &mut columns;
    let (mut from, mut to) = (0, 0);
    for pointer in pointers {
        varint::put_delta(froms, from, pointer.from);
        varint::put_delta(tos, to, pointer.to);
        (from, to) = (pointer.from, pointer.to);
    }
    columns::join(&columns, payload);
}

/// Takes so many pointers.
pub(crate) fn take_pointers(payload: &[u8], count: usize) -> Result<Vec<Pointer>, Malformed> {
    let [mut froms, mut tos] = columns::split::<2>(payload)?.map(|range| &payload[range]);
    // Each pointer takes a byte of each column, so a count alone takes no memory.
    let mut pointers = Vec::with_capacity(count.min(froms.len()));
    let (mut from, mut to) = (0, 0);
    for _ in 0..count {
        from = varint::take_delta(&mut froms, from)?;
        to = varint::take_delta(&mut tos, to)?;
        pointers.push(Pointer { from, to });
    }
    Ok(pointers)
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

        /// Check that arbitrary bytes give pointers or an error, and no memory for what is not there.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(pointers) = take_pointers(&payload, count) {
                prop_assert!(pointers.capacity() <= payload.len());
            }
        }
    }
}
