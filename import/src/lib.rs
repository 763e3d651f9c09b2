//! Converts recordings of heaptrack into captures, so that old recordings open in the same views.
//!
//! ```text
//!  heaptrack.NAME.PID.zst ─► unpack ─► lines ─► heaptrack ─► capture::Writer
//! ```
//!
//! Knows nothing of recording. Files of other tools are untrusted: what they say is checked, tables are bounded by the file's length, and an
//! error names the line. What a format does not record is left empty, and the capture's remarks say so.
//!
//! | file | what it does |
//! |---|---|
//! | `unpack` | undoes the compression |
//! | `lines` | one line after the other |
//! | `heaptrack` | what heaptrack's lines say, as events |
//! | `budget` | how much memory the tables of a file may take |
//! | `fuzzing` | run by the fuzzer and its replay |

mod budget;
#[doc(hidden)]
pub mod fuzzing;
mod heaptrack;
mod lines;
mod unpack;

use analysis::Counting;
use capture::{AtomicFile, Create, Metadata, Writer};
use lines::Lines;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What to import, and to which file.
#[derive(Clone, Debug)]
pub struct Import {
    /// The other tool's file.
    pub file: PathBuf,
    /// The capture.
    pub output: PathBuf,
    /// Replace an existing capture.
    pub replace: bool,
    /// Keep command lines.
    pub store_command: bool,
    /// Version of this tool.
    pub tool_version: String,
}

/// What was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Allocations and frees.
    pub events: u64,
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The capture could not be written.
    #[error(transparent)]
    Output(#[from] capture::Error),
    /// The file could not be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// The file is of no known format.
    #[error("{file} cannot be imported: give a file of heaptrack (heaptrack.NAME.PID.zst or .gz)")]
    Unknown {
        /// The file.
        file: PathBuf,
    },
    /// The file's contents are wrong.
    #[error("{file}, line {line}: {what}")]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Where, counted from 1.
        line: u64,
        /// What is wrong, and what to do.
        what: &'static str,
    },
}

/// An error within a file, before its name is added.
#[derive(Debug)]
enum ImportFault {
    Read(io::Error),
    Write(capture::Error),
    Malformed(u64, &'static str),
    Unknown,
}

impl From<capture::Error> for ImportFault {
    fn from(error: capture::Error) -> ImportFault {
        ImportFault::Write(error)
    }
}

/// Reads another tool's file and writes it as a capture. A capture that cannot be finished is removed, and replaces
/// no other.
///
/// # Errors
/// If the file is of no known format, or damaged, or the capture cannot be written.
pub fn import(import: &Import) -> Result<Imported, ImportError> {
    let read = |source| ImportError::Read { file: import.file.clone(), source };
    let mut file = File::open(&import.file).map_err(read)?;
    let attributes = file.metadata().map_err(read)?;
    let mut start = [0; unpack::START];
    let length = read_start(&mut file, &mut start).map_err(read)?;
    let wrong = |wrong| of(import, wrong);
    let unpacked = unpack::unpack(file, attributes.len(), &start[..length]).map_err(read)?;
    let mut lines = Lines::new(unpacked, attributes.len());
    heaptrack::begin(&mut lines).map_err(wrong)?;
    let metadata = metadata(import, &attributes);
    // It gets its name at the very end, where an error may still come: half a recording would look like a whole one.
    let mut output = AtomicFile::create(&import.output)?;
    let writer = Writer::observed(&mut output, &metadata, Counting::new(&metadata))?;
    let imported = heaptrack::import(lines, writer, import.store_command).map_err(wrong)?;
    let create = if import.replace { Create::Replace } else { Create::New };
    create.place(output)?;
    Ok(imported)
}

/// The capture's metadata.
fn metadata(import: &Import, attributes: &std::fs::Metadata) -> Metadata {
    let written = attributes.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Metadata {
        tool_version: import.tool_version.clone(),
        started_unix_ns: u64::try_from(written.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX),
        options: vec![("imported".into(), "heaptrack".into())],
        ..Metadata::default()
    }
}

fn read_start(file: &mut File, start: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = start.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => length += read,
        }
    }
    file.rewind()?;
    Ok(length)
}

fn of(import: &Import, wrong: ImportFault) -> ImportError {
    let file = import.file.clone();
    match wrong {
        ImportFault::Read(source) => ImportError::Read { file, source },
        ImportFault::Write(source) => ImportError::Output(source),
        ImportFault::Malformed(line, what) => ImportError::Malformed { file, line, what },
        ImportFault::Unknown => ImportError::Unknown { file },
    }
}

/// A program's name, from its path.
fn program(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
