//! Which file lies where the capture was: another recording may take its place.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// A file as it was last seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    place: (u64, u64),
    /// Numbers of files are used again; not every filesystem tells when one was made.
    born: Option<SystemTime>,
    length: u64,
}

impl Identity {
    /// The file of a path; none when there is none now.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|file| Self::from(&file))
    }

    /// True when `later` is another file, or no longer what was written into this one: captures only grow.
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

    /// Check that a file which grows stays the same, and that one which is written anew, or takes its place, is another.
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
