//! Shared by the commands about single blocks.

use super::opened_capture::{self, Capture};
use super::selection::Selection;
use crate::exit::{Failure, Outcome};
use analysis::Watch;
use analysis::query::{Expression, Query};
use capture::Tables;
use clap::Args;
use engine::{Analyzer, Error, Loaded, Naming};
use report::text::Style;
use std::io::Write;

/// Default number of rows in text.
const LIMIT: usize = 20;

/// Which blocks, and how much of the result. With --from and --to they are those that were allocated in between; what
/// became of them later is not looked at.
#[derive(Args, Debug)]
pub(crate) struct BlocksArguments {
    #[command(flatten)]
    capture: Capture,
    /// Only stacks that match, as in 'parse* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Expression>,
    /// Maximum rows per table [default: 20; none in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
}

/// How a view is written, and how much of it.
pub(super) enum Form<'a> {
    /// For people, with at most so many rows per table.
    Text(usize, &'a Style),
    /// For programs.
    Json,
}

impl BlocksArguments {
    /// Replays the blocks to an observer.
    pub(super) fn observe<W: Watch>(&self, watch: impl FnOnce(&Tables) -> W) -> Result<(Loaded, W), Failure> {
        self.ask(|analyzer, query, filter, naming| analyzer.lifetimes(query, filter, naming, watch))
    }

    /// Queries the blocks.
    pub(super) fn ask<T>(
        &self,
        ask: impl FnOnce(Analyzer, &Query, Option<&Expression>, Naming) -> Result<(Loaded, T), Error>,
    ) -> Result<(Loaded, T), Failure> {
        let (analyzer, naming) = (self.capture.analyzer()?, self.capture.naming());
        let asked = ask(analyzer, &self.selection.query(), self.filter.as_ref(), naming);
        let (loaded, found) = asked.map_err(opened_capture::failure)?;
        Ok((self.capture.prepared(loaded), found))
    }

    /// True if the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes the result.
    pub(super) fn print(&self, write: impl FnOnce(&mut dyn Write, Form<'_>) -> Result<(), Error>) -> Outcome {
        opened_capture::print(|out, style| match self.json {
            true => write(out, Form::Json),
            false => write(out, Form::Text(self.limit.unwrap_or(LIMIT).max(1), style)),
        })
    }
}
