//! Descriptions of modules, and of functions that an interpreter runs: written by agents, and referred to by pcs.
//!
//! An append-only log of words. The serial of a description is its position, so the collector finds it without a
//! search; and even a process that lives only five milliseconds leaves its modules here.
//!
//! ```text
//!  word 0   length in words, published last │ bit 63: filled in
//!  word 1   start of the mapping
//!  word 2   end of the mapping
//!  word 3   load bias: address in the process − address in the file
//!  word 4   device of the mapped file
//!  word 5   inode of the mapped file
//!  word 6   time of its last modification
//!  word 7   process slot (32) │ bytes of build id (16) │ bytes of path (16)
//!  word 8…  build id, then path, packed
//! ```
//!
//! A function has no place in memory: words 1 to 6 are 0, and its name and file take the place of a module's build id
//! and path. The address of a pc in it is its line, see [`crate::pc_table::Pc::of_line`].

use crate::error::Corrupt;
use crate::primitive::{AtomicU64, Ordering};
use crate::record::name::MAX_NAME;

const HEADER: usize = 8;
/// The word with the slot and the lengths.
const SIZES: usize = HEADER - 1;
const FILLED: u64 = 1 << 63;
/// Longest path that is stored; longer ones are cut off.
pub const MAX_PATH: usize = 4096;
/// Longest build id that is stored.
pub const MAX_BUILD_ID: usize = 64;

/// A module as the agent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module<'a> {
    /// First mapped address.
    pub start: u64,
    /// Address after the last mapped one.
    pub end: u64,
    /// Address in the process − address in the file.
    pub bias: u64,
    /// Slot of the process that described it.
    pub slot: u32,
    /// GNU build id; empty for none.
    pub build_id: &'a [u8],
    /// The mapped file; its path may lead elsewhere by now.
    pub file: MappedFile,
    /// Path as the process knows it.
    pub path: &'a [u8],
}

/// Which file is mapped, as the kernel lists it (`/proc/PID/maps`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// Device, which `stat` gives differently on some file systems (btrfs, overlayfs).
    pub device: u64,
    /// Inode; 0 if it is not known which file is mapped.
    pub inode: u64,
    /// When it was last modified, in nanoseconds since the Unix epoch; 0 if the path did not lead to it when the
    /// module was described.
    pub modified_ns: u64,
}

/// A function that an interpreter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Slot of the process that described it.
    pub slot: u32,
    /// Its name; the first [`MAX_NAME`] bytes count.
    pub name: &'a [u8],
    /// Its file, likewise; empty when it has none.
    pub file: &'a [u8],
}

/// What a description describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described<'a> {
    /// Native code.
    Module(Module<'a>),
    /// Something that an interpreter runs.
    Function(Function<'a>),
}

impl Described<'_> {
    /// Words 1 to 6, the slot, and the two texts.
    fn parts(&self) -> ([u64; 6], u32, &[u8], &[u8]) {
        match self {
            Described::Module(Module { start, end, bias, slot, build_id, file, path }) => {
                let MappedFile { device, inode, modified_ns } = *file;
                let words = [*start, *end, *bias, device, inode, modified_ns];
                (words, *slot, cut(build_id, MAX_BUILD_ID), cut(path, MAX_PATH))
            }
            Described::Function(Function { slot, name, file }) => {
                ([0; 6], *slot, cut(name, MAX_NAME), cut(file, MAX_NAME))
            }
        }
    }
}

/// The first bytes of a text, at most `most`.
fn cut(text: &[u8], most: usize) -> &[u8] {
    text.get(..most).unwrap_or(text)
}

/// The log.
#[derive(Clone, Copy, Debug)]
pub struct ModuleLog<'a> {
    /// All words; word 0 is never used, so that serial 0 means *no module*.
    pub(crate) words: &'a [AtomicU64],
    /// Number of words taken.
    pub(crate) next: &'a AtomicU64,
}

/// A description copied out of the log.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    bytes: [u8; MAX_PATH + MAX_BUILD_ID + 8],
    /// Lengths of the two texts, which are stored one after another in `bytes`.
    lengths: [usize; 2],
    start: u64,
    end: u64,
    bias: u64,
    file: MappedFile,
    slot: u32,
    /// Serial of the description after this one.
    pub next: u32,
}

impl Entry {
    /// What the entry describes.
    pub fn described(&self) -> Described<'_> {
        let [first, second] = self.lengths;
        let (first, rest) = self.bytes.split_at(first.min(self.bytes.len()));
        let second = rest.get(..second).unwrap_or(&[]);
        if self.end == 0 {
            return Described::Function(Function { slot: self.slot, name: first, file: second });
        }
        Described::Module(Module {
            start: self.start,
            end: self.end,
            bias: self.bias,
            slot: self.slot,
            build_id: first,
            file: self.file,
            path: second,
        })
    }
}

impl ModuleLog<'_> {
    /// Serial of the first description.
    pub const FIRST: u32 = 1;

    /// Appends a description and returns its serial; `None` when the log is full or cannot be opened. `open` is
    /// called before words are touched, with the number of words that must be accessible, and returns whether they
    /// are.
    pub fn append(&self, described: Described<'_>, open: impl Fn(usize) -> bool) -> Option<u32> {
        let ([from, to, bias, device, inode, modified], slot, first, second) = described.parts();
        let length = HEADER + (first.len() + second.len()).div_ceil(8);
        // Relaxed: the words are published by the Release store below; the counter only hands out room.
        let start = self.next.fetch_add(length as u64, Ordering::Relaxed) as usize;
        let words = self.words.get(start..start.checked_add(length)?)?;
        if !open(start + length) {
            return None;
        }
        let sizes = u64::from(slot) << 32 | (first.len() as u64) << 16 | second.len() as u64;
        let mut bytes = first.iter().chain(second);
        let (header, text) = words.split_at(HEADER);
        let fields = [length as u64, from, to, bias, device, inode, modified, sizes];
        for (word, value) in header.iter().zip(fields) {
            word.store(value, Ordering::Relaxed);
        }
        for word in text {
            let mut packed = [0; 8];
            for (to, from) in packed.iter_mut().zip(&mut bytes) {
                *to = *from;
            }
            word.store(u64::from_le_bytes(packed), Ordering::Relaxed);
        }
        // Release pairs with the Acquire load in `read`.
        header.first()?.store(length as u64 | FILLED, Ordering::Release);
        u32::try_from(start).ok()
    }

    /// True when a description has found no room.
    pub fn is_full(&self) -> bool {
        // Relaxed: no other read depends on it.
        self.next.load(Ordering::Relaxed) > self.words.len() as u64
    }

    /// The description with this serial; `None` while it is not filled in.
    ///
    /// # Errors
    /// [`Corrupt::Module`] for an impossible description.
    pub fn read(&self, serial: u32) -> Result<Option<Entry>, Corrupt> {
        let words = self.words.get(serial as usize..).ok_or(Corrupt::Module)?;
        // Acquire pairs with the Release store in `append`.
        let Some(first) = words.first().map(|word| word.load(Ordering::Acquire)) else { return Ok(None) };
        if first & FILLED == 0 {
            return Ok(None);
        }
        let length = (first & !FILLED) as usize;
        let words = words.get(..length).ok_or(Corrupt::Module)?;
        let (header, text) = words.split_at_checked(HEADER).ok_or(Corrupt::Module)?;
        let field = |index: usize| header.get(index).map_or(0, |word| word.load(Ordering::Relaxed));
        let sizes = field(SIZES);
        let lengths @ [first, second] = [(sizes >> 16 & 0xFFFF) as usize, (sizes & 0xFFFF) as usize];
        let most = if field(2) == 0 { [MAX_NAME; 2] } else { [MAX_BUILD_ID, MAX_PATH] };
        if first > most[0] || second > most[1] || (first + second).div_ceil(8) > text.len() {
            return Err(Corrupt::Module);
        }
        let mut entry = Entry {
            bytes: [0; MAX_PATH + MAX_BUILD_ID + 8],
            lengths,
            start: field(1),
            end: field(2),
            bias: field(3),
            file: MappedFile { device: field(4), inode: field(5), modified_ns: field(6) },
            slot: (sizes >> 32) as u32,
            next: serial.saturating_add(length as u32),
        };
        for (to, word) in entry.bytes.chunks_mut(8).zip(text) {
            let packed = word.load(Ordering::Relaxed).to_le_bytes();
            let count = to.len();
            to.copy_from_slice(&packed[..count]);
        }
        Ok(Some(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two texts, and whether they are a function's.
    fn texts() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, bool)> {
        let text = |most| proptest::collection::vec(any::<u8>(), 0..most);
        (text(MAX_BUILD_ID), text(MAX_NAME), any::<bool>())
    }

    proptest! {
        /// Check that descriptions are read back unchanged, each by its own serial, and can be walked.
        #[test]
        fn descriptions_round_trip(texts in proptest::collection::vec(texts(), 1..20)) {
            let words: Vec<AtomicU64> = (0..4096).map(|_| AtomicU64::new(0)).collect();
            let next = AtomicU64::new(1);
            let log = ModuleLog { words: &words, next: &next };
            let all: Vec<Described<'_>> = (0..).zip(&texts).map(|(index, (first, second, is_function))| {
                if *is_function {
                    Described::Function(Function { slot: 4, name: first, file: second })
                } else {
                    let file = MappedFile { device: 5, inode: 6 + index, modified_ns: 7 };
                    Described::Module(Module { start: index, end: 2, bias: 3, slot: 4, build_id: first, file, path: second })
                }
            }).collect();
            let mut serials = Vec::new();
            for described in &all {
                serials.push(log.append(*described, |_| true).unwrap());
            }
            let mut walked = ModuleLog::FIRST;
            for (described, serial) in all.into_iter().zip(serials) {
                prop_assert_eq!(walked, serial);
                let entry = log.read(serial).unwrap().unwrap();
                prop_assert_eq!(entry.described(), described);
                walked = entry.next;
            }
            prop_assert!(log.read(walked).unwrap().is_none());
        }

        /// Check that hostile words are refused without a panic.
        #[test]
        fn hostile_words_are_refused(values in proptest::collection::vec(any::<u64>(), 0..64), serial in 0u32..80) {
            let words: Vec<AtomicU64> = values.into_iter().map(AtomicU64::new).collect();
            let next = AtomicU64::new(1);
            let read = ModuleLog { words: &words, next: &next }.read(serial);
            let _ = read.map(|entry| entry.map(|entry| entry.described().parts().0));
        }
    }

    /// Check that texts are cut to the stored length.
    #[test]
    fn long_texts_are_cut() {
        let words: Vec<AtomicU64> = (0..1024).map(|_| AtomicU64::new(0)).collect();
        let next = AtomicU64::new(1);
        let log = ModuleLog { words: &words, next: &next };
        let long = [b'x'; 2 * MAX_PATH];
        let kept = |described| {
            let serial = log.append(described, |_| true).unwrap();
            let entry = log.read(serial).unwrap().unwrap();
            let described = entry.described();
            let (_, _, first, second) = described.parts();
            (first.len(), second.len())
        };
        let function = Function { slot: 0, name: &long, file: &long };
        let module = Module {
            start: 1,
            end: 2,
            bias: 0,
            slot: 0,
            build_id: &long,
            file: MappedFile::default(),
            path: &long,
        };
        assert_eq!(kept(Described::Function(function)), (MAX_NAME, MAX_NAME));
        assert_eq!(kept(Described::Module(module)), (MAX_BUILD_ID, MAX_PATH));
    }

    /// Check that a full log refuses further descriptions and reports that it is full.
    #[test]
    fn full_log_refuses() {
        let words: Vec<AtomicU64> = (0..22).map(|_| AtomicU64::new(0)).collect();
        let next = AtomicU64::new(1);
        let log = ModuleLog { words: &words, next: &next };
        let module = Described::Module(Module {
            start: 0,
            end: 1,
            bias: 0,
            slot: 0,
            build_id: &[],
            file: MappedFile::default(),
            path: b"0123456789",
        });
        assert_eq!(log.append(module, |_| true), Some(1));
        assert_eq!(log.append(module, |_| true), Some(11));
        assert!(!log.is_full());
        assert_eq!(log.append(module, |_| true), None);
        assert!(log.is_full());
    }
}
