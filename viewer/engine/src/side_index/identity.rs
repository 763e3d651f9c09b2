//! Identifies the capture of an index.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes at the end of a capture that are checked: its trailer, and the index and summary before it.
const END: u64 = 64 << 10;

/// Identifies one state of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    length: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    /// CRC-32 of its last bytes.
    end: u32,
}

impl Identity {
    pub(super) fn of(capture: &Path) -> Option<Self> {
        let file = File::open(capture).ok()?;
        let status = file.metadata().ok().filter(|status| status.is_file())?;
        let length = status.len();
        let mut end = vec![0; usize::try_from(length.min(END)).ok()?];
        file.read_exact_at(&mut end, length - length.min(END)).ok()?;
        Some(Self {
            device: status.dev(),
            inode: status.ino(),
            length,
            modified: i128::from(status.mtime()) * 1_000_000_000 + i128::from(status.mtime_nsec()),
            end: crc32fast::hash(&end),
        })
    }
}
