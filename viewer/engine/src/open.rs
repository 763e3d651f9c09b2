//! From a file to the input of every view, for callers with one question.

use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::loaded::Loaded;
use crate::symbolize::Naming;
use analysis::query::Query;
use std::path::Path;

/// Reads and counts a capture. If the file is truncated or damaged, everything before that point is counted, and
/// [`Source::cut`](crate::Source::cut) says why there is no more.
///
/// # Errors
/// [`Error::Capture`] when the file cannot be read or is not a capture.
pub fn open(path: &Path, naming: Naming) -> Result<Loaded, Error> {
    let mut analyzer = Analyzer::open(path)?;
    let profile = analyzer.profile(&Query::default())?;
    Ok(analyzer.show(profile, naming))
}
