//! The capture that is written, and what is computed meanwhile.

use analysis::Counting;
use capture::{AtomicFile, Create, Error, Metadata};
use std::fs::File;
use std::path::Path;

/// Writes the capture and counts its events.
pub(crate) type Writer = capture::Writer<File, Counting>;

/// Writes the beginning of a capture.
///
/// # Errors
/// When the file does not take it.
pub(crate) fn begin(file: File, metadata: &Metadata) -> Result<Writer, Error> {
    Writer::observed(file, metadata, Counting::new(metadata))
}

/// Creates a capture, for tests and benchmarks of what writes into it.
///
/// # Errors
/// When the folder does not take the file.
pub(crate) fn create(path: &Path) -> Result<Writer, Error> {
    let file = AtomicFile::create(path)?;
    let writer = begin(file.file()?, &Metadata::default())?;
    Create::Replace.place(file)?;
    Ok(writer)
}
