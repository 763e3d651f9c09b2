//! What a capture can be exported to: a document, a single file, or files among those of other captures.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use export::Format;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A document.
    Document(Format),
    /// A copy of the capture; always a file.
    Copy,
    /// A line for each event.
    Events {
        /// As JSON, in place of columns.
        is_json: bool,
    },
    /// A database; always a file.
    #[cfg(feature = "sql")]
    Database,
    /// Files of a dataset; always a folder.
    #[cfg(feature = "parquet")]
    Dataset,
}

const MEMPROF: &str = "memprof";
const EVENTS: &str = "events";
const EVENTS_JSON: &str = "events-json";
#[cfg(feature = "sql")]
const SQLITE: &str = "sqlite";
#[cfg(feature = "parquet")]
const PARQUET: &str = "parquet";

impl Target {
    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Document(format) => format.name(),
            Target::Copy => MEMPROF,
            Target::Events { is_json: false } => EVENTS,
            Target::Events { is_json: true } => EVENTS_JSON,
            #[cfg(feature = "sql")]
            Target::Database => SQLITE,
            #[cfg(feature = "parquet")]
            Target::Dataset => PARQUET,
        }
    }

    /// True if it contains every event, so that no part of the capture can be selected.
    pub(super) fn holds_events(self) -> bool {
        match self {
            Target::Document(format) => format.holds_events(),
            #[cfg(feature = "parquet")]
            Target::Dataset => false,
            _ => true,
        }
    }

    /// True for drawings, which leave out small parts.
    pub(super) fn is_cut(self) -> bool {
        self.format().is_some_and(Format::is_cut)
    }

    /// True if a metric can be chosen.
    pub(super) fn takes_metric(self) -> bool {
        self.format().is_some_and(Format::takes_metric)
    }

    fn format(self) -> Option<Format> {
        if let Target::Document(format) = self { Some(format) } else { None }
    }
}

/// The parser for these names.
pub(super) fn parser() -> impl TypedValueParser<Value = Target> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.what()));
    let others = [
        (MEMPROF, "a copy of the capture, with all names; see --redact"),
        (EVENTS, "every event, one per line, in columns"),
        (EVENTS_JSON, "every event, one JSON document per line"),
    ];
    let others = others.map(|(name, what)| PossibleValue::new(name).help(what));
    let values = [&values[..], &others].concat();
    #[cfg(feature = "sql")]
    let values =
        [values, vec![PossibleValue::new(SQLITE).help("every allocation, as an SQLite database")]].concat();
    #[cfg(feature = "parquet")]
    let values = [
        values,
        vec![
            PossibleValue::new(PARQUET)
                .help("one row per stack, for DuckDB, Spark and others; see --dataset"),
        ],
    ]
    .concat();
    PossibleValuesParser::new(values).try_map(|name| match &*name {
        #[cfg(feature = "sql")]
        SQLITE => Ok(Target::Database),
        #[cfg(feature = "parquet")]
        PARQUET => Ok(Target::Dataset),
        MEMPROF => Ok(Target::Copy),
        EVENTS => Ok(Target::Events { is_json: false }),
        EVENTS_JSON => Ok(Target::Events { is_json: true }),
        name => name.parse().map(Target::Document),
    })
}
