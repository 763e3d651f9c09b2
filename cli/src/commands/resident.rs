//! `resident`: which memory is resident.

use super::block_selection::BlocksArguments;
use crate::exit::{Failure, Outcome};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use engine::Loaded;
use report::views;
use report::{Format, ResidentBy};

/// Show which memory is resident, and who touched it
///
/// Also shows who allocated it, and what else a process has. Needs a capture recorded with --faults. A page becomes
/// resident when it is touched: blocks that nobody touches take no memory, and freed memory may still be resident.
/// Each process is shown as it was at its end, unless a moment is given; with --from and --to, the pages that became
/// resident in between and still are.
#[derive(Args, Debug)]
#[command(mut_arg("heap", |heap| heap.hide(true)))]
#[command(after_help = "\
Examples:
  sysprof-memprof run --faults -o app.memprof -- ./app
  # What is resident at exit, by who allocated it
  sysprof-memprof resident app.memprof
  sysprof-memprof resident app.memprof --at peak
  # Who made it grow since then
  sysprof-memprof resident app.memprof --from 10s --by touch")]
pub(crate) struct Arguments {
    /// Stacks to list: those that allocated, or those that touched pages first [JSON has both]
    #[arg(long, value_name = "WHO", default_value = "allocation")]
    by: Who,
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Whose stacks.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    /// Who allocated the blocks there
    Allocation,
    /// Who touched the pages first
    Touch,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    arguments.blocks.refuse_heap("which are resident")?;
    let by = match arguments.by {
        Who::Allocation => ResidentBy::Allocation,
        Who::Touch => ResidentBy::Touch,
    };
    let (loaded, table) = arguments
        .blocks
        .question(|asked| asked.analyzer.resident(asked.query, asked.filter, asked.naming))?;
    if !table.has_faults && arguments.blocks.format() != Format::Json {
        return Err(not_recorded(&loaded));
    }
    arguments.blocks.print(&loaded, &views::resident(&loaded, &table, by))
}

/// Without recorded page faults, no memory would seem touched.
fn not_recorded(loaded: &Loaded) -> Failure {
    let file = &loaded.source.file;
    let refused = loaded.tables.summary.as_ref().map_or("", |summary| &summary.faults.refused);
    if !refused.is_empty() {
        return Failure::usage(anyhow!("{file}: {refused}"));
    }
    // The two options exclude each other, so this one cannot be advised.
    let is_aggregated = loaded.tables.metadata.aggregate().is_some();
    let without = if is_aggregated { ", without --aggregate" } else { "" };
    Failure::usage(anyhow!(
        "{file}: page faults were not recorded: record with `sysprof-memprof run --faults`{without}"
    ))
}
