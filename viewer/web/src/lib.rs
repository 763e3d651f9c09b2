//! The web report: one file that a browser opens without a network.
//!
//! ```text
//!  Loaded, History ──► CallTree ──► Columns ──► deflate ──► base64 ─┐
//!                      folded     numbers, names once             ├──► report.html
//!                                 assets: page, style, scripts ───┘
//! ```
//!
//! Rules that the page keeps:
//! - **It makes no requests.** Its content security policy forbids all of them, and allows only the page's own
//!   script, identified by its hash.
//! - **All text from a capture is hostile.** It is only in the data, as base64, never in markup; the scripts turn it
//!   into text nodes, never into markup.
//! - **Its size is limited.** What does not fit into [`MOST_BYTES`] is folded into its callers, as separate nodes, so
//!   that sums stay right at every level; the page says what was folded.
//! - **Numbers match those of the other views**, from the same [`Loaded`]. For moments and ranges the page adds up
//!   the changes of every stack in a [`History`] itself, exactly.
//!
//! For **two captures** it is the page of the newer one. What each stack had in the older one ([`Baseline`]), matched
//! as in `diff`, is included, so that the scripts only subtract and need no matching of their own.
//!
//! A page of **several captures** shows their sums: without a timeline, since each has its own times.
//!
//! What **scans** found is separate data for each scan ([`scan`](fn@scan)), in an element of the page or requested
//! when the reader first looks at it: its numbers are those of `retained`, whatever time and measure are selected.
//!
//! The page takes its data from a *source* (`assets/source.js`): an element of the page or, without one, the server
//! that it came from. From a server it requests new data, with the finest slices in a range of time, when the reader
//! zooms in.
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `page` | assembles a page within its size; `limits` says how large that is |
//! | `call_tree` `fold` | all stacks as one tree, and which part of it fits |
//! | `data` | everything about stacks, time and pages as columns and texts (`columns`, `texts`, `deflate`) |
//! | `overview` | the `info --json` document |
//! | `tables` | the views of `report::views::VIEWS`, as texts |
//! | `baseline` | the older capture of a comparison |
//! | `scan` | results of a scan, as data of their own |
//! | `pieces` `graph` | what a server is asked for later: data of a range, call graphs |
//! | `script` | the modules of `assets/` joined into one |
//! | `options` | what a page is to have |

mod baseline;
mod call_tree;
mod columns;
mod data;
mod deflate;
mod fold;
mod graph;
mod limits;
mod options;
mod overview;
mod page;
mod pieces;
mod scan;
mod script;
mod tables;
mod texts;

pub use baseline::Baseline;
pub use graph::{GraphQuery, graph};
pub use limits::{MOST_BYTES, MOST_CELLS};
pub use options::{Drawing, DrawingError, MOST_OF_A_DRAWING, PageOptions};
pub use page::{Packer, page, served_page};
pub use scan::{HeldScans, scan};
pub use tables::{ViewTables, registered, view, views};

use analysis::History;
use engine::{Analyzer, Error, Loaded, Naming, PeakMemory};
use report::views::{Observed, observers};
use std::path::Path;

/// What a page of a capture shows.
pub struct Counted {
    /// The numbers.
    pub loaded: Loaded,
    /// The heap over time.
    pub history: History,
    /// The memory at the peak, if single blocks are known.
    pub memory: Option<PeakMemory>,
    /// What the views of blocks are made of, likewise.
    pub observed: Option<Observed>,
}

impl Counted {
    /// What a page of several captures shows: each of them has its own times, and blocks at its own addresses.
    pub fn together(mut loaded: Loaded) -> Self {
        // These are at times and addresses of one of them.
        loaded.tables.marks.clear();
        loaded.tables.scans.clear();
        Self { history: History::untimed(&loaded.profile), loaded, memory: None, observed: None }
    }
}

/// Opens a capture and counts what a page of it shows.
///
/// # Errors
/// [`Error::Capture`] when the file cannot be read or is not a capture.
pub fn open_with_history(path: &Path, naming: Naming) -> Result<Counted, Error> {
    let mut analyzer = Analyzer::open(path)?;
    let (profile, history, observed) = analyzer.history_beside(observers)?;
    let memory = analyzer.map_at_peak(&profile, MOST_CELLS)?;
    let has_blocks = analyzer.tables().metadata.aggregate().is_none();
    let observed = Some(observed).filter(|_| has_blocks);
    Ok(Counted { loaded: analyzer.show(profile, naming), history, memory, observed })
}
