//! What commands about the lives of blocks have in common.

use super::question::Question;
use super::view::{self, Capture};
use crate::exit::{Failure, Outcome};
use capture::Tables;
use clap::Args;
use std::io::Write;
use viewer::analysis::Watch;
use viewer::query::Expression;
use viewer::text::Style;
use viewer::{Error, Loaded};

/// Rows of text when nobody says how many.
const LIMIT: usize = 20;

/// Which blocks, and how much of the result. With --from and --to they are those that were allocated in between; what
/// became of them later is not looked at.
#[derive(Args, Debug)]
pub(crate) struct LivesArguments {
    #[command(flatten)]
    capture: Capture,
    /// Only stacks that this selects, as in 'parse* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Expression>,
    /// Most rows of each table [default: 20; JSON has all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    question: Question,
}

/// Where a view goes: how it is written, and how much of it.
pub(super) enum Form<'a> {
    /// For people: at most so many rows of each table.
    Text(usize, &'a Style),
    /// For programs.
    Json,
}

impl LivesArguments {
    /// Counts the blocks under the eyes of an observer.
    pub(super) fn observe<W: Watch>(&self, watch: impl FnOnce(&Tables) -> W) -> Result<(Loaded, W), Failure> {
        let (query, naming) = (self.question.query(), self.capture.naming());
        let moments = self.capture.moments()?;
        let (loaded, watch) =
            moments.lives(&query, self.filter.as_ref(), naming, watch).map_err(view::failure)?;
        let loaded = self.capture.told(loaded);
        Ok((loaded, watch))
    }

    /// Writes what was found.
    pub(super) fn print(&self, write: impl FnOnce(&mut dyn Write, Form<'_>) -> Result<(), Error>) -> Outcome {
        view::print(|out, style| match self.json {
            true => write(out, Form::Json),
            false => write(out, Form::Text(self.limit.unwrap_or(LIMIT).max(1), style)),
        })
    }
}
