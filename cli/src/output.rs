//! The destination of a capture, or of what is made from one: checked before anything is started.

mod packing;

pub(crate) use packing::Packing;

use crate::exit::{Failure, Outcome};
use crate::message;
use crate::stream::Stream;
use anyhow::{Context, anyhow};
use capture::AtomicFile;
use collector::advice_for_file;
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Fails unless a capture can be written to `path`, or sent there: see [`Stream`].
pub(crate) fn prepare(path: &Path, replace: bool) -> Result<(), Failure> {
    match Stream::of(path) {
        Some(stream) => stream.prepare(),
        None => check(path, replace),
    }
}

/// Fails unless a file that is not packed can be written to `path`: a capture, which is compressed already, or a
/// database. With `replace`, an existing regular file may be replaced.
pub(crate) fn check(path: &Path, replace: bool) -> Result<(), Failure> {
    if let Some(ending) = packing::ending(path) {
        return Err(Failure::usage(anyhow!(
            "{}: a file of this kind is not compressed as a whole. Leave .{ending} out of its name.",
            path.display()
        )));
    }
    check_place(path, replace)
}

/// The same for a document, which is packed if its name says so. Returns how.
pub(crate) fn check_document(path: &Path, replace: bool) -> Result<Option<Packing>, Failure> {
    let packing = Packing::of(path)?;
    check_place(path, replace)?;
    Ok(packing)
}

fn check_place(path: &Path, replace: bool) -> Result<(), Failure> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => {
            return Err(Failure::usage(anyhow!(
                "{shown} is a directory. Give the name of a file with --output."
            )));
        }
        // A user who names a pipe wants the capture to go into it.
        Ok(there) if there.file_type().is_fifo() => {
            return Err(Failure::usage(anyhow!(
                "{shown} is a pipe, not a regular file. --output - writes to standard output, which may be one."
            )));
        }
        // A device would be replaced by a file, and a link by a file in its own place.
        Ok(there) if !there.is_file() => {
            return Err(Failure::usage(anyhow!(
                "{shown} is not a regular file, so --force does not replace it. Choose another name with --output."
            )));
        }
        Ok(_) if !replace => {
            return Err(Failure::usage(anyhow!(
                "{shown} exists already. Choose another name with --output, or replace it with --force."
            )));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unwritable(path, &error)),
    }
    check_folder(folder_of(path)).map_err(|error| unwritable(path, &error))
}

/// Writes a file completely or not at all, packed if that is wanted, and reports it.
pub(crate) fn write(
    path: &Path,
    packing: Option<Packing>,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> Outcome {
    let mut out = BufWriter::new(create(path)?);
    match packing {
        Some(packing) => packing.pack(&mut out, fill)?,
        None => fill(&mut out)?,
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error);
    commit(file.with_context(|| format!("cannot write {}", path.display()))?, path)
}

/// Creates a file that replaces `path` once it is complete. Some file systems, such as that of /sys, refuse this
/// although permissions allow it.
pub(crate) fn create(path: &Path) -> Result<AtomicFile, Failure> {
    AtomicFile::create(path).map_err(|error| match error {
        capture::Error::Io { source, .. } => unwritable(path, &source),
        error => Failure::usage(error),
    })
}

/// Moves a completed file into place, and reports it.
pub(crate) fn commit(file: AtomicFile, path: &Path) -> Outcome {
    file.commit()?;
    message::plain(&format!("Wrote {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// Fails unless a capture can be written to the current folder, under a name that is not known yet.
pub(crate) fn check_default() -> Result<(), Failure> {
    check_folder(Path::new(".")).map_err(|error| unwritable(Path::new("."), &error))
}

/// An unused name in the current folder for the capture of process `pid` running `command`.
pub(crate) fn default_name(command: &OsStr, pid: u32) -> PathBuf {
    let name = Path::new(command).file_name().unwrap_or(OsStr::new("capture")).to_string_lossy();
    // The pid may have been used before; that process's capture must not be replaced.
    unused(PathBuf::from(format!("{name}.{pid}.memprof")))
}

/// `path`, or, if that exists, one with a number after its name.
pub(crate) fn unused(path: PathBuf) -> PathBuf {
    let is_taken = |path: &Path| fs::symlink_metadata(path).is_ok();
    if !is_taken(&path) {
        return path;
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let others = (2..).map(|count: u64| path.with_file_name(format!("{name}-{count}.memprof")));
    others.into_iter().find(|path| !is_taken(path)).unwrap_or_else(|| path.clone())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

fn check_folder(folder: &Path) -> io::Result<()> {
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// The failure for a path where no file can be created.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    Failure::usage(anyhow!("cannot write {shown}: {error}. {}", advice_for_file(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path, replace: bool) -> String {
        format!("{:?}", check(path, replace).expect_err("a refusal"))
    }

    /// Check that what cannot be written, or must not be replaced, is refused with its reason.
    #[test]
    fn outputs_are_checked_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("there");
        fs::write(&file, "").unwrap();
        assert!(check(&folder.path().join("new"), false).is_ok());
        assert!(check(&file, true).is_ok());
        assert!(refusal(&file, false).contains("--force"));
        assert!(refusal(folder.path(), true).contains("is a directory"));
        assert!(refusal(Path::new("/dev/null"), true).contains("not a regular file"));
        assert!(refusal(&folder.path().join("no/new"), false).contains("No such file"));
        assert!(refusal(&file.join("new"), false).contains("ot a directory"));
    }

    /// Check that captures are named after program and process.
    #[test]
    fn default_names_have_program_and_pid() {
        assert_eq!(default_name(OsStr::new("/usr/bin/python3"), 7), Path::new("python3.7.memprof"));
        assert_eq!(default_name(OsStr::new("./app"), 7), Path::new("app.7.memprof"));
        assert_eq!(default_name(OsStr::new("/"), 7), Path::new("capture.7.memprof"));
    }
}
