//! The fixed parts of the file: header, chunk header, trailer, and every limit. `FORMAT.md` is the document.
//!
//! ```text
//!  0        64
//!  +--------+-----------------+-----------------+-----+-----------------+---------+
//!  | header | chunk           | chunk           | ... | chunk (index)   | trailer |
//!  +--------+-----------------+-----------------+-----+-----------------+---------+
//!             40 B   payload                            ^                  24 B |
//!             header                                    +-----------------------+
//! ```

mod chunk_header;
mod header;
mod kind;
mod trailer;

pub use header::Header;
pub use kind::ChunkKind;

pub(crate) use chunk_header::{ChunkHeader, Compression};
pub(crate) use trailer::Trailer;

/// Most bytes of a chunk's payload, uncompressed.
pub(crate) const MAX_RAW: usize = 16 << 20;

/// Most bytes of a chunk's payload in the file: compression is not used where it does not help.
pub(crate) const MAX_STORED: usize = MAX_RAW;

/// Most records of one chunk.
pub(crate) const MAX_RECORDS: usize = 1 << 20;

/// Most events of one chunk. The larger a chunk, the more blocks are freed or reused within it and the longer its
/// repetitions; but a reader holds all its blocks, and decodes all of it for a single event.
pub(crate) const MAX_EVENTS: usize = MAX_RECORDS;

/// Records and uncompressed bytes that a chunk may have: so many, and so many more for each byte that it takes in the
/// file. What a reader does and holds is thereby bounded by the file's length, however well its content compresses.
pub(crate) const RECORDS_BY_LENGTH: (usize, usize) = (4096, 128);
pub(crate) const RAW_BY_LENGTH: (usize, usize) = (64 << 10, 1024);

/// Bytes that a chunk takes in the file at least, if it has these records and uncompressed bytes.
pub(crate) fn least_stored(records: usize, raw: usize) -> usize {
    let least = |count: usize, (free, each): (usize, usize)| count.saturating_sub(free).div_ceil(each);
    least(records, RECORDS_BY_LENGTH).max(least(raw, RAW_BY_LENGTH))
}

/// Most bytes of one record of a table. Linux limits a command line to 6 MB.
pub(crate) const MAX_RECORD: usize = 8 << 20;

/// Most bytes of one string of the string table; the writer cuts longer ones.
pub(crate) const MAX_STRING: usize = 1 << 20;

/// A stored time differs from the measured one by less than this many nanoseconds: exact times do not compress, and
/// order never depends on them.
pub const TIME_UNIT_NS: u64 = 1000;

/// Four bytes at an offset of a fixed layout, little-endian.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of four bytes"))
}

/// Eight bytes at an offset of a fixed layout, little-endian.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of eight bytes"))
}
