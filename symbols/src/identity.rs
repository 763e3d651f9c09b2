//! Whether a file is the one that was mapped.

use crate::reason::Reason;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A file with code as it was when it was mapped. Unknown fields are empty or 0 and are not compared; with nothing
/// known, the path alone decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFile {
    /// Where to open it, as this process sees it; may lead through `/proc/PID/root` or `/proc/PID/map_files`.
    pub path: PathBuf,
    /// Contents of the build-id note. When both the recording and the file have one, it alone decides.
    pub build_id: Vec<u8>,
    /// Device number as `stat` gives it. Some file systems (btrfs, overlayfs) show another one in
    /// `/proc/PID/maps`: take it from a `stat` at the time of mapping, or leave it 0.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Time of the last modification, nanoseconds since the Unix epoch.
    pub modified_ns: u64,
}

impl ModuleFile {
    /// A file about which only the path is known.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        ModuleFile { path: path.into(), ..ModuleFile::default() }
    }

    /// Whether an opened file is this one.
    pub(crate) fn check(&self, file: &FileIdentity, build_id: &[u8]) -> Result<(), Reason> {
        let same = |recorded: u64, found: u64| recorded == 0 || recorded == found;
        let is_this = if self.build_id.is_empty() {
            same(self.device, file.device)
                && same(self.inode, file.inode)
                && same(self.modified_ns, file.modified_ns)
        } else if !build_id.is_empty() {
            self.build_id == build_id
        } else {
            // The mapped file had a build id and this one has none: it is the same file only if inode and time prove it.
            self.inode != 0
                && same(self.device, file.device)
                && self.inode == file.inode
                && self.modified_ns == file.modified_ns
        };
        if is_this { Ok(()) } else { Err(Reason::FileReplaced) }
    }
}

/// What the file system says about an opened file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) modified_ns: u64,
    /// Time of the last status change, which unlike the modification time cannot be set back.
    pub(crate) changed_ns: u64,
    pub(crate) length: u64,
}

impl FileIdentity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| {
            u64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(rest)).unwrap_or(0)
        };
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            length: metadata.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the build id decides where both have one, else device, inode and time.
    #[test]
    fn build_id_decides_then_inode() {
        let file = FileIdentity { device: 1, inode: 2, modified_ns: 3, ..FileIdentity::default() };
        // (recorded build id, device, inode, time), build id in the file, whether it is the same file
        for (recorded, found, same) in [
            ((&b"id"[..], 1, 2, 3), &b"id"[..], true),
            ((b"id", 9, 9, 9), b"id", true),
            ((b"id", 1, 2, 3), b"other", false),
            ((b"id", 1, 2, 3), b"", true),
            ((b"id", 1, 9, 3), b"", false),
            ((b"id", 1, 2, 0), b"", false),
            ((b"id", 0, 0, 0), b"", false),
            ((b"", 1, 2, 3), b"id", true),
            ((b"", 1, 2, 3), b"", true),
            ((b"", 9, 2, 3), b"", false),
            ((b"", 1, 9, 3), b"", false),
            ((b"", 1, 2, 9), b"", false),
            ((b"", 0, 2, 0), b"", true),
            ((b"", 0, 0, 0), b"", true),
        ] {
            let (build_id, device, inode, modified_ns) = recorded;
            let module =
                ModuleFile { path: PathBuf::new(), build_id: build_id.to_vec(), device, inode, modified_ns };
            let expected = if same { Ok(()) } else { Err(Reason::FileReplaced) };
            assert_eq!(module.check(&file, found), expected, "{recorded:?} against {found:?}");
        }
    }
}
