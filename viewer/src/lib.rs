//! Analysis of a capture and its views.
//!
//! Rules that every part keeps:
//! - **Each number has one meaning**, that of [`analysis`], in every view: text and JSON are written from the same
//!   [`Loaded`] and never count anything themselves.
//! - **Memory is bounded by live blocks and distinct stacks**, never by events: a capture of 10⁹ events is counted in
//!   one pass.
//! - **A capture is untrusted input.** Hostile events give odd numbers, never a panic, an endless loop or unbounded
//!   memory; hostile names are escaped before they reach a terminal.
//! - **Nothing is left out in silence**: what a limit hides is summed up in a row of its own, and events that the
//!   recording lost are reported above every report.
//!
//! Only [`open()`] and its siblings read files: the capture, and the files that its names and rules come from. Only
//! views write, to the writer that they are given.
//!
//! ```no_run
//! let loaded = viewer::open("app.1000.memprof".as_ref(), viewer::Naming::from_files())?;
//! let options = viewer::ReportOptions::default();
//! viewer::text::report(&mut std::io::stdout(), &loaded, &options, &viewer::text::Style::default())?;
//! # Ok::<(), viewer::Error>(())
//! ```

pub mod aggregate;
pub mod analysis;
pub mod check;
pub mod graph;
pub mod lens;
pub mod live;
pub mod lives;
pub mod query;
pub mod suppression;

pub mod export;
pub mod format;
pub mod json;
pub mod junit;
pub mod outline;
#[cfg(feature = "sql")]
pub mod sql;
pub mod text;
pub mod web;

mod capture_file;
mod cell;
mod compare;
mod copy;
mod dump;
mod ended;
mod error;
mod events;
mod loaded;
mod moments;
mod open;
mod options;
mod samples;
mod side_index;
mod sources;
mod symbolize;

pub use compare::{Compared, Side, compare_captures, compare_moments};
pub use copy::{Copied, Redaction, copy};
pub use dump::{dump, dump_hits, dump_json, dump_samples};
pub use error::Error;
pub use events::{Events, Recorded};
pub use export::{ExportOptions, Format, export};
pub use loaded::{Grouping, Loaded, MarkRow, Origin, Rule, Seen, Source, Suppressed, UnknownGrouping, Use};
pub use moments::{FunctionDetail, FunctionFrees, Moments, PeakMemory};
pub use open::open;
pub use options::{DiffOptions, DumpOptions, ReportOptions, ResidentBy, Shape};
pub use side_index::Cache;
pub use sources::Sources;
pub use symbolize::{LookedUp, Naming};
/// Where to look for files with names, and how to show names.
pub use symbols::{Cache as NameCache, Notice, Options as SymbolOptions, Servers};
