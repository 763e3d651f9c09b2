//! What a page is to have.

use crate::tables::ViewTables;
use serde::Serialize;

/// The user's options for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageOptions {
    /// URL for source lines, containing `{path}` and `{line}`.
    pub source_url: Option<String>,
    /// Prefixes of paths and their replacements, for programs that were built elsewhere.
    pub path_map: Vec<(String, String)>,
    /// Include the text of the source lines on stacks, as far as this machine has them.
    pub with_source: bool,
    /// The views of blocks, with their tables unless these are requested from a server.
    pub views: Vec<ViewTables>,
    /// The drawing of the call graph, or why the page has none; nothing when drawings are requested from a server.
    pub drawing: Option<Drawing>,
}

/// The drawing in a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// As written by Graphviz, for `GraphQuery::usual`. The scripts take only shapes and texts from it.
    Svg(String),
    /// There is none, for this reason.
    Lacks(DrawingError),
}

/// Why a drawing could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DrawingError {
    /// Graphviz is not installed.
    Graphviz,
    /// It took too long.
    Time,
    /// The drawing would be larger than [`MOST_OF_A_DRAWING`].
    Room,
    /// Graphviz failed.
    Reason,
}

/// Most bytes of a drawing in a page, before compression together with everything else.
pub const MOST_OF_A_DRAWING: usize = 1 << 20;
