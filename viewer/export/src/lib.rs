//! Exports a capture to the formats of other programs.
//!
//! ```text
//!  Loaded ──┬─► Tree ──────► folded, flamegraph              functions in the context of their callers
//!           ├─► CallGraph ─► callgrind, dot                  who calls whom
//!           └─► rows ──────► pprof, speedscope, csv, json    one per stack
//!                            symbol-order
//!  Events ─┬──► Watch ─────► firefox, massif, heaptrack,     the life of every block
//!          │                 syscap
//!          └──► samples ───► firefox, syscap                 along with marks and counters
//! ```
//!
//! Rules that every format keeps:
//! - **Its sums match `info`**, for each metric that it contains, wherever the format can express them.
//! - **It is written as it is generated**: memory is bounded by the tables of the capture, whatever the size of the
//!   output. (For the Firefox Profiler it is bounded by a number of blocks and samples: its format is columnar.)
//! - **Names survive.** What a format cannot represent (a newline in a line-based format) is replaced by its escape,
//!   `\u{a}`; names are neither cut nor left out.
//! - **A capture without events gives a valid document** without rows.

pub mod aggregate;
mod copy;
#[cfg(feature = "sql")]
pub mod sql;

mod call_graph;
mod callgrind;
mod cell;
mod csv;
pub mod dot;
mod events;
mod firefox;
mod flamegraph;
mod folded;
mod format;
mod heaptrack;
mod held;
mod massif;
mod notes;
mod places;
mod pprof;
mod protobuf;
mod readings;
mod speedscope;
mod symbol_order;
mod syscap;
mod walk;
mod xml;

pub use copy::{Copied, Redaction, copy};
pub use flamegraph::flamegraph;
pub use format::{Format, UnknownFormat};

use analysis::query::Module;
use analysis::{Metric, Share};
use engine::{Error, Events, Loaded};
use report::text::caveats;
use std::io::Write;

/// What to export, and how much of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// The metric, for a format with only one ([`Format::holds_one_metric`]), or the one shown first, for a format
    /// with all of them.
    pub metric: Metric,
    /// Functions and calls below this share of the total are left out of a drawing: see [`Format::is_cut`].
    pub min: Option<Share>,
    /// Most functions that are drawn.
    pub limit: Option<usize>,
    /// Binaries whose functions are ordered; none: the programs themselves.
    pub modules: Vec<Module>,
}

impl ExportOptions {
    /// The whole capture in this format.
    pub fn new(format: Format) -> Self {
        Self { format, metric: Metric::default(), min: None, limit: None, modules: Vec::new() }
    }
}

/// Writes a capture in the format of the options. Formats with every event read the events again, and contain the
/// whole capture ([`Format::holds_events`]).
///
/// # Errors
/// Those of the writer, and of the file that the events come from.
pub fn export(
    out: &mut dyn Write,
    loaded: &Loaded,
    events: &dyn Events,
    options: &ExportOptions,
) -> Result<(), Error> {
    let metric = options.metric;
    match options.format {
        Format::Folded => folded::write(out, loaded, metric)?,
        Format::Flamegraph => flamegraph::write(out, loaded, metric)?,
        Format::Speedscope => speedscope::write(out, loaded, metric)?,
        Format::Pprof => pprof::write(out, loaded, metric)?,
        Format::Firefox => firefox::write(out, loaded, events)?,
        Format::Callgrind => callgrind::write(out, loaded)?,
        Format::Dot => dot::write(out, loaded, options)?,
        Format::Massif => massif::write(out, loaded, events)?,
        Format::Heaptrack => heaptrack::write(out, loaded, events)?,
        Format::Syscap => syscap::write(out, loaded, events)?,
        Format::SymbolOrder => symbol_order::write(out, loaded, metric, &options.modules)?,
        Format::Csv => csv::write(out, loaded)?,
        Format::Json => report::json::tables(out, loaded)?,
    }
    Ok(())
}

/// The program and its version, for formats that say who wrote them.
pub(crate) const CREATOR: &str = concat!("sysprof-memprof ", env!("CARGO_PKG_VERSION"));

/// The same with what to know about the numbers, for formats with one line for both.
fn creator_and_caveats(loaded: &Loaded) -> String {
    let parts: Vec<String> = [CREATOR.to_owned()].into_iter().chain(caveats(loaded)).collect();
    parts.join("; ")
}

/// The command that was recorded or, if that is unknown, the name of the capture.
fn command(loaded: &Loaded) -> String {
    let command = loaded.tables.metadata.command.join(" ");
    if command.is_empty() { loaded.source.file.clone() } else { command }
}
