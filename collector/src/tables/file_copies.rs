//! Copies of files that may be written to again.
//!
//! A file that was built a short while ago may be built once more while it is recorded, by some into the same file.
//! Then its handle leads to the new contents, and the names of what was mapped are gone. So small files that are young
//! are copied when they are first heard of, into files without a name: in memory, they would be a third of what the
//! collector takes. The files of a distribution are old, and are replaced, not rewritten; so are those that nobody may
//! write to, such as the agent's.

use capture::ModuleId;
use rustc_hash::FxHashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use symbols::ModuleFile;

/// Largest file that is copied, and most bytes of all copies: reading them takes some milliseconds.
const LARGEST: u64 = 8 << 20;
const MOST: u64 = 32 << 20;
/// Files that nobody has written to for so long are not expected to change. When they came to this machine does not
/// matter: in a container all have just come.
const YOUNG: Duration = Duration::from_hours(24);

/// The copies of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileCopies(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    bytes: u64,
    by_module: FxHashMap<ModuleId, File>,
}

impl FileCopies {
    /// Copies the file of a module if it may be written to again, and still is what was mapped.
    pub(crate) fn keep(&self, module: ModuleId, file: &ModuleFile, handle: &File) {
        let Ok(metadata) = handle.metadata() else { return };
        let is_young = metadata.modified().is_ok_and(|modified| modified + YOUNG > SystemTime::now());
        let length = metadata.len();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_writable = metadata.mode() & 0o222 != 0;
        let is_wanted = is_young && is_writable && length <= LARGEST && kept.bytes + length <= MOST;
        if !metadata.is_file() || !is_wanted || kept.by_module.contains_key(&module) {
            return;
        }
        let Ok(copy) = copy(handle) else { return };
        if is_as_mapped(file, handle) {
            kept.bytes += length;
            kept.by_module.insert(module, copy);
        }
    }

    /// What a file was, if its handle leads to other contents by now.
    pub(crate) fn before(&self, module: ModuleId, file: &ModuleFile, handle: &File) -> Option<Vec<u8>> {
        if is_as_mapped(file, handle) {
            return None;
        }
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = kept.by_module.get(&module)?;
        let mut bytes = Vec::new();
        copy.rewind().ok()?;
        copy.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// A file without a name that holds what the file of a handle does. The kernel copies, and some file systems share the
/// blocks.
fn copy(handle: &File) -> io::Result<File> {
    let original = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
    let mut copy = unnamed(&std::env::temp_dir())?;
    io::copy(&mut original.take(LARGEST), &mut copy)?;
    Ok(copy)
}

/// An empty file that goes when it is closed.
fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let unnamed = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
    // Not every file system has files without names.
    unnamed.or_else(|_| {
        let path = folder.join(format!(".sysprof-memprof-copy.{}", std::process::id()));
        let file = options.create_new(true).open(&path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    })
}

/// Whether nobody has written to a file since it was mapped.
fn is_as_mapped(file: &ModuleFile, handle: &File) -> bool {
    let modified = handle.metadata().map(|metadata| modified_ns(&metadata));
    modified.is_ok_and(|modified| modified == file.modified_ns)
}

/// When a file was last written to, in nanoseconds since the Unix epoch.
pub(crate) fn modified_ns(metadata: &std::fs::Metadata) -> u64 {
    (metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec()).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::handles::hold;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Check that a young file is known after something else was written into it, that one which was removed is left
    /// to its handle, and that large files, old ones, and those that nobody may write to are not copied.
    #[test]
    fn files_that_are_rewritten_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let copies = FileCopies::default();
        let keep = |index: usize, name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let (handle, module) = (hold(&path).unwrap(), ModuleId::from_index(index));
            let modified_ns = modified_ns(&fs::metadata(&path).unwrap());
            let file = ModuleFile { modified_ns, ..ModuleFile::at(&path) };
            copies.keep(module, &file, &handle);
            (module, file, handle)
        };
        let rewritten = keep(0, "rewritten", b"before");
        let removed = keep(1, "removed", b"before");
        let large = keep(2, "large", &vec![0; LARGEST as usize + 1]);
        let closed = folder.path().join("closed");
        fs::write(&closed, b"before").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        copies.keep(
            ModuleId::from_index(4),
            &ModuleFile {
                modified_ns: modified_ns(&fs::metadata(&closed).unwrap()),
                ..ModuleFile::at(&closed)
            },
            &hold(&closed).unwrap(),
        );
        assert!(!copies.0.lock().unwrap().by_module.contains_key(&ModuleId::from_index(4)));
        let old = folder.path().join("old");
        fs::write(&old, b"before").unwrap();
        let yesterday = SystemTime::now() - YOUNG - Duration::from_secs(1);
        File::open(&old).unwrap().set_modified(yesterday).unwrap();
        let (handle, status) = (hold(&old).unwrap(), fs::metadata(&old).unwrap());
        let file = ModuleFile { modified_ns: modified_ns(&status), ..ModuleFile::at(&old) };
        copies.keep(ModuleId::from_index(5), &file, &handle);
        assert!(!copies.0.lock().unwrap().by_module.contains_key(&ModuleId::from_index(5)));
        let (other, stale, handle) = keep(3, "stale", b"before");
        let before =
            |(module, file, handle): &(ModuleId, ModuleFile, Arc<File>)| copies.before(*module, file, handle);
        assert_eq!(before(&rewritten), None);
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&rewritten.1.path, b"something else").unwrap();
        fs::write(&large.1.path, b"something else").unwrap();
        fs::remove_file(&removed.1.path).unwrap();
        assert_eq!(before(&rewritten).as_deref(), Some(&b"before"[..]));
        assert_eq!((before(&removed), before(&large)), (None, None));
        // What was mapped is gone already.
        let late = FileCopies::default();
        late.keep(other, &ModuleFile { modified_ns: stale.modified_ns - 1, ..stale.clone() }, &handle);
        assert!(late.0.lock().unwrap().by_module.is_empty());
        late.keep(other, &stale, &handle);
        assert!(!late.0.lock().unwrap().by_module.is_empty());
    }
}
