//! How a view is written: the options that all views have.

use super::opened_capture;
use crate::exit::Outcome;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::Loaded;
use report::Format;
use report::table::Document;
use report::text::Extent;

/// Default number of rows in text.
const LIMIT: usize = 20;

/// In which format, and how much of it.
#[derive(Args, Debug)]
pub(super) struct Formatting {
    /// Maximum rows per table [default: 20; none in JSON and CSV]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    format: FormatArguments,
}

/// In which format.
#[derive(Args, Debug)]
pub(super) struct FormatArguments {
    /// Write JSON; short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Output format: text, json, csv, markdown, or html
    #[arg(long, value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    format: Option<Format>,
}

impl FormatArguments {
    /// The format.
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or_default() }
    }
}

impl Formatting {
    /// The format.
    pub(super) fn format(&self) -> Format {
        self.format.format()
    }

    /// How many rows a view has that sums up the others.
    pub(super) fn limit(&self) -> usize {
        match self.format() {
            Format::Json | Format::Csv => self.limit.unwrap_or(usize::MAX),
            _ => self.limit.unwrap_or(LIMIT),
        }
    }

    /// The same, as far as it was asked for.
    pub(super) fn asked_limit(&self) -> Option<usize> {
        self.limit
    }

    /// Writes a view to standard output.
    pub(super) fn print(&self, loaded: &Loaded, document: &Document) -> Outcome {
        let extent = Extent::of_command(self.limit.unwrap_or(LIMIT).max(1));
        opened_capture::print(|out, style| Ok(self.format().write(out, loaded, document, extent, style)?))
    }
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse())
}
