//! `info`: describes a capture.

use super::formatting::Formatting;
use super::opened_capture::Capture;
use super::selection::WhichPart;
use crate::exit::Outcome;
use analysis::query::Query;
use clap::Args;
use report::views;

/// Show what was recorded and lost, and what recording cost
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof info app.memprof
  # For scripts
  sysprof-memprof info app.memprof --json | jq .totals")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    when: WhichPart,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { capture, formatting, when } = arguments;
    let loaded = capture.ask(&Query { part: when.part(), ..Query::default() })?;
    formatting.print(&loaded, &views::info(&loaded, formatting.limit()))
}
