//! The folder that indices lie in, bounded in size.

use super::identity::Identity;
use std::fs::{DirBuilder, File, FileTimes};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of all indices together. The one that was used last stays, however large it is.
const MOST: u64 = 1 << 30;

/// What indices are called behind their names.
const EXTENSION: &str = "index";

/// Events between two states, at least: a replay of so many takes a few tenths of a second.
const SPACING: u64 = 1 << 21;

/// Beside that, events for each block and row of a state, so that states are rare where they are large.
const PER_BLOCK: u64 = 3;

/// Where indices are kept, if they are, and how close their states are.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    most: u64,
    pub(super) spacing: u64,
    pub(super) per_block: u64,
}

impl Cache {
    /// Keeps nothing.
    pub fn none() -> Self {
        Self { folder: None, most: MOST, spacing: SPACING, per_block: PER_BLOCK }
    }

    /// In this folder, which is made when it is needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::none() }
    }

    /// Keeps a state each so many events and, of large heaps, each so many events for a live block. Captures of fewer
    /// events than half of the first have no index: they are counted as fast as it is read.
    #[must_use]
    pub fn with_spacing(self, events: u64, per_block: u64) -> Self {
        Self { spacing: events.max(2), per_block, ..self }
    }

    /// True when a capture of so many events has an index.
    pub(super) fn is_for(&self, events: u64) -> bool {
        self.folder.is_some() && events >= self.spacing / 2
    }

    /// The file for a capture. There is one for each, whatever becomes of its content.
    pub(super) fn path(&self, identity: &Identity) -> Option<PathBuf> {
        let Identity { device, inode, .. } = identity;
        Some(self.folder.as_ref()?.join(format!("{device:x}-{inode:x}.{EXTENSION}")))
    }

    /// Makes the folder; none can be made without a home.
    pub(super) fn make(&self) -> Option<()> {
        let folder = self.folder.as_ref()?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.ok()
    }

    /// Notes that an index was used. Where that cannot be noted, it may be removed earlier than it need be.
    pub(super) fn touch(&self, file: &File) {
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    }

    /// Removes the indices that were used longest ago until all together are small enough.
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

    /// Check that the indices used longest ago go first, that the newest stays, and that nothing else is touched.
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
