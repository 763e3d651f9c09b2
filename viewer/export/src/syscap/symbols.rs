//! `__symbols__`: the file within the capture that names its addresses.
//!
//! ```text
//!  entries   32 bytes each, by process and address: begin u64, end u64, pid u32, name u32, file u32, 0
//!  an entry of zeros
//!  texts     a zero, then each followed by a zero; offsets in entries count from the start of the file
//! ```
//!
//! Old readers take `end` for the last address of a function, new ones for the first address after it. A function has
//! a single address here, and the next one is farther away, so both work.

use super::frame::{Frame, Kind, LONGEST_TEXT};
use super::pid_of;
use crate::places::places;
use analysis::{LabelId, file_name};
use engine::Loaded;
use report::text::escape;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

const ENTRY: u64 = 32;

/// Bytes of the file in one frame.
const CHUNK: usize = LONGEST_TEXT;

/// The address that represents a function.
pub(super) fn address(label: LabelId) -> u64 {
    0x1_0000_0000 + 16 * u64::from(label.0)
}

/// Writes the file, in as many frames as it needs.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, time: u64) -> io::Result<()> {
    let mut known = BTreeSet::new();
    for site in &loaded.profile.sites {
        let process = pid_of(loaded, site.process);
        known.extend(places(loaded, site).map(|place| (process.cast_unsigned(), place.label)));
    }
    let start = (known.len() as u64 + 1) * ENTRY;
    let texts = Texts::new(loaded, known.iter().map(|(_, label)| *label), start);
    let mut chunks = Chunks { out, time, bytes: Vec::with_capacity(CHUNK) };
    for &(process, label) in &known {
        let begin = address(label);
        chunks.add(&begin.to_le_bytes())?;
        chunks.add(&(begin + 1).to_le_bytes())?;
        let file = loaded.module_of(label).map_or(0, |path| texts.offset(file_name(path)));
        for word in [process, texts.offset(&loaded.names.label(label).name), file, 0] {
            chunks.add(&word.to_le_bytes())?;
        }
    }
    chunks.add(&[0; ENTRY as usize])?;
    chunks.add(&[0])?;
    for text in &texts.in_order {
        chunks.add(escape(text).as_bytes())?;
        chunks.add(&[0])?;
    }
    chunks.finish()
}

/// Texts and their offsets.
struct Texts<'a> {
    in_order: Vec<&'a str>,
    offsets: BTreeMap<&'a str, u32>,
}

impl<'a> Texts<'a> {
    fn new(loaded: &'a Loaded, labels: impl Iterator<Item = LabelId>, start: u64) -> Self {
        let mut texts = Self { in_order: Vec::new(), offsets: BTreeMap::new() };
        // The first byte is the empty text.
        let mut next = start + 1;
        for label in labels {
            let name = loaded.names.label(label).name.as_str();
            for text in [Some(name), loaded.module_of(label).map(file_name)].into_iter().flatten() {
                let Ok(offset) = u32::try_from(next) else { return texts };
                if !texts.offsets.contains_key(text) {
                    texts.offsets.insert(text, offset);
                    texts.in_order.push(text);
                    next += escape(text).len() as u64 + 1;
                }
            }
        }
        texts
    }

    /// 0 for a text that does not fit into four gigabytes.
    fn offset(&self, text: &str) -> u32 {
        self.offsets.get(text).copied().unwrap_or(0)
    }
}

/// A file split into frames.
struct Chunks<'o> {
    out: &'o mut dyn Write,
    time: u64,
    bytes: Vec<u8>,
}

impl Chunks<'_> {
    fn add(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = rest;
            if self.bytes.len() == CHUNK {
                self.write(false)?;
            }
        }
        Ok(())
    }

    /// Writes the rest; the last frame may be empty.
    fn finish(mut self) -> io::Result<()> {
        self.write(true)
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        let mut path = [0; 256];
        path[..11].copy_from_slice(b"__symbols__");
        let mut frame = Frame::new(Kind::FileChunk, -1, self.time);
        frame.u16(is_last.into()).u16(self.bytes.len() as u16).raw(&path).raw(&self.bytes);
        self.bytes.clear();
        frame.write(self.out)
    }
}
