//! The beginning of the file.

use super::u32_at;
use crate::error::Error;
use crate::sniff::{Sniff, sniff};
use crate::version::{BYTE_ORDER, MAGIC, Version};

/// The first 64 bytes. This layout never changes, so that each version can name the one it would need.
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
            Sniff::Capture(version) | Sniff::OtherCapture(version) => version,
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
        if crc32fast::hash(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(Error::HeaderDamaged);
        }
        let written_by: String = bytes[16..40]
            .iter()
            .filter(|byte| byte.is_ascii_graphic())
            .map(|&byte| char::from(byte))
            .collect();
        if let Sniff::OtherCapture(Version { major, minor }) = found {
            let written_by = if written_by.is_empty() { "unknown".into() } else { written_by };
            return Err(Error::OtherFormat { major, minor, written_by });
        }
        Ok(Header { version, written_by })
    }
}
