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

use std::fmt;

use crate::error::{Error, Malformed};
use crate::sniff::{Sniff, sniff};

/// The version that this crate writes.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// The first bytes of each capture; the first is not text, so that the file is taken for binary.
pub const MAGIC: [u8; 8] = *b"\x89MEMPROF";

/// Stored little-endian after the magic; read backwards it means swapped bytes.
pub(crate) const BYTE_ORDER: u32 = 0x0102_0304;

/// Most bytes of a chunk's payload, uncompressed.
pub(crate) const MAX_RAW: usize = 16 << 20;

/// Most bytes of a chunk's payload in the file: compression that does not help is not used.
pub(crate) const MAX_STORED: usize = MAX_RAW;

/// Most records of one chunk.
pub(crate) const MAX_RECORDS: usize = 1 << 20;

/// Most events of one chunk.
pub(crate) const MAX_EVENTS: usize = 1 << 18;

/// Most bytes of one record of a table. Linux limits a command line to 6 MB.
pub(crate) const MAX_RECORD: usize = 8 << 20;

/// Most bytes of one string of the string table; the writer cuts longer ones.
pub(crate) const MAX_STRING: usize = 1 << 20;

/// Stored times are multiples of this many nanoseconds, rounded down: time is what does not compress, and order
/// never depends on it.
pub const TIME_UNIT_NS: u64 = 1000;

/// A version of the format. A reader opens every minor version of the majors it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Changes when an older reader would misread the file.
    pub major: u16,
    /// Changes when something was added that older readers skip.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// The first 64 bytes. This layout is the same in all versions, so that each can name the version it needs.
///
/// ```text
///  0          8      12    14    16                40         60      64
///  +----------+------+-----+-----+-----------------+----------+-------+
///  | magic    |order |major|minor| written by      | zero     | crc32 |
///  +----------+------+-----+-----+-----------------+----------+-------+
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: Version,
    /// Version of the program that wrote the file, at most 24 bytes of ASCII.
    pub written_by: String,
}

impl Header {
    /// Length in the file.
    pub const LENGTH: usize = 64;

    pub(crate) fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&BYTE_ORDER.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.version.major.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.version.minor.to_le_bytes());
        for (to, from) in bytes[16..40].iter_mut().zip(self.written_by.bytes().filter(u8::is_ascii_graphic)) {
            *to = from;
        }
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the beginning of a file: 64 bytes, or all of it when it is shorter.
    pub(crate) fn decode(start: &[u8]) -> Result<Self, Error> {
        let found = sniff(start);
        let version = match found {
            Sniff::Capture(version) | Sniff::NewerCapture(version) => version,
            Sniff::ByteSwapped => return Err(Error::ByteSwapped),
            _ if !start.is_empty() && (start.starts_with(&MAGIC) || MAGIC.starts_with(start)) => {
                return Err(match start.len() {
                    length if length < Self::LENGTH => Error::HeaderCut { length: length as u64 },
                    _ => Error::HeaderDamaged,
                });
            }
            _ => return Err(Error::NotACapture { found }),
        };
        let Some(bytes) = start.first_chunk::<{ Self::LENGTH }>() else {
            return Err(Error::HeaderCut { length: start.len() as u64 });
        };
        let [.., a, b, c, d] = *bytes;
        if crc32fast::hash(&bytes[..60]) != u32::from_le_bytes([a, b, c, d]) {
            return Err(Error::HeaderDamaged);
        }
        let written_by: String = bytes[16..40]
            .iter()
            .filter(|byte| byte.is_ascii_graphic())
            .map(|&byte| char::from(byte))
            .collect();
        if let Sniff::NewerCapture(Version { major, minor }) = found {
            let written_by = if written_by.is_empty() { "unknown".into() } else { written_by };
            return Err(Error::NewerFormat { major, minor, written_by });
        }
        Ok(Header { version, written_by })
    }
}

/// What a chunk holds. Numbers not listed here are skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ChunkKind {
    /// One [`crate::Metadata`]; the first chunk.
    Metadata = 1,
    /// Rows of the string table.
    Strings = 2,
    /// Rows of the module table.
    Modules = 3,
    /// Rows of the frame table.
    Frames = 4,
    /// Rows of the node table.
    Nodes = 5,
    /// New and changed rows of the process table.
    Processes = 6,
    /// New and changed rows of the thread table.
    Threads = 7,
    /// Names of frames.
    Symbols = 8,
    /// Events.
    Events = 9,
    /// One [`crate::Summary`].
    Summary = 10,
    /// Where the chunks since the last index are.
    Index = 11,
}

impl ChunkKind {
    /// All of them.
    pub const ALL: [ChunkKind; 11] = [
        ChunkKind::Metadata,
        ChunkKind::Strings,
        ChunkKind::Modules,
        ChunkKind::Frames,
        ChunkKind::Nodes,
        ChunkKind::Processes,
        ChunkKind::Threads,
        ChunkKind::Symbols,
        ChunkKind::Events,
        ChunkKind::Summary,
        ChunkKind::Index,
    ];

    /// The kind with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Compression {
    /// As it is.
    Stored = 0,
    /// One zstd frame.
    Zstd = 1,
}

/// The 40 bytes before each payload.
///
/// ```text
///  0        4      6  7  8         12        16        20       24          32         40
///  +--------+------+--+--+---------+---------+---------+--------+-----------+----------+
///  | "CHNK" | kind |c |f | records | raw     | stored  | crc32  | first     | last     |
///  +--------+------+--+--+---------+---------+---------+--------+-----------+----------+
///             c: compression    raw, stored: payload length, uncompressed and in the file
///             f: flags, zero    crc32: of this header without the crc32, then of the stored payload
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) kind: u16,
    pub(crate) compression: u8,
    pub(crate) flags: u8,
    pub(crate) records: u32,
    pub(crate) raw_length: u32,
    pub(crate) stored_length: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl ChunkHeader {
    pub(crate) const LENGTH: usize = 40;
    const MARKER: [u8; 4] = *b"CHNK";

    pub(crate) fn encode(&self, stored: &[u8]) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(&Self::MARKER);
        bytes[4..6].copy_from_slice(&self.kind.to_le_bytes());
        bytes[6] = self.compression;
        bytes[7] = self.flags;
        bytes[8..12].copy_from_slice(&self.records.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw_length.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.stored_length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.last.to_le_bytes());
        let checksum = Self::checksum(&bytes, stored);
        bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header and checks its lengths. The checksum needs the payload too: see [`Self::verify`].
    pub(crate) fn decode(bytes: &[u8; Self::LENGTH]) -> Result<Self, Malformed> {
        if bytes[..4] != Self::MARKER {
            return Err(Malformed("no chunk begins here"));
        }
        let header = ChunkHeader {
            kind: u16::from_le_bytes([bytes[4], bytes[5]]),
            compression: bytes[6],
            flags: bytes[7],
            records: u32_at(bytes, 8),
            raw_length: u32_at(bytes, 12),
            stored_length: u32_at(bytes, 16),
            first: u64_at(bytes, 24),
            last: u64_at(bytes, 32),
        };
        if header.raw_length as usize > MAX_RAW || header.stored_length as usize > MAX_STORED {
            return Err(Malformed("a chunk is longer than the format allows"));
        }
        if header.records as usize > MAX_RECORDS {
            return Err(Malformed("a chunk has more records than the format allows"));
        }
        Ok(header)
    }

    pub(crate) fn verify(bytes: &[u8; Self::LENGTH], stored: &[u8]) -> Result<(), Malformed> {
        match Self::checksum(bytes, stored) == u32_at(bytes, 20) {
            true => Ok(()),
            false => Err(Malformed("a chunk's checksum does not match")),
        }
    }

    fn checksum(bytes: &[u8; Self::LENGTH], stored: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..20]);
        hasher.update(&bytes[24..]);
        hasher.update(stored);
        hasher.finalize()
    }
}

/// The last 24 bytes of a finished capture.
///
/// ```text
///  0          8              16     20      24
///  +----------+--------------+------+-------+
///  | "MEMPEND\n" | index at  | zero | crc32 |
///  +----------+--------------+------+-------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Where the last index chunk begins.
    pub(crate) index_offset: u64,
}

impl Trailer {
    pub(crate) const LENGTH: usize = 24;
    const MARKER: [u8; 8] = *b"MEMPEND\n";

    pub(crate) fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&Self::MARKER);
        bytes[8..16].copy_from_slice(&self.index_offset.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The trailer in these bytes, if they are one.
    pub(crate) fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let whole = bytes[..8] == Self::MARKER && u32_at(bytes, 20) == crc32fast::hash(&bytes[..20]);
        whole.then(|| Trailer { index_offset: u64_at(bytes, 8) })
    }
}

/// The four bytes at a fixed place of a fixed layout.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of four bytes"))
}

/// The eight bytes at a fixed place of a fixed layout.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of eight bytes"))
}
