//! `pages`: whose blocks keep which pages of memory, and which of them are resident.

mod resident;

use super::block_selection::BlocksArguments;
use super::opened_capture;
use crate::exit::{Failure, Outcome};
use analysis::lifetimes::{PAGE, Pages};
use analysis::query::{Anchor, Filter, Part};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use engine::Error;
use report::{ResidentBy, text, views};

/// Show whose blocks keep which pages, or which pages are resident
///
/// Without --by, this is fragmentation. An allocator can return a page to the system only if no block lies on it. A few
/// small blocks among others long gone can therefore keep much memory. The empty part of a page is split evenly among
/// the stacks that have blocks on it, since the page stays until the last of them is gone. All blocks of a page count,
/// at the peak or the moment of --at, so of options that choose blocks there is only --process. What the allocator adds
/// to blocks, headers and rounding, counts as empty.
///
/// For pages without blocks, each heap is listed with its highest block. glibc returns what lies above that by
/// itself; what lies below only in `malloc_trim`, which would return about that much.
///
/// With --by, this is which memory is resident, who allocated it or touched it first, and what else a process has. Needs
/// a capture recorded with --faults. A page becomes resident when it is touched: blocks that nobody touches take no
/// memory, and freed memory may still be resident. Each process is shown as it was at its end, unless a moment is given;
/// with --from and --to, the pages that became resident in between and still are.
#[derive(Args, Debug)]
#[command(mut_arg("heap", |heap| heap.hide(true)))]
#[command(after_help = "\
Examples:
  sysprof-memprof pages app.memprof
  sysprof-memprof pages app.memprof --at 90% --tree
  sysprof-memprof run --faults -o app.memprof -- ./app
  # What is resident at exit, by who allocated it
  sysprof-memprof pages --by allocation app.memprof
  # Who made it grow since then
  sysprof-memprof pages --by touch app.memprof --from 10s")]
pub(crate) struct Arguments {
    /// Show what is resident, by those who allocated or those who touched pages first [JSON has both]
    #[arg(long, value_name = "WHO")]
    by: Option<Who>,
    /// Show a call tree: what would be returned if a branch held nothing; of branches from 1 % on
    #[arg(long, conflicts_with_all = ["limit", "json", "format", "by"])]
    tree: bool,
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
    match arguments.by {
        None => fragmentation(arguments),
        Some(Who::Allocation) => resident::execute(&arguments.blocks, ResidentBy::Allocation),
        Some(Who::Touch) => resident::execute(&arguments.blocks, ResidentBy::Touch),
    }
}

fn fragmentation(Arguments { blocks, tree, .. }: &Arguments) -> Outcome {
    let BlocksArguments { capture, filter, selection, .. } = blocks;
    let mut query = selection.query();
    let rest = Filter { processes: Vec::new(), ..selection.query().filter };
    if filter.is_some() || query.heap.is_some() || !rest.is_empty() || matches!(query.part, Part::Range(..)) {
        return Err(Failure::usage(anyhow!(
            "all blocks of a page keep it, at one moment: leave out what chooses others than --at and --process, or \
             see what is resident with --by allocation"
        )));
    }
    if query.part == Part::Whole {
        query.part = Part::At(Anchor::Peak.into());
    }
    let with_ended = query.part == Part::At(Anchor::End.into());
    let (analyzer, naming) = (capture.analyzer()?, capture.naming());
    let (loaded, watch) =
        analyzer.lifetimes(&query, None, naming, |tables| Pages::new(with_ended, tables)).map_err(|error| match error {
            // The usual advice, to record samples, would not help here.
            Error::Aggregated { file, .. } => Failure::usage(anyhow!(
                "{file} is aggregated, so the addresses of blocks are unknown: record without --aggregate and --sample"
            )),
            error => opened_capture::failure(error),
        })?;
    let loaded = capture.prepared(loaded);
    if loaded.profile.sampling.is_some() {
        let file = capture.file.display();
        return Err(Failure::usage(anyhow!(
            "{file} is sampled, so which pages have no block is unknown: record without --sample"
        )));
    }
    let table = watch.finish();
    if *tree {
        let least = (table.pages / 100).max(PAGE as i64);
        return opened_capture::print(|out, style| Ok(text::pages_tree(out, &loaded, &table, least, style)?));
    }
    blocks.print(&loaded, &views::pages(&loaded, &table))
}
