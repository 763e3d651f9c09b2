//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::Error;

/// Captures, and what is made from them, reveal what a program does: only the owner may read them.
pub(crate) const MODE: u32 = 0o600;

/// A file under a temporary name beside its target, which it replaces when it is committed. Until then the target
/// stays as it was, whatever happens: an error, a full disk, a kill. Dropped uncommitted, the temporary file is
/// removed.
///
/// ```text
///   create:      .report.html.4711.0.tmp   written
///   commit:      fsync, rename to report.html, fsync of the folder
///   place:       rename alone, or only if report.html is free
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    temporary: Temporary,
    target: PathBuf,
}

/// A temporary name, removed with this unless the file has another one by then.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    is_given_up: bool,
}

impl AtomicFile {
    /// Makes the temporary file, readable by its owner only.
    ///
    /// # Errors
    /// When the folder of `target` does not take a new file.
    pub fn create(target: impl Into<PathBuf>) -> Result<Self, Error> {
        let target = target.into();
        loop {
            let path = temporary_name(&target);
            match create_new(&path) {
                Ok(file) => {
                    let temporary = Temporary { path, is_given_up: false };
                    return Ok(AtomicFile { file, temporary, target });
                }
                // Left behind by a killed process that had our pid.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::io(format!("create {}", path.display()))(source)),
            }
        }
    }

    /// The temporary path, for callers that can open files only by name.
    pub fn temporary(&self) -> &Path {
        &self.temporary.path
    }

    /// Moves the file to its target and returns it, still open for writing.
    ///
    /// # Errors
    /// When it cannot be synced or renamed; the target then stays as it was.
    pub fn commit(self) -> Result<File, Error> {
        self.file.sync_all().map_err(self.failed("write"))?;
        let target = self.target.clone();
        let file = self.place()?;
        sync_folder(&target);
        Ok(file)
    }

    /// As [`AtomicFile::commit`], for a file that goes on being written: what it has so far is not worth waiting for a
    /// disk.
    ///
    /// # Errors
    /// When it cannot be renamed; the target then stays as it was.
    pub fn place(mut self) -> Result<File, Error> {
        fs::rename(&self.temporary.path, &self.target).map_err(self.failed("replace"))?;
        self.temporary.is_given_up = true;
        Ok(self.file)
    }

    /// As [`AtomicFile::place`], unless there is something already, even a link.
    ///
    /// # Errors
    /// As [`AtomicFile::place`], and when the name is taken.
    pub fn place_new(mut self) -> Result<File, Error> {
        match renameat_with(CWD, &self.temporary.path, CWD, &self.target, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.temporary.is_given_up = true;
                Ok(self.file)
            }
            // The file system cannot do that. So the name is taken first, and if we are killed in between, an empty file
            // stays.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let target = self.target.clone();
                create_new(&target).map_err(self.failed("create"))?;
                self.place().inspect_err(|_| {
                    // Failing to remove it is not a second error.
                    let _stays = fs::remove_file(&target);
                })
            }
            Err(error) => Err(self.failed("create")(error.into())),
        }
    }

    /// Returns once everything written survives a power cut.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The file, for writers that need one of their own.
    ///
    /// # Errors
    /// When this process may open no more files.
    pub fn file(&self) -> Result<File, Error> {
        self.file.try_clone().map_err(self.failed("keep open"))
    }

    fn failed(&self, action: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io(format!("{action} {}", self.target.display()))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_given_up {
            // Nothing can be done about a temporary file that cannot be removed, and it does no harm.
            let _left_behind = fs::remove_file(&self.path);
        }
    }
}

/// Creates a file, readable by its owner only; fails if the name exists, even as a link.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(MODE).open(path)
}

fn temporary_name(target: &Path) -> PathBuf {
    // Relaxed: all that matters is that no value is given out twice.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    folder(target).join(format!(".{name}.{}.{number}.tmp", std::process::id()))
}

/// The file is in place. Not all file systems can sync the folder against a power cut, which is no reason to report a
/// failed save.
fn sync_folder(file: &Path) {
    let _unsupported = File::open(folder(file)).and_then(|folder| folder.sync_all());
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Check that the old file stays until the commit, that the new one is private, and that nothing else is left.
    #[test]
    fn commit_replaces_whole_files() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.html");
        fs::write(&target, "old").unwrap();
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(names(folder.path()), ["report.html"]);
    }

    /// Check that a save which fails on the way leaves the old file and no temporary one.
    #[test]
    fn dropped_file_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.html");
        fs::write(&target, "old").unwrap();
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"half of the n").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(names(folder.path()), ["report.html"]);
    }

    /// Check that a folder that is not there is named in the error.
    #[test]
    fn missing_folder_is_named() {
        let error = AtomicFile::create("/nonexistent/report.html").unwrap_err().to_string();
        assert!(error.starts_with("cannot create /nonexistent/.report.html."), "{error}");
    }
}
