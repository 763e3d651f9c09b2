//! The file of a capture: every reader of events begins here.

use crate::error::Error;
use crate::loaded::Source;
use capture::{Reader, Tables};
use std::path::Path;

/// Opens a capture for reading, and says what its file is like.
pub fn open_reader(path: &Path) -> Result<(Reader, Source), Error> {
    let file = path.display().to_string();
    let reader = Reader::open(path).map_err(|error| Error::Capture { file: file.clone(), error })?;
    let cut = reader.cut().map(|cut| cut.to_string());
    let source = Source { file, cut, unknown_chunks: reader.skipped() };
    Ok((reader, source))
}

/// Fails when a capture has no single blocks.
pub fn refuse_aggregated(tables: &Tables, source: &Source, wanted: &'static str) -> Result<(), Error> {
    match tables.metadata.aggregate() {
        Some(_) => Err(Error::Aggregated { file: source.file.clone(), wanted }),
        None => Ok(()),
    }
}
