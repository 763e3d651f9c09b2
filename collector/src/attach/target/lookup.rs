//! Finds a command's file, by the rules of `execvp`.

use super::Refusal;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where glibc's `execvp` looks when `PATH` is not set (`confstr(_CS_PATH)`).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that `command` means. A name with a slash is taken as a path. Otherwise the first executable file of that
/// name in `search` wins; one that is not executable is reported only if no better one follows.
pub(super) fn find(command: &Path, search: Option<&OsStr>) -> Result<PathBuf, Refusal> {
    let name = command.as_os_str().as_bytes();
    if name.contains(&b'/') {
        return check_executable(command).map(|()| command.to_path_buf());
    }
    if name.is_empty() {
        return Err(Refusal::NotFound { command: command.to_path_buf() });
    }
    let search = search.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut nearly = None;
    for folder in search.as_bytes().split(|byte| *byte == b':') {
        // An empty element means the current directory; "./" keeps the result from being looked up again.
        let folder = if folder.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(folder)) };
        let path = folder.join(command);
        match check_executable(&path) {
            Ok(()) => return Ok(path),
            Err(refusal @ Refusal::NotExecutable { .. }) => nearly = nearly.or(Some(refusal)),
            // A directory of that name is skipped, as in execvp.
            Err(_) => {}
        }
    }
    Err(nearly.unwrap_or_else(|| Refusal::NotFound { command: command.to_path_buf() }))
}

/// Checks an interpreter named by a script. The kernel uses the path as it stands, without `PATH`.
pub(super) fn check_interpreter(script: &Path, interpreter: &Path) -> Result<(), Refusal> {
    check_executable(interpreter).map_err(|refusal| Refusal::BadInterpreter {
        path: script.to_path_buf(),
        interpreter: interpreter.to_path_buf(),
        reason: match refusal {
            Refusal::NotFound { .. } => "there is no such file",
            Refusal::Directory { .. } => "it is a directory",
            _ => "it is not executable",
        },
    })
}

/// Fails unless `path` is a regular file that this process may execute; a file on a noexec file system is not.
fn check_executable(path: &Path) -> Result<(), Refusal> {
    let owned = || path.to_path_buf();
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(Refusal::NotExecutable { path: owned() });
        }
        Err(_) => return Err(Refusal::NotFound { command: owned() }),
    };
    if metadata.is_dir() {
        return Err(Refusal::Directory { path: owned() });
    }
    if !metadata.is_file() || accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_err() {
        return Err(Refusal::NotExecutable { path: owned() });
    }
    Ok(())
}
