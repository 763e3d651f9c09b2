//! What the command line asks of the screen.

use engine::Naming;
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
    /// Prefixes of source paths, and their replacements.
    pub path_map: Vec<(String, String)>,
    /// Use colours.
    pub color: bool,
}
