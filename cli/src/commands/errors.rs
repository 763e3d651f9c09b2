//! `errors`: calls that returned no memory, and frees of what was no block.

use super::formatting::Formatting;
use super::opened_capture::{self, Capture};
use super::selection::WhichPart;
use crate::exit::Outcome;
use clap::Args;
use report::views;

/// Most frees that are examined.
const MOST: usize = 10_000;

/// Show failed allocations, double frees and other invalid frees
///
/// Of failed allocations, who asked for how much, when, and what the process held then; the latest come first. Requests
/// for an invalid alignment are included, and named so. A process that the kernel kills because memory runs out makes
/// no such call: `info` remarks on it.
///
/// Of blocks that were freed twice, frees inside blocks, and frees of what was never allocated, what was there before:
/// who allocated it, and who freed it first. The place of the free itself is known if recorded with --free-stacks.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof errors app.memprof
  # Fail if there are any
  sysprof-memprof check app.memprof --max-failed 0 --max-invalid-frees 0")]
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
    let (analyzer, naming) = (arguments.capture.analyzer()?, arguments.capture.naming());
    let found = analyzer.invalid_frees(&arguments.when.part(), MOST, naming);
    let (loaded, rows, more) = found.map_err(opened_capture::failure)?;
    let loaded = arguments.capture.prepared(loaded);
    arguments.formatting.print(&loaded, &views::errors(&loaded, &rows, more))
}
