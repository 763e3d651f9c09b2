//! What a capture is exported to: a document, or what is a file or a folder only.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use viewer::Format;
use viewer::analysis::Metric;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A document.
    Document(Format),
    /// A copy of the capture, which is a file only.
    Copy,
    /// A database, likewise.
    #[cfg(feature = "sql")]
    Database,
    /// A folder of tables.
    #[cfg(feature = "sql")]
    Tables,
}

const MEMPROF: &str = "memprof";
#[cfg(feature = "sql")]
const SQLITE: &str = "sqlite";
#[cfg(feature = "sql")]
const PARQUET: &str = "parquet";

impl Target {
    /// The word that names it on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Document(format) => format.name(),
            Target::Copy => MEMPROF,
            #[cfg(feature = "sql")]
            Target::Database => SQLITE,
            #[cfg(feature = "sql")]
            Target::Tables => PARQUET,
        }
    }

    /// True where every event is in it: no part of the capture can be asked for.
    pub(super) fn holds_events(self) -> bool {
        self.format().is_none_or(Format::holds_events)
    }

    /// True for drawings, which leave out what is small.
    pub(super) fn is_cut(self) -> bool {
        self.format().is_some_and(Format::is_cut)
    }

    /// True where a metric can be chosen.
    pub(super) fn takes_metric(self) -> bool {
        self.format().is_some_and(Format::takes_metric)
    }

    /// True where it says whose hits are counted, if this metric was chosen.
    pub(super) fn takes_tracepoint(self, by: Option<Metric>) -> bool {
        match self {
            Target::Document(format) if format.holds_one_metric() => by == Some(Metric::Traced),
            Target::Document(format) => format.holds_hits(),
            Target::Copy => false,
            #[cfg(feature = "sql")]
            Target::Database | Target::Tables => true,
        }
    }

    fn format(self) -> Option<Format> {
        if let Target::Document(format) = self { Some(format) } else { None }
    }
}

/// The words for all of them.
pub(super) fn parser() -> impl TypedValueParser<Value = Target> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.what()));
    let copy = PossibleValue::new(MEMPROF).help("a copy of the capture, with all names; see --redact");
    let values = [values.to_vec(), vec![copy]].concat();
    #[cfg(feature = "sql")]
    let values = [
        values,
        vec![
            PossibleValue::new(SQLITE).help("every allocation, as a database of SQLite"),
            PossibleValue::new(PARQUET)
                .help("the same tables as files of a folder, for DuckDB, pandas and Spark"),
        ],
    ]
    .concat();
    PossibleValuesParser::new(values).try_map(|name| match &*name {
        #[cfg(feature = "sql")]
        SQLITE => Ok(Target::Database),
        #[cfg(feature = "sql")]
        PARQUET => Ok(Target::Tables),
        MEMPROF => Ok(Target::Copy),
        name => name.parse().map(Target::Document),
    })
}
