//! Descriptions of modules, written by agents and named by pcs.
//!
//! An append-only log of words. A module's serial is the position of its description, so the collector finds it
//! without a search, and a process that lives five milliseconds has left its modules here.
//!
//! ```text
//!  word 0   length in words, published last │ bit 63: filled in
//!  word 1   start of the mapping
//!  word 2   end of the mapping
//!  word 3   load bias: address in the process − address in the file
//!  word 4   process slot (32) │ bytes of build id (16) │ bytes of path (16)
//!  word 5…  build id, then path, packed
//! ```

use crate::error::Corrupt;
use crate::primitive::{AtomicU64, Ordering};

const HEADER: usize = 5;
const FILLED: u64 = 1 << 63;
/// Longest path that is stored; longer ones are cut.
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
    /// Path as the process knows it.
    pub path: &'a [u8],
}

/// The log.
#[derive(Clone, Copy, Debug)]
pub struct ModuleLog<'a> {
    /// All words; word 0 is never used, so that serial 0 is *no module*.
    pub(crate) words: &'a [AtomicU64],
    /// Words taken.
    pub(crate) next: &'a AtomicU64,
}

/// A description copied out of the log.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    bytes: [u8; MAX_PATH + MAX_BUILD_ID + 8],
    build_id: usize,
    path: usize,
    start: u64,
    end: u64,
    bias: u64,
    slot: u32,
    /// Serial of the description after this one.
    pub next: u32,
}

impl Entry {
    /// The module.
    pub fn module(&self) -> Module<'_> {
        let (build_id, rest) = self.bytes.split_at(self.build_id.min(self.bytes.len()));
        Module {
            start: self.start,
            end: self.end,
            bias: self.bias,
            slot: self.slot,
            build_id,
            path: rest.get(..self.path).unwrap_or(&[]),
        }
    }
}

impl ModuleLog<'_> {
    /// Serial of the first description.
    pub const FIRST: u32 = 1;

    /// Appends a description and gives its serial; `None` when the log is full. `open` is called with the words that
    /// must be accessible, before they are.
    pub fn append(&self, module: Module<'_>, open: impl Fn(usize)) -> Option<u32> {
        let build_id = module.build_id.get(..MAX_BUILD_ID).unwrap_or(module.build_id);
        let path = module.path.get(..MAX_PATH).unwrap_or(module.path);
        let length = HEADER + (build_id.len() + path.len()).div_ceil(8);
        // Relaxed: the words are published by the Release store below, the counter only hands out room.
        let start = self.next.fetch_add(length as u64, Ordering::Relaxed) as usize;
        let words = self.words.get(start..start.checked_add(length)?)?;
        open(start + length);
        let sizes = u64::from(module.slot) << 32 | (build_id.len() as u64) << 16 | path.len() as u64;
        let mut bytes = build_id.iter().chain(path);
        let (header, text) = words.split_at(HEADER);
        let fields = [length as u64, module.start, module.end, module.bias, sizes];
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

    /// The description with this serial; `None` while it is not filled in.
    ///
    /// # Errors
    /// [`Corrupt::Module`] for one that cannot be.
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
        let sizes = field(4);
        let (build_id, path) = ((sizes >> 16 & 0xFFFF) as usize, (sizes & 0xFFFF) as usize);
        if build_id > MAX_BUILD_ID || path > MAX_PATH || (build_id + path).div_ceil(8) > text.len() {
            return Err(Corrupt::Module);
        }
        let mut entry = Entry {
            bytes: [0; MAX_PATH + MAX_BUILD_ID + 8],
            build_id,
            path,
            start: field(1),
            end: field(2),
            bias: field(3),
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

    proptest! {
        /// Check that descriptions come back, each under its own serial, and can be walked.
        #[test]
        fn descriptions_round_trip(paths in proptest::collection::vec((proptest::collection::vec(1u8..255, 0..200), 0usize..40), 1..20)) {
            let words: Vec<AtomicU64> = (0..4096).map(|_| AtomicU64::new(0)).collect();
            let next = AtomicU64::new(1);
            let log = ModuleLog { words: &words, next: &next };
            let mut serials = Vec::new();
            for (index, (path, id)) in paths.iter().enumerate() {
                let build_id = vec![7; *id];
                let module = Module { start: index as u64, end: 2, bias: 3, slot: 4, build_id: &build_id, path };
                serials.push(log.append(module, |_| {}).unwrap());
            }
            let mut walked = ModuleLog::FIRST;
            for ((path, id), serial) in paths.iter().zip(serials) {
                prop_assert_eq!(walked, serial);
                let entry = log.read(serial).unwrap().unwrap();
                prop_assert_eq!(entry.module().path, &path[..]);
                prop_assert_eq!(entry.module().build_id.len(), *id);
                walked = entry.next;
            }
            prop_assert!(log.read(walked).unwrap().is_none());
        }

        /// Check that hostile words are refused without a panic.
        #[test]
        fn hostile_words_are_refused(values in proptest::collection::vec(any::<u64>(), 0..64), serial in 0u32..80) {
            let words: Vec<AtomicU64> = values.into_iter().map(AtomicU64::new).collect();
            let next = AtomicU64::new(1);
            let _ = ModuleLog { words: &words, next: &next }.read(serial).map(|entry| entry.map(|e| e.module().path.len()));
        }
    }

    /// Check that a full log refuses.
    #[test]
    fn full_log_refuses() {
        let words: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
        let next = AtomicU64::new(1);
        let log = ModuleLog { words: &words, next: &next };
        let module = Module { start: 0, end: 0, bias: 0, slot: 0, build_id: &[], path: b"0123456789" };
        assert_eq!(log.append(module, |_| {}), Some(1));
        assert_eq!(log.append(module, |_| {}), Some(8));
        assert_eq!(log.append(module, |_| {}), None);
    }
}
