//! What the command line asks of the screen.

use engine::{Cache, Naming};
use std::path::PathBuf;

/// What to show, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The capture.
    pub file: PathBuf,
    /// An older capture to compare it with.
    pub baseline: Option<PathBuf>,
    /// Where to look up names that it lacks.
    pub naming: Naming,
    /// Where the first look at a large capture is kept.
    pub cache: Cache,
    /// Prefixes of source paths, and their replacements.
    pub path_map: Vec<(String, String)>,
    /// Use colours.
    pub color: bool,
}
