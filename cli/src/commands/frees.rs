//! `frees`: who frees whose blocks.

use super::block_selection::BlocksArguments;
use super::opened_capture;
use crate::exit::Outcome;
use analysis::Metric;
use analysis::lifetimes::{Frees, Order, Side};
use analysis::query::Expression;
use clap::{Args, ValueEnum};
use report::views;

/// Show who frees whose blocks
///
/// Needs the stacks of frees, which `run --free-stacks` records. Below each allocating stack are listed the stacks
/// that free its blocks, and how many were never freed; with --inverted, below each freeing stack those whose blocks
/// it frees. This shows who finally owns a block, which error paths forget to free one, and what passes from one
/// thread to another.
#[derive(Args, Debug)]
#[command(mut_arg("heap", |heap| heap.hide(true)))]
#[command(after_help = "\
Examples:
  # Which function frees what which one allocates
  sysprof-memprof frees app.memprof --functions
  # Who frees the blocks of make_buffer
  sysprof-memprof frees app.memprof --filter make_buffer
  # Whose blocks the functions of the cache free
  sysprof-memprof frees app.memprof --freed-by 'cache_*' --inverted")]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
    /// List freeing stacks, and below each those that allocated
    #[arg(long)]
    inverted: bool,
    /// Group by function instead of stack: the innermost that is not the allocator's or a wrapper's
    #[arg(long)]
    functions: bool,
    /// Only blocks freed by stacks that match, as in 'close* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    freed_by: Option<Expression>,
    /// Sort by bytes or by blocks
    #[arg(long, value_enum, default_value_t = By::Bytes)]
    by: By,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Bytes,
    Blocks,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    arguments.blocks.refuse_heap("where they are freed")?;
    let by_threads = arguments.freed_by.as_ref().is_some_and(Expression::asks_for_threads);
    let (mut loaded, mut watch) = arguments.blocks.observe(|tables| match Frees::new(tables) {
        frees if by_threads => frees.by_threads(),
        frees => frees,
    })?;
    opened_capture::needs(Metric::Frees, &loaded.tables, &loaded.source)?;
    if let Some(freed_by) = &arguments.freed_by {
        watch.keep_freed_by(&mut freed_by.select(&loaded.tables, &loaded.names));
        let unmatched = freed_by.unmatched(&loaded.tables, &loaded.names);
        loaded.seen.get_or_insert_default().unmatched.extend(unmatched);
    }
    let side = if arguments.inverted { Side::Frees } else { Side::Allocations };
    let order = match arguments.by {
        By::Bytes => Order::Bytes,
        By::Blocks => Order::Blocks,
    };
    let document = match arguments.functions {
        true => {
            let rows = watch.finish_functions(side, order, &loaded.tables, &loaded.names);
            views::frees(&rows, side, order)
        }
        false => views::frees(&watch.finish(side, order), side, order),
    };
    arguments.blocks.print(&loaded, &document)
}
