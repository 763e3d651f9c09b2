//! `resident`: what of the memory is really there.

use super::question::Question;
use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::{Args, ValueEnum};
use viewer::query::Expression;
use viewer::{ResidentBy, json, text};

/// Rows of text when nobody says how many.
const LIMIT: usize = 20;

/// Show which memory is resident: who allocated it, who touched it, and what else a process has
///
/// Of captures that were recorded with --faults. A page is resident from the moment when it is touched, so blocks that nobody
/// touches take no memory, and memory that was freed may still be there. Each process counts as it was at its end, unless a
/// moment is asked for; with --from and --to, pages that became resident in between and still are.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof run --faults -o app.memprof -- ./app
  sysprof-memprof resident app.memprof                     what is resident at exit, by who allocated it
  sysprof-memprof resident app.memprof --at peak
  sysprof-memprof resident app.memprof --from 10s --by touch   who made it grow since then")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Which stacks to list: those that allocated, or those that touched first [JSON has both]
    #[arg(long, value_name = "WHO", default_value = "allocation")]
    by: Who,
    /// Only stacks that this selects, as in 'parse* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Expression>,
    /// Most rows [default: 20; JSON has all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    question: Question,
}

/// Whose stacks.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    /// Who allocated the blocks that lie there
    Allocation,
    /// Who touched the pages first
    Touch,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let query = arguments.question.query();
    let by = match arguments.by {
        Who::Allocation => ResidentBy::Allocation,
        Who::Touch => ResidentBy::Touch,
    };
    let moments = arguments.capture.moments()?;
    let (loaded, table) = moments
        .resident(&query, arguments.filter.as_ref(), arguments.capture.naming())
        .map_err(view::failure)?;
    let loaded = arguments.capture.told(loaded);
    view::print(|out, style| {
        match arguments.json {
            true => json::resident(out, &loaded, &table)?,
            false => {
                let limit = arguments.limit.unwrap_or(LIMIT).max(1);
                text::resident(out, &loaded, &table, by, limit, style)?;
            }
        }
        Ok(())
    })
}
