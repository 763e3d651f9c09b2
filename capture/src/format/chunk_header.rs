//! The header of each chunk.

use super::{MAX_RAW, MAX_RECORDS, MAX_STORED, least_stored, u32_at, u64_at};
use crate::error::Malformed;

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Compression {
    /// As it is.
    Stored = 0,
    /// One zstd frame, perhaps followed by a skippable one.
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
        header.check()?;
        Ok(header)
    }

    /// Checks that the lengths are within the format's limits.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let [records, raw, stored] =
            [self.records, self.raw_length, self.stored_length].map(|count| count as usize);
        if raw > MAX_RAW || stored > MAX_STORED {
            return Err(Malformed("a chunk is longer than the format allows"));
        }
        if records > MAX_RECORDS {
            return Err(Malformed("a chunk has more records than the format allows"));
        }
        if least_stored(records, raw) > stored {
            return Err(Malformed("a chunk holds more than one of its length may"));
        }
        Ok(())
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
