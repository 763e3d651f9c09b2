//! `failed`: calls that were to return memory and returned none.

use super::opened_capture::{self, Capture};
use super::selection::WhichPart;
use crate::exit::Outcome;
use analysis::query::Query;
use clap::Args;
use report::{json, text};

/// Default number of rows: each is a paragraph.
const LIMIT: usize = 10;

/// Show failed allocations
///
/// Who asked for how much, when, and what the process held then; the latest come first. Requests for an invalid
/// alignment are included, and named so. A process that the kernel kills because memory runs out makes no such call:
/// `info` remarks on it.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Maximum number of stacks [default: 10; JSON has all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    when: WhichPart,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = arguments.capture.ask(&Query { part: arguments.when.part(), ..Query::default() })?;
    opened_capture::print(|out, style| {
        match arguments.json {
            true => json::failed(out, &loaded)?,
            false => text::failed(out, &loaded, arguments.limit.unwrap_or(LIMIT).max(1), style)?,
        }
        Ok(())
    })
}
