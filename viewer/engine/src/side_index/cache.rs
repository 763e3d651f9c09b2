//! The directory of indices, bounded in size.

use super::identity::Identity;
use std::fs::{DirBuilder, File, FileTimes};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Most bytes of all indices together. The last one used stays, however large it is.
const MOST: u64 = 1 << 30;

/// File name extension of indices.
const EXTENSION: &str = "index";

/// Least number of events between two states: replaying this many takes a few tenths of a second.
const SPACING: u64 = 1 << 21;

/// In addition, events per block and row of a state, so that large states are rare.
const PER_BLOCK: u64 = 3;

/// Where indices are kept, if at all, and how close their states are.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    most: u64,
    pub(super) spacing: u64,
    pub(super) per_block: u64,
}

impl Cache {
    /// Disables the cache.
    pub fn none() -> Self {
        Self { folder: None, most: MOST, spacing: SPACING, per_block: PER_BLOCK }
    }

    /// In this directory, which is created when needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::none() }
    }

    /// Saves a state after `events` events, or for large heaps after `per_block` events for each live block. Captures
    /// with less than half of `events` have no index: counting them is as fast as reading one.
    #[must_use]
    pub fn with_spacing(self, events: u64, per_block: u64) -> Self {
        Self { spacing: events.max(2), per_block, ..self }
    }

    /// True when a capture with this many events gets an index.
    pub(super) fn is_for(&self, events: u64) -> bool {
        self.folder.is_some() && events >= self.spacing / 2
    }

    /// The index file of a capture: one for each device and inode, however the content changes.
    pub(super) fn path(&self, identity: &Identity) -> Option<PathBuf> {
        let Identity { device, inode, .. } = identity;
        Some(self.folder.as_ref()?.join(format!("{device:x}-{inode:x}.{EXTENSION}")))
    }

    /// Creates the directory; impossible without a home directory.
    pub(super) fn make(&self) -> Option<()> {
        let folder = self.folder.as_ref()?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.ok()
    }

    /// Marks an index as used. If that fails, it may be removed earlier than necessary.
    pub(super) fn touch(&self, file: &File) {
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    }

    /// Removes the least recently used indices until the rest is small enough.
    pub(super) fn prune(&self, keep: &Path) {
        if let Some(folder) = &self.folder {
            symbols::prune(folder, EXTENSION, self.most, keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Check that the least recently used indices go first, that the newest stays, and that nothing else is touched.
    #[test]
    fn the_cache_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64| {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_times(FileTimes::new().set_modified(time))
                .unwrap();
            path
        };
        let [oldest, older, newer, other] =
            [("a.index", 30), ("b.index", 20), ("c.index", 10), ("notes.txt", 99)]
                .map(|(name, age)| file(name, age));
        let cache = Cache { most: 200, ..Cache::in_folder(folder.path()) };
        cache.prune(&newer);
        assert_eq!([&oldest, &older, &newer, &other].map(|path| path.exists()), [false, true, true, true]);
        let cache = Cache { most: 0, ..cache };
        cache.prune(&older);
        assert_eq!([&older, &newer, &other].map(|path| path.exists()), [true, false, true]);
    }
}
