//! Parts of the file: bincode in zstd, with a checksum over what is stored.

use super::Entry;
use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Read as _};
use std::os::unix::fs::FileExt;

/// The fastest useful level: states are written once and hardly ever read.
const LEVEL: i32 = 1;

/// Bytes passed to the compressor at a time.
const BUFFER: usize = 64 << 10;

/// Most uncompressed bytes of a part: the state of a heap with some hundred million blocks.
const MOST: usize = 4 << 30;

const CONFIG: Configuration<LittleEndian, Varint, Limit<MOST>> =
    bincode::config::standard().with_limit::<MOST>();

/// Serializes a part for storage.
pub(super) fn pack(part: &impl Serialize) -> io::Result<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    // Buffered, since a call of the compressor costs more than a number, and each number would be a call.
    let mut numbers = BufWriter::with_capacity(BUFFER, encoder);
    bincode::serde::encode_into_std_write(part, &mut numbers, CONFIG).map_err(io::Error::other)?;
    numbers.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

/// Loads a part, if it is intact.
pub(super) fn read<T: DeserializeOwned>(file: &File, entry: &Entry) -> Option<T> {
    let end = entry.offset.checked_add(u64::from(entry.length))?;
    if end > file.metadata().ok()?.len() {
        return None;
    }
    let mut stored = vec![0; entry.length as usize];
    file.read_exact_at(&mut stored, entry.offset).ok()?;
    if crc32fast::hash(&stored) != entry.checksum {
        return None;
    }
    // As a whole, since decoding from a slice takes half as long as from a stream.
    let mut part = Vec::new();
    zstd::Decoder::with_buffer(stored.as_slice()).ok()?.take(MOST as u64).read_to_end(&mut part).ok()?;
    drop(stored);
    Some(bincode::serde::decode_from_slice(&part, CONFIG).ok()?.0)
}
