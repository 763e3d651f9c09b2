//! Exports a capture to the formats of other programs.
//!
//! ```text
//!  Loaded ──┬─► Tree ──────► folded, flamegraph              functions in the context of their callers
//!           ├─► CallGraph ─► callgrind, dot                  who calls whom
//!           └─► rows ──────► pprof, speedscope, csv, json,   one per stack
//!                            dataset
//!  Events ─┬──► Watch ─────► firefox, massif, heaptrack,     the life of every block
//!          │                 syscap, perfetto
//!          └──► samples ───► firefox, syscap, perfetto       along with marks and counters
//! ```
//!
//! Rules that every format keeps:
//! - **Its sums match `info`**, for each metric that it contains, wherever the format can express them.
//! - **It is written as it is generated**: memory is bounded by the tables of the capture, whatever the size of the
//!   output. (For the Firefox Profiler it is bounded by a number of blocks and samples: its format is columnar.)
//! - **Names survive.** What a format cannot represent (a newline in a line-based format) is replaced by its escape,
//!   `\u{a}`; names are neither cut nor left out.
//! - **A capture without events gives a valid document** without rows.
//!
//! # Files
//!
//! | file | what it has |
//! |---|---|
//! | `callgrind` `csv` `dot` `firefox` `flamegraph` `folded` `heaptrack` `massif` `perfetto` `pprof` `speedscope` `syscap` | a format each |
//! | `format` `options` | the formats' names and what each holds; what to export |
//! | `call_graph` `walk` `places` | who calls whom; a tree in the order in which it is written; a stack as functions and lines |
//! | `events` `held` `readings` `notes` | what formats read again: every event, bytes held by time, counters, what else happened |
//! | `otlp` | what is pushed to receivers of OTLP |
//! | `amounts` | the numbers of a stack, by names of columns |
//! | `addresses` | one address space for all files of a capture |
//! | `protobuf` `xml` | how numbers and texts are written |
//! | `origin` | who wrote a file, and of what |
//! | `copy` | a capture with the names that were looked up, as a copy or in place, or redacted |
//! | `aggregate` | a recording as totals at snapshots |
//! | `dataset` | captures of many hosts as one table, in files of Parquet |
//! | `sql` | a capture as a database, and queries |

pub mod aggregate;
mod copy;
#[cfg(feature = "parquet")]
pub mod dataset;
#[cfg(feature = "sql")]
pub mod sql;

mod addresses;
mod amounts;
mod call_graph;
mod callgrind;
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
mod options;
mod origin;
mod otlp;
mod perfetto;
mod places;
mod pprof;
mod protobuf;
mod readings;
mod speedscope;
mod syscap;
mod walk;
mod xml;

pub use copy::{Copied, Redaction, add_names, copy};
pub use flamegraph::flamegraph;
pub use format::{Format, UnknownFormat};
pub use options::ExportOptions;
pub use otlp::Resource;

use analysis::Metric;
use engine::{Error, Events, Loaded};
use std::io::Write;

/// Writes what is in use and what was allocated as a profile of pprof, of a recording that goes on; `first` is what is
/// shown first.
///
/// # Errors
/// Those of the writer.
pub fn live_pprof(out: &mut dyn Write, loaded: &Loaded, first: Metric) -> Result<(), Error> {
    Ok(pprof::write_live(out, loaded, first)?)
}

/// What is in use and what was allocated as a request of OTLP's `ProfilesService`, uncompressed; all of it is in memory,
/// since the format has the dictionary of names and stacks as one message. `id` tells this profile from all others.
pub fn otlp(loaded: &Loaded, resource: &Resource, id: [u8; 16]) -> Vec<u8> {
    otlp::request(loaded, resource, id)
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
        Format::Perfetto => perfetto::write(out, loaded, events)?,
        Format::Csv => csv::write(out, loaded)?,
        Format::Json => report::json::tables(out, loaded)?,
    }
    Ok(())
}
