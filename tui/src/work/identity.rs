//! Detects that another recording has replaced the capture's file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// A file as it was last seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    place: (u64, u64),
    /// Inodes are reused; not every file system knows when a file was created.
    born: Option<SystemTime>,
    length: u64,
}

impl Identity {
    /// The identity of the file at a path; none when there is no file now.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|file| Self::from(&file))
    }

    /// True when `later` is another file, or this one was overwritten: captures only grow.
    pub(crate) fn is_left_by(&self, later: &Self) -> bool {
        self.place != later.place || self.born != later.born || later.length < self.length
    }
}

impl From<&Metadata> for Identity {
    fn from(file: &Metadata) -> Self {
        Self { place: (file.dev(), file.ino()), born: file.created().ok(), length: file.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Check that a growing file stays the same, and that a file which is rewritten or replaced is another.
    #[test]
    fn files_that_grow_stay_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let after = |bytes: &str| {
            fs::write(&path, bytes).unwrap();
            Identity::of(&path).unwrap()
        };
        let first = after("ab");
        let grown = after("abc");
        assert!(!first.is_left_by(&first) && !first.is_left_by(&grown));
        assert!(grown.is_left_by(&after("a")));
        let other = folder.path().join("b");
        fs::write(&other, "abcdef").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(grown.is_left_by(&Identity::of(&path).unwrap()));
        assert!(Identity::of(&other).is_none());
    }
}
