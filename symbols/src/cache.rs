//! A bounded folder of the user's for cached results.
//!
//! Anybody who can write to the folder may have put files there, so a file counts only if it is the user's own: a
//! regular file, no link, writable by nobody else. Its reader checks what the contents mean, too.
//!
//! ```text
//! CRC-32 of the contents, 4 bytes | contents
//! ```

use crate::folder::prune;
use crate::image::Image;
use std::fs::{self, DirBuilder, File, FileTimes, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Most bytes of all files together.
const MOST: u64 = 128 << 20;
/// One in so many files that are stored has the folder looked through, which takes a microsecond for each of its files.
const LOOKS: u32 = 16;
/// How often a use of a file is noted: the least recently used files are removed first.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Extension of all files.
const EXTENSION: &str = "names";
/// Length of the checksum.
const CHECKSUM: usize = size_of::<u32>();

/// The folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    most: u64,
    /// See [`LOOKS`].
    looks: u32,
}

impl Cache {
    /// A cache in this folder, which is created when something is first stored.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into(), most: MOST, looks: LOOKS }
    }

    /// What was stored under a name, if the file is ours, intact, and has at most `most` bytes.
    pub(crate) fn read(&self, name: &str, most: usize) -> Option<Vec<u8>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path(name)).ok()?;
        let status = file.metadata().ok()?;
        if !is_own(&status) || status.len() > most as u64 {
            return None;
        }
        let mut bytes = Vec::new();
        (&file).take(most as u64).read_to_end(&mut bytes).ok()?;
        note_use(&file, &status);
        is_intact(&bytes).then(|| bytes.split_off(CHECKSUM))
    }

    /// As [`Self::read`], but mapped, for large files; and where in the bytes the contents begin.
    pub(crate) fn map(&self, name: &str) -> Option<(Image, usize)> {
        let path = self.path(name);
        let status = fs::symlink_metadata(&path).ok().filter(is_own)?;
        let (image, identity) = Image::open(&path).ok()?;
        if let Ok(file) = File::open(&path) {
            note_use(&file, &status);
        }
        if identity.inode != status.ino() || !is_intact(image.bytes()) {
            return None;
        }
        // The checksum is of all of it; names are looked up in parts.
        image.release();
        Some((image, CHECKSUM))
    }

    /// Stores bytes under a name, replacing what was there. If that fails, nothing is stored.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        // A failure costs nothing but time.
        let _ = self.store(name, bytes);
        let chance =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.subsec_micros());
        if chance.is_multiple_of(self.looks) {
            prune(&self.folder, EXTENSION, self.most, &self.path(name));
        }
    }

    fn store(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Two processes that store at once have a draft each; the later one wins. A draft left by a killed process is
        // a file of the folder like any other, and is removed some day.
        static DRAFTS: AtomicU32 = AtomicU32::new(0);
        // Relaxed: the counter only makes names differ.
        let (process, number) = (std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let draft = self.path(&format!(".{name}-{process}-{number}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let stored =
            file.write_all(&crc32fast::hash(bytes).to_le_bytes()).and_then(|()| file.write_all(bytes));
        let stored = stored.and_then(|()| fs::rename(&draft, self.path(name)));
        stored.inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{EXTENSION}"))
    }
}

/// True if the contents of a file are what was stored.
fn is_intact(bytes: &[u8]) -> bool {
    let whole = bytes.split_first_chunk::<CHECKSUM>();
    whole.is_some_and(|(checksum, contents)| crc32fast::hash(contents) == u32::from_le_bytes(*checksum))
}

/// A regular file of ours that nobody else may write to.
fn is_own(status: &Metadata) -> bool {
    status.is_file() && own_user() == Some(status.uid()) && status.mode() & 0o022 == 0
}

/// Notes that a file was used. If that fails, it may be removed earlier than need be.
fn note_use(file: &File, status: &Metadata) {
    let now = SystemTime::now();
    let is_old = |used| now.duration_since(used).is_ok_and(|age| age > DAY);
    if status.modified().is_ok_and(is_old) {
        let _ = file.set_times(FileTimes::new().set_modified(now));
    }
}

/// The effective user: the owner of our own entry in /proc.
fn own_user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|own| own.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().join("made/when/needed"));
        (folder, cache)
    }

    /// Check that what was stored is read, within its limit, and that others than the user cannot read it.
    #[test]
    fn what_was_stored_is_read() {
        let (_folder, cache) = cache();
        assert_eq!(cache.read("a", 10), None);
        cache.write("a", b"first");
        cache.write("a", b"second");
        assert_eq!(cache.read("a", 10), Some(b"second".to_vec()));
        assert_eq!(cache.read("a", 9), None, "longer than wanted");
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&cache.path("a")), mode(&cache.folder)), (0o600, 0o700));
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1, "no draft is left");
    }

    /// Check that links, files that others may write, and pipes are not read, and that a pipe does not block.
    #[test]
    fn what_may_be_of_others_is_not_read() {
        let (_folder, cache) = cache();
        cache.write("a", b"bytes");
        symlink(cache.path("a"), cache.path("link")).unwrap();
        assert_eq!(cache.read("link", 10), None);
        assert!(cache.map("a").is_some_and(|(image, start)| image.bytes()[start..] == *b"bytes"));
        assert!(cache.map("link").is_none());
        let pipe = std::process::Command::new("mkfifo").arg(cache.path("pipe")).status();
        assert!(pipe.is_ok_and(|status| status.success()));
        assert!(cache.read("pipe", 10).is_none() && cache.map("pipe").is_none());
        fs::set_permissions(cache.path("a"), PermissionsExt::from_mode(0o620)).unwrap();
        assert!(cache.read("a", 10).is_none() && cache.map("a").is_none());
    }

    /// Check that damaged and cut files are not read.
    #[test]
    fn damaged_files_are_not_read() {
        let (_folder, cache) = cache();
        cache.write("a", b"bytes");
        let whole = fs::read(cache.path("a")).unwrap();
        let is_read = |bytes: &[u8]| {
            fs::write(cache.path("a"), bytes).unwrap();
            (cache.read("a", 100).is_some(), cache.map("a").is_some())
        };
        assert_eq!(is_read(&whole), (true, true));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert_eq!(is_read(&damaged), (false, false), "byte {at}");
            assert_eq!(is_read(&whole[..at]), (false, false), "cut at {at}");
        }
    }

    /// Check that the least recently used files go first, that the newest stays, and that nothing else is touched.
    #[test]
    fn the_folder_is_bounded() {
        let (_folder, cache) = cache();
        let cache = Cache { most: 200, looks: 1, ..cache };
        let other = cache.folder.join("notes.txt");
        for (name, age) in [("a", 30), ("b", 20), ("c", 10)] {
            cache.write(name, &[0; 80]);
            let time = SystemTime::now() - Duration::from_secs(age);
            let file = File::options().write(true).open(cache.path(name)).unwrap();
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        assert_eq!(["a", "b", "c"].map(|name| cache.read(name, 100).is_some()), [false, true, true]);
        fs::write(&other, [0; 300]).unwrap();
        let small = Cache { most: 0, ..cache };
        small.write("d", &[0; 80]);
        assert_eq!(["b", "c", "d"].map(|name| small.read(name, 100).is_some()), [false, false, true]);
        assert!(other.exists());
    }

    /// Check that a use is noted, once a day.
    #[test]
    fn use_is_noted() {
        let (_folder, cache) = cache();
        cache.write("a", b"bytes");
        let modified = || fs::metadata(cache.path("a")).unwrap().modified().unwrap();
        for (age, is_noted) in [(DAY / 2, false), (DAY * 2, true)] {
            let time = SystemTime::now() - age;
            let file = File::options().write(true).open(cache.path("a")).unwrap();
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
            let before = modified();
            cache.read("a", 10);
            assert_eq!(modified() > before, is_noted, "{age:?}");
        }
    }

    /// Check that a folder which cannot be created only means that nothing is kept.
    #[test]
    fn folders_that_cannot_be_made_keep_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::in_folder(file.path().join("below"));
        cache.write("a", b"bytes");
        assert_eq!(cache.read("a", 10), None);
    }
}
