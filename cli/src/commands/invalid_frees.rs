//! `invalid-frees`: frees of addresses that were not live blocks.

use super::opened_capture::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use report::{json, text};

/// Most frees that are examined.
const MOST: usize = 10_000;
/// Default number of frees that are printed: each is a paragraph.
const LIMIT: usize = 10;

/// Show double frees, and frees of what is not a block
///
/// Lists blocks that were freed twice, frees inside blocks, and frees of what was never allocated, each with what was
/// there before: who allocated it, and who freed it first. The place of the free itself is known if recorded with
/// --free-stacks.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Maximum number of frees [default: 10; JSON has all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (analyzer, naming) = (arguments.capture.analyzer()?, arguments.capture.naming());
    let (loaded, rows, more) = analyzer.invalid_frees(MOST, naming).map_err(opened_capture::failure)?;
    let loaded = arguments.capture.prepared(loaded);
    opened_capture::print(|out, style| {
        if arguments.json {
            json::invalid_frees(out, &loaded, (&rows, more))?;
        } else {
            let limit = arguments.limit.unwrap_or(LIMIT).max(1);
            text::invalid_frees(out, &loaded, (&rows, more), limit, "sysprof-memprof", style)?;
        }
        Ok(())
    })
}
