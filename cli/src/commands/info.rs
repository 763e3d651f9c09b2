//! `info`: describes a capture.

use super::opened_capture::{self, Capture};
use super::selection::WhichPart;
use crate::exit::Outcome;
use analysis::query::Query;
use clap::Args;
use report::{json, text};

/// Show what was recorded and lost, and what recording cost
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Maximum rows per table; of processes, those that held most [default: 50; JSON has all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    when: WhichPart,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = arguments.capture.ask(&Query { part: arguments.when.part(), ..Query::default() })?;
    opened_capture::print(|out, style| {
        match arguments.json {
            true => json::info(out, &loaded)?,
            false => text::info(out, &loaded, arguments.limit, style)?,
        }
        Ok(())
    })
}
