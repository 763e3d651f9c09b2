//! `temporary`: short-lived allocations.

use super::blocks::BlocksArguments;
use crate::exit::Outcome;
use crate::values;
use analysis::lifetimes::Temporary;
use clap::Args;
use report::views;
use std::time::Duration;

/// Show allocations that did not last, by stack
///
/// Temporary ones are freed by the thread that allocated them before its next allocation: often a buffer that could
/// be reused. Brief ones are freed within a given time, whatever came between.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
    /// Lifetime below which an allocation is brief
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = values::duration)]
    brief: Duration,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let brief = u64::try_from(arguments.brief.as_nanos()).unwrap_or(u64::MAX);
    let (loaded, watch) = arguments.blocks.observe(|tables| Temporary::new(brief, tables))?;
    arguments.blocks.print(&loaded, &views::temporary(&watch.finish(), brief))
}
