//! `frees`: who frees whose blocks.

use super::lives::{Form, LivesArguments};
use super::view;
use crate::exit::{Failure, Outcome};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use viewer::analysis::Metric;
use viewer::lives::{Frees, Order, Side};
use viewer::query::Expression;
use viewer::{json, text};

/// Show who frees whose blocks: from the stacks that allocate to those that free, or turned around
///
/// It needs the stacks of frees, which `run --free-stacks` records. Below each stack that allocates stand those that free its blocks,
/// and how many were never freed; below each stack that frees, with --inverted, those whose blocks it frees. So one sees who owns a
/// block at last, which error paths forget one, and what passes from one thread to another.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof frees app.memprof --functions                       which function frees what which one allocates
  sysprof-memprof frees app.memprof --filter 'make_buffer'            who frees the blocks of make_buffer
  sysprof-memprof frees app.memprof --freed-by 'cache_*' --inverted   whose blocks the functions of the cache free")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lives: LivesArguments,
    /// From the stacks that free to those that allocate
    #[arg(long)]
    inverted: bool,
    /// By function instead of by stack: the innermost one of each that is not the allocator's or a wrapper's
    #[arg(long)]
    functions: bool,
    /// Only blocks that were freed by stacks that this selects, as in 'close* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    freed_by: Option<Expression>,
    /// What comes first: the stacks with most bytes, or with most blocks
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
    let by_threads = arguments.freed_by.as_ref().is_some_and(Expression::asks_for_threads);
    let (loaded, mut watch) = arguments.lives.observe(|tables| match Frees::new(tables) {
        frees if by_threads => frees.by_threads(),
        frees => frees,
    })?;
    view::needs(Metric::Frees, &loaded.tables, &loaded.source)?;
    if let Some(heap) = loaded.heap_name() {
        return Err(Failure::usage(anyhow!(
            "programs do not tell where blocks of {heap} go back: frees is about the allocator's blocks, without --heap"
        )));
    }
    if let Some(freed_by) = &arguments.freed_by {
        watch.keep_freed_by(&mut freed_by.select(&loaded.tables, &loaded.names));
    }
    let side = if arguments.inverted { Side::Frees } else { Side::Allocations };
    let order = match arguments.by {
        By::Bytes => Order::Bytes,
        By::Blocks => Order::Blocks,
    };
    if arguments.functions {
        let rows = watch.finish_functions(side, order, &loaded.tables, &loaded.names);
        return arguments.lives.print(|out, form| {
            match form {
                Form::Text(limit, style) => {
                    text::frees_of_functions(out, &loaded, &rows, side, limit, style)?
                }
                Form::Json => json::frees_of_functions(out, &loaded, &rows, side, order)?,
            }
            Ok(())
        });
    }
    let rows = watch.finish(side, order);
    arguments.lives.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::frees(out, &loaded, &rows, side, limit, style)?,
            Form::Json => json::frees(out, &loaded, &rows, side, order)?,
        }
        Ok(())
    })
}
