//! Functions that an interpreter in the program runs: their names, until a recording wants them.
//!
//! A function is a number from 1, the same for equal names and files, for the life of the process and of its forked
//! children. Names are kept here, so functions may be named before there is a recording. Each is described in the
//! module log when it first occurs in a stack of a recording; the pc table refers to it by the number of that
//! description, its *serial*.
//!
//! ```text
//!  index     slots: number of the function whose hash led there, 0 while free
//!  entries   by number: where its text begins, its two lengths, its serial in this recording
//!  text      name and file, one behind the other, in whole words
//! ```
//!
//! All of it is private memory: 10 MiB of address space, of which only used pages become resident. It is mapped at
//! the first name and filled with atomic operations only, so a signal handler may name functions, too.

use crate::platform::hash::{END, fnv, words};
use crate::platform::sys;
use crate::process::{self, Session};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use shared_ring::module_log::{Described, Function};
use shared_ring::record::name::MAX_NAME;

/// Most functions of a process.
const FUNCTIONS: usize = 1 << 16;
/// Slots of the index: twice as many, so that a search is short.
const SLOTS: usize = 2 * FUNCTIONS;
/// Words of all names together.
const WORDS: usize = 1 << 20;

/// A named function. Zeroed memory is one that has not been named yet.
#[derive(Debug)]
struct Entry {
    /// First word of its text.
    start: AtomicU32,
    /// Length of its name in bytes; that of its file in the upper half.
    lengths: AtomicU32,
    /// Serial of its description in the module log, 0 while there is none.
    serial: AtomicU32,
}

/// All named functions.
#[derive(Debug)]
struct Table {
    /// Numbers assigned so far.
    functions: AtomicU32,
    /// Words of `text` in use.
    words: AtomicU32,
    index: [AtomicU32; SLOTS],
    entries: [Entry; FUNCTIONS],
    text: [AtomicU64; WORDS],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

/// The number of a function, identified by the first [`MAX_NAME`] bytes of its name and file each; 0 when there are
/// too many functions.
#[cold]
pub(crate) fn number(name: &[u8], file: &[u8]) -> u32 {
    let texts = [name, file].map(|text| text.get(..MAX_NAME).unwrap_or(text));
    table().or_else(map).and_then(|table| table.number(texts)).unwrap_or(0)
}

/// The serial of a function's description in this recording, which is appended if need be. 0 for no function, and
/// when there is no room for more descriptions.
// Cost: three loads and a compare once it is described.
#[inline]
pub(crate) fn serial(number: u32, session: &Session) -> u32 {
    let Some(table) = table() else { return 0 };
    let Some(entry) = table.entry(number) else { return 0 };
    match entry.serial.load(Ordering::Relaxed) {
        0 => table.describe(entry, session),
        known => known,
    }
}

/// Another recording begins, to which no function was described yet. Nobody takes stacks meanwhile.
#[cold]
pub(crate) fn begin() {
    if let Some(table) = table() {
        table.entries.iter().take(table.count()).for_each(|entry| entry.serial.store(0, Ordering::Relaxed));
    }
}

fn table() -> Option<&'static Table> {
    // Acquire pairs with the exchange in `map`.
    let table = TABLE.load(Ordering::Acquire);
    // SAFETY: null, or mapped zeroed with this size, which is valid for atomics, and never unmapped.
    unsafe { table.as_ref() }
}

#[cold]
fn map() -> Option<&'static Table> {
    let fresh = sys::map_sparse(size_of::<Table>()).cast::<Table>();
    let first =
        TABLE.compare_exchange(core::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if !first && !fresh.is_null() {
        // SAFETY: mapped above and known to nobody else.
        unsafe { sys::unmap(fresh.cast(), size_of::<Table>()) };
    }
    table()
}

impl Table {
    fn count(&self) -> usize {
        (self.functions.load(Ordering::Acquire) as usize).min(FUNCTIONS)
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        let index = (number as usize).checked_sub(1).filter(|index| *index < self.count())?;
        self.entries.get(index)
    }

    fn number(&self, texts: [&[u8]; 2]) -> Option<u32> {
        let start = hash(texts);
        let mut mine = None;
        for step in 0..SLOTS {
            let slot = self.index.get(start.wrapping_add(step) % SLOTS)?;
            // Acquire pairs with the exchange below: the entry is filled in.
            let mut found = slot.load(Ordering::Acquire);
            if found == 0 {
                let number = match mine {
                    Some(number) => number,
                    None => *mine.insert(self.enter(texts)?),
                };
                match slot.compare_exchange(0, number, Ordering::Release, Ordering::Acquire) {
                    Ok(_) => return Some(number),
                    // Another thread or a signal handler was first, perhaps with the same function.
                    Err(other) => found = other,
                }
            }
            if self.entry(found).is_some_and(|entry| self.has(entry, texts)) {
                return Some(found);
            }
        }
        None
    }

    /// Assigns a number to a function and keeps its texts.
    fn enter(&self, [name, file]: [&[u8]; 2]) -> Option<u32> {
        let count = name.len().wrapping_add(file.len()).div_ceil(8);
        let start = take(&self.words, count as u32, WORDS as u32)?;
        let index = take(&self.functions, 1, FUNCTIONS as u32)?;
        let mut bytes = name.iter().chain(file);
        for word in self.text.iter().skip(start as usize).take(count) {
            let mut packed = [0; 8];
            for (to, from) in packed.iter_mut().zip(&mut bytes) {
                *to = *from;
            }
            word.store(u64::from_le_bytes(packed), Ordering::Relaxed);
        }
        let entry = self.entries.get(index as usize)?;
        entry.start.store(start, Ordering::Relaxed);
        entry.lengths.store((file.len() as u32) << 16 | name.len() as u32, Ordering::Relaxed);
        Some(index.wrapping_add(1))
    }

    /// The bytes of both texts.
    fn bytes(&self, entry: &Entry) -> impl Iterator<Item = u8> {
        let [name, file] = lengths(entry);
        let start = entry.start.load(Ordering::Relaxed) as usize;
        let words = self.text.iter().skip(start).map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        words.flatten().take(name.wrapping_add(file))
    }

    fn has(&self, entry: &Entry, texts: [&[u8]; 2]) -> bool {
        lengths(entry) == texts.map(<[u8]>::len) && self.bytes(entry).eq(texts.into_iter().flatten().copied())
    }

    /// Describes a function to the recording. Two threads may do so at once; both descriptions are true.
    #[cold]
    #[inline(never)]
    fn describe(&self, entry: &Entry, session: &Session) -> u32 {
        let [name, file] = lengths(entry);
        let mut bytes = [0; 2 * MAX_NAME];
        for (to, from) in bytes.iter_mut().zip(self.bytes(entry)) {
            *to = from;
        }
        let (name, rest) = bytes.split_at(name.min(MAX_NAME));
        let file = rest.get(..file).unwrap_or(&[]);
        let serial =
            session.describe(Described::Function(Function { slot: process::slot_index(), name, file }));
        entry.serial.store(serial, Ordering::Relaxed);
        serial
    }
}

/// Lengths of name and file.
fn lengths(entry: &Entry) -> [usize; 2] {
    let lengths = entry.lengths.load(Ordering::Relaxed);
    [lengths as usize & 0xFFFF, lengths as usize >> 16]
}

/// Takes `count` from a counter that may reach `most`.
fn take(from: &AtomicU32, count: u32, most: u32) -> Option<u32> {
    let taken = |before: u32| before.checked_add(count).filter(|after| *after <= most);
    from.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).ok()
}

/// Hash of both texts, with a separator between them.
fn hash([name, file]: [&[u8]; 2]) -> usize {
    let hash = fnv(words(name).chain([END]).chain(words(file)));
    (hash ^ hash >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0u8..3, 0..4)
    }

    proptest! {
        /// Check that functions have one number if they have one name and one file, whoever names them first, and
        /// that their texts can be read back.
        #[test]
        fn equal_texts_are_one_function(named in proptest::collection::vec((bytes(), bytes()), 1..50)) {
            let mut numbers = HashMap::new();
            for (name, file) in &named {
                let found = number(name, file);
                prop_assert_ne!(found, 0);
                prop_assert_eq!(*numbers.entry((name, file)).or_insert(found), found);
                let table = table().expect("there is a function");
                let entry = table.entry(found).expect("it was just named");
                prop_assert!(table.has(entry, [name, file]));
                prop_assert_eq!(table.bytes(entry).collect::<Vec<_>>(), [&name[..], file].concat());
            }
            let different: std::collections::HashSet<_> = numbers.values().collect();
            prop_assert_eq!(different.len(), numbers.len());
        }
    }

    /// Check that long texts are cut, that a cut text names the same function again, and that threads which name the
    /// same functions at once agree.
    #[test]
    fn threads_agree_on_numbers() {
        let long = [b'x'; 300];
        assert_eq!(number(&long, &long), number(&long[..MAX_NAME], &long[..MAX_NAME]));
        assert_ne!(number(&long, &long), number(&long[..MAX_NAME - 1], &long));
        let all = || (0..2000u32).map(|name| number(&name.to_le_bytes(), b"of threads")).collect::<Vec<_>>();
        let found: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it only names")).collect()
        });
        assert!(found.iter().all(|numbers| *numbers == found[0] && !numbers.contains(&0)));
    }

    /// Check that a counter stops when it is full.
    #[test]
    fn no_more_is_taken_than_there_is() {
        let count = AtomicU32::new(0);
        assert_eq!([3, 5, 2, 1].map(|of| take(&count, of, 10)), [Some(0), Some(3), Some(8), None]);
        assert_eq!(take(&count, u32::MAX, u32::MAX), None);
    }
}
