//! `failed`: calls that were to return memory and returned none.

use super::formatting::Formatting;
use super::opened_capture::Capture;
use super::selection::WhichPart;
use crate::exit::Outcome;
use analysis::query::Query;
use clap::Args;
use report::views;

/// Show failed allocations
///
/// Who asked for how much, when, and what the process held then; the latest come first. Requests for an invalid
/// alignment are included, and named so. A process that the kernel kills because memory runs out makes no such call:
/// `info` remarks on it.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    when: WhichPart,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = arguments.capture.ask(&Query { part: arguments.when.part(), ..Query::default() })?;
    arguments.formatting.print(&loaded, &views::failed(&loaded))
}
