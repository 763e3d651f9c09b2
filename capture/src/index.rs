//! Where the chunks of a file are: its chain of index chunks.
//!
//! The writer adds an index chunk after each [`ENTRIES`] chunks, so that its memory does not grow with the length of
//! a recording, and a last one at the end. Each holds the offset of the one before; the trailer holds that of the
//! last.
//!
//! ```text
//!   chunk chunk ... index(before = 0) chunk chunk ... index(before) trailer
//!                   ^                                 ^ |           |
//!                   +---------------------------------|-+           |
//!                                                     +-------------+
//! ```

use crate::chunk::Chunk;
use crate::error::Malformed;
use crate::fetch::Fetcher;
use crate::format::{ChunkHeader, ChunkKind, Header, Trailer, u32_at, u64_at};
use crate::source::ReadAt;

/// Chunks per index chunk, at most.
pub(crate) const ENTRIES: usize = 1024;

/// One entry: the offset, then the chunk's header without marker and checksum.
const ENTRY: usize = 8 + ChunkHeader::LENGTH - 8;
const _: () = assert!(ENTRY == 40, "FORMAT.md says so");

pub(crate) fn put(chunks: &[Chunk], payload: &mut Vec<u8>) {
    for Chunk { offset, header } in chunks {
        payload.extend(offset.to_le_bytes());
        payload.extend(header.kind.to_le_bytes());
        payload.extend([header.compression, header.flags]);
        for number in [header.records, header.raw_length, header.stored_length] {
            payload.extend(number.to_le_bytes());
        }
        payload.extend(header.first.to_le_bytes());
        payload.extend(header.last.to_le_bytes());
    }
}

/// The entries of an index chunk, checked to lie one directly after the other.
fn take(payload: &[u8]) -> Result<Vec<Chunk>, Malformed> {
    let (entries, rest) = payload.as_chunks::<ENTRY>();
    if !rest.is_empty() {
        return Err(Malformed("an index ends inside an entry"));
    }
    let chunks: Vec<Chunk> = entries
        .iter()
        .map(|entry| Chunk {
            offset: u64_at(entry, 0),
            header: ChunkHeader {
                kind: u16::from_le_bytes([entry[8], entry[9]]),
                compression: entry[10],
                flags: entry[11],
                records: u32_at(entry, 12),
                raw_length: u32_at(entry, 16),
                stored_length: u32_at(entry, 20),
                first: u64_at(entry, 24),
                last: u64_at(entry, 32),
            },
        })
        .collect();
    // What is not read from its chunk, as the number of events, is bounded, too.
    chunks.iter().try_for_each(|chunk| chunk.header.check())?;
    match chunks.windows(2).all(|pair| pair[0].end() == pair[1].offset) {
        true => Ok(chunks),
        false => Err(Malformed("an index has holes")),
    }
}

/// All chunks of a finished file of this length, from its index; `None` when it has no trustworthy index, and must be
/// scanned.
pub(crate) fn read(source: &impl ReadAt, length: u64, fetcher: &mut Fetcher) -> Option<Vec<Chunk>> {
    let mut trailer = [0; Trailer::LENGTH];
    let trailer_offset = length.checked_sub(Trailer::LENGTH as u64)?;
    source.read_full_at(&mut trailer, trailer_offset).ok()?;
    let mut offset = Trailer::decode(&trailer)?.index_offset;
    let mut end = trailer_offset;
    let mut payload = Vec::new();
    let mut pieces = Vec::new();
    loop {
        let header = fetcher.fetch(source, offset).ok()?;
        let own = Chunk { offset, header };
        if !own.is(ChunkKind::Index) || own.end() != end {
            return None;
        }
        fetcher.unpack(&header, &mut payload).ok()?;
        let mut piece = take(&payload).ok()?;
        if piece.last()?.end() != offset {
            return None;
        }
        if pieces.is_empty() {
            piece.push(own);
        }
        let start = piece.first()?.offset;
        let before = header.first;
        pieces.push(piece);
        if before == 0 {
            return (start == Header::LENGTH as u64).then(|| pieces.into_iter().rev().flatten().collect());
        }
        // Each piece begins with the index chunk before it, so the offsets fall and the chain ends.
        if before != start {
            return None;
        }
        (offset, end) = (before, pieces.last()?.first()?.end());
    }
}
