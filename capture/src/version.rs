//! What a capture begins with, and the versions of the format.

use std::fmt;

/// The first bytes of each capture; the first one is not text, so that tools take the file for binary.
pub const MAGIC: [u8; 8] = *b"\x89MEMPROF";

/// Stored little-endian after the magic; a reader that finds it reversed reports swapped bytes.
pub(crate) const BYTE_ORDER: u32 = 0x0102_0304;

/// The version that this crate writes.
pub const VERSION: Version = Version { major: 2, minor: 0 };

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
