//! The end of a finished file.

use super::{u32_at, u64_at};

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

    /// Decodes the trailer, if these bytes are one.
    pub(crate) fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let whole = bytes[..8] == Self::MARKER && u32_at(bytes, 20) == crc32fast::hash(&bytes[..20]);
        whole.then(|| Trailer { index_offset: u64_at(bytes, 8) })
    }
}
