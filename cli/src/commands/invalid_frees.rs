//! `invalid-frees`: frees of addresses that were not live blocks.

use super::formatting::Formatting;
use super::opened_capture::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use report::views;

/// Most frees that are examined.
const MOST: usize = 10_000;
/// Show double frees, and frees of what is not a block
///
/// Lists blocks that were freed twice, frees inside blocks, and frees of what was never allocated, each with what was
/// there before: who allocated it, and who freed it first. The place of the free itself is known if recorded with
/// --free-stacks.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    formatting: Formatting,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (analyzer, naming) = (arguments.capture.analyzer()?, arguments.capture.naming());
    let (loaded, rows, more) = analyzer.invalid_frees(MOST, naming).map_err(opened_capture::failure)?;
    let loaded = arguments.capture.prepared(loaded);
    arguments.formatting.print(&loaded, &views::invalid_frees(&loaded, &rows, more))
}
