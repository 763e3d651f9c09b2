//! The web report: one file that a browser opens without a network.
//!
//! ```text
//!  Loaded, History ──► Forest ──► Columns ──► deflate ──► base64 ─┐
//!                      folded     numbers, names once             ├──► report.html
//!                                 assets: page, style, scripts ───┘
//! ```
//!
//! What the page keeps to:
//! - **No request to anywhere.** Its policy forbids all of them, and lets only the page's own script run, which is named
//!   by its hash.
//! - **All text of a capture is hostile.** It lies in the data only, as base64, never in markup; the scripts make nodes
//!   of text, never markup of text.
//! - **It has a size.** What does not fit into [`MOST_BYTES`] is folded into its callers, as nodes of their own, so that
//!   sums stay right at every level; the page says what was folded.
//! - **Numbers are those of the other views**, from the same [`Loaded`]. What the page shows of moments and ranges it adds
//!   up itself, from the changes of every stack in a [`History`], exactly.
//!
//! Of **two captures** it is the page of the newer one. Beside what each of its stacks has stands what the same stack had in the
//! older one ([`Beside`]), matched as `diff` does it, so that the scripts subtract and need no matching of their own.
//!
//! What **scans** found is data of its own for each ([`scan`](fn@scan)), in an element of the page or asked for when the reader first
//! looks at it: numbers are those of `retained`, whatever time and measure are chosen.
//!
//! The page takes its data from a *source* (`assets/source.js`): what lies in the page, or, where nothing does, a server that
//! the page came from. Then it asks for the data anew, with the finest slices in a range of time, when the reader goes into it.

mod beside;
mod columns;
mod data;
mod fold;
mod forest;
mod graph;
mod overview;
mod page;
mod pieces;
mod scan;
mod script;
mod texts;

pub use beside::Beside;
pub use graph::{GraphQuery, graph};
pub use page::{MOST_BYTES, MOST_CELLS, Packer};
pub use scan::{HeldScans, scan};

use crate::analysis::History;
use crate::loaded::Loaded;
use crate::moments::PeakMemory;
use serde::Serialize;
use std::io::{self, Write};

/// What the user wants of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageOptions {
    /// Where source lines are to be found: an address with `{path}` and `{line}` in it.
    pub source_url: Option<String>,
    /// Beginnings of paths, and what to put in their place: for programs that were built elsewhere.
    pub path_map: Vec<(String, String)>,
    /// Put the text of the lines on stacks into it, as far as this machine has them.
    pub with_source: bool,
    /// The drawing of the call graph, or why the page has none; nothing where a server is asked for drawings.
    pub drawing: Option<Drawing>,
}

/// A drawing that lies in a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// As Graphviz wrote it, of [`GraphQuery::usual`]. The scripts take shapes and texts from it, nothing else.
    Svg(String),
    /// Why there is none.
    Lacks(Lack),
}

/// What a drawing could not be made without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lack {
    /// Graphviz is not installed.
    Graphviz,
    /// It took too long.
    Time,
    /// The drawing would be larger than [`MOST_OF_A_DRAWING`].
    Room,
    /// Graphviz did not draw it.
    Reason,
}

/// The most bytes that a drawing in a page has, before it is deflated with everything else.
pub const MOST_OF_A_DRAWING: usize = 1 << 20;

/// The page of a server, without data, and its policy, which the server says, too: the page asks for `data` beside it.
pub fn served_page() -> (Vec<u8>, String) {
    page::served()
}

/// Writes the page; with an older capture beside, if there is one, and with what scans found.
///
/// # Errors
/// Those of the writer.
pub fn page(
    out: &mut dyn Write,
    loaded: &Loaded,
    history: &History,
    memory: Option<PeakMemory>,
    beside: Option<Beside>,
    scans: &HeldScans,
    options: &PageOptions,
) -> io::Result<()> {
    page::write(out, loaded, history, memory, beside, scans, options)
}
