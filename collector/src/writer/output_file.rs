//! The file that a recording leaves, from its temporary name to where its user has moved it.

use capture::{AtomicFile, Create};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The recording's file. It gets its name once the recording has begun: a start that fails leaves what had the name.
///
/// ```text
///   Begun ──── name ───► Named ──── whereabouts: the path, or where it was moved to
///     └─ dropped: the temporary file is removed, and nothing has changed
/// ```
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    create: Create,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// There is none: what is recorded passes through a file of the caller, or the recording has failed.
    None,
    /// It has a temporary name.
    Begun(AtomicFile),
    /// It has its name, or had it.
    Named(File),
}

impl OutputFile {
    /// A recording whose file is created later, or never.
    pub(crate) fn new(path: &Path, create: Create) -> OutputFile {
        OutputFile { path: path.to_owned(), create, state: Mutex::new(State::None) }
    }

    /// The file is begun.
    pub(crate) fn begin(&self, file: AtomicFile) {
        *self.state() = State::Begun(file);
    }

    /// Gives the file its name; the second time nothing happens.
    pub(crate) fn name(&self) -> Result<(), capture::Error> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::None) {
            State::Begun(file) => *state = State::Named(self.create.place(file)?),
            other => *state = other,
        }
        Ok(())
    }

    /// True once the file has got its name.
    pub(crate) fn is_named(&self) -> bool {
        matches!(*self.state(), State::Named(_))
    }

    /// Removes the file if it has not got its name.
    pub(crate) fn forget(&self) {
        *self.state() = State::None;
    }

    /// Where the file is now: its user may have moved it, or a folder that it is in.
    pub(crate) fn whereabouts(&self) -> PathBuf {
        let moved = match &*self.state() {
            State::Named(file) => moved_to(file, &self.path),
            State::None | State::Begun(_) => None,
        };
        moved.unwrap_or_else(|| self.path.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path of a file that is not at `path` any more.
fn moved_to(file: &File, path: &Path) -> Option<PathBuf> {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let is_at = |path: &Path| {
        fs::symlink_metadata(path)
            .ok()
            .map(id)
            .is_some_and(|there| Some(there) == file.metadata().ok().map(id))
    };
    if is_at(path) {
        return None;
    }
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    is_at(&path).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn begun(path: &Path, create: Create) -> OutputFile {
        let kept = OutputFile::new(path, create);
        let mut file = AtomicFile::create(path).unwrap();
        file.write_all(b"new").unwrap();
        kept.begin(file);
        kept
    }

    /// Check that nothing changes before the file gets its name, and nothing at all if it never does.
    #[test]
    fn nothing_changes_until_it_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.memprof");
        let read = || fs::read_to_string(&path).ok();
        drop(begun(&path, Create::New));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&path, "old").unwrap();
        let kept = begun(&path, Create::Replace);
        assert_eq!(read().as_deref(), Some("old"));
        kept.name().unwrap();
        kept.name().unwrap();
        assert_eq!(read().as_deref(), Some("new"));
        assert_eq!(kept.whereabouts(), path);
    }

    /// Check that a name which was taken meanwhile stays with what has it.
    #[test]
    fn name_taken_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.memprof");
        let kept = begun(&path, Create::New);
        fs::write(&path, "somebody else's").unwrap();
        let taken = |error: &capture::Error| matches!(error, capture::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists);
        assert!(kept.name().is_err_and(|error| taken(&error)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Check that a file whose folder was moved is found, even if another one has taken its name.
    #[test]
    fn moved_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::create_dir(&old).unwrap();
        let path = old.join("it.memprof");
        let kept = begun(&path, Create::New);
        kept.name().unwrap();
        fs::rename(&old, &new).unwrap();
        fs::create_dir(&old).unwrap();
        fs::write(&path, "another one").unwrap();
        assert_eq!(kept.whereabouts(), new.join("it.memprof").canonicalize().unwrap());
    }
}
