//! Answers questions about a capture: opened, counted, named, and seen through a query and a lens.
//!
//! ```text
//!  file ──► Analyzer ──► Loaded ──► views: text, JSON, page, terminal, other formats
//!           query        numbers, names, how it is seen
//! ```
//!
//! Rules that every part keeps:
//! - **Each number has one meaning**, that of [`analysis`], in every view: views are written from the same [`Loaded`]
//!   and never count anything themselves.
//! - **Memory is bounded by live blocks and distinct stacks**, never by events: a capture of 10⁹ events is counted in
//!   one pass.
//! - **A capture is untrusted input.** Hostile events give odd numbers, never a panic, an endless loop or unbounded
//!   memory; hostile names are escaped before they reach a terminal.
//! - **Nothing is left out in silence**: what a limit hides is summed up in a row of its own, and events that the
//!   recording lost are reported above every report.
//!
//! This crate reads files: the capture, and the files that its names and rules come from. It writes none but the side
//! index of a large capture.
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `open` | from a file to the input of every view, for one question |
//! | `analyzer` | the same for any number of questions |
//! | `captures` | several captures as one |
//! | `capture_file` `events` | the readers of a file, and its events for formats and observers |
//! | `symbolize` `sources` | names that a capture lacks, and lines of source files, from this machine |
//! | `loaded` | the result: counted and named |
//! | `lens` | which stacks are shown, and what of each |
//! | `suppression` | blocks that are live at the end on purpose |
//! | `compare` `check` | two moments side by side; rules that a capture must keep |
//! | `live` | a recording while it goes on |
//! | `error` | what can go wrong |

mod error;
mod symbolize;

mod loaded;

mod capture_file;
mod events;
mod sources;

pub mod lens;
pub mod suppression;

mod analyzer;
mod captures;
mod open;

pub mod check;
mod compare;
pub mod live;

pub use analyzer::{Analyzer, FunctionDetail, FunctionFrees, PeakMemory};
pub use capture_file::{open_reader, refuse_aggregated};
pub use captures::Captures;
pub use compare::{Compared, Side, compare_captures, compare_moments, compare_shown};
pub use error::Error;
pub use events::{Events, Recorded, observe};
pub use loaded::{Grouping, Loaded, MarkRow, Origin, PeakKind, PeakRss, Rule, Seen, Source, Suppressed, Use};
pub use open::open;
pub use sources::Sources;
pub use symbolize::{LookedUp, Naming, Needed, named};
/// Where to look for files with names, and how to show names.
pub use symbols::{Cache, Notice, Options as SymbolOptions, Servers};
