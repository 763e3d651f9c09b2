//! `pages`: whose blocks keep which pages of memory.

use super::formatting::Formatting;
use super::opened_capture::{self, Capture};
use crate::exit::{Failure, Outcome};
use analysis::lifetimes::{PAGE, Pages};
use analysis::query::{Anchor, Filter, Part, Query, Selected, When};
use anyhow::anyhow;
use clap::Args;
use engine::Error;
use report::{text, views};

/// Show fragmentation: whose blocks keep which pages
///
/// An allocator can return a page to the system only if no block lies on it. A few small blocks among others long
/// gone can therefore keep much memory. The empty part of a page is split evenly among the stacks that have blocks on
/// it, since the page stays until the last of them is gone. All blocks of a page count, so there is no filter by
/// stack. What the allocator adds to blocks, headers and rounding, counts as empty.
///
/// For pages without blocks, each heap is listed with its highest block. glibc returns what lies above that by
/// itself; what lies below only in `malloc_trim`, which would return about that much. `resident` shows which of these
/// pages are resident.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof pages app.memprof
  sysprof-memprof pages app.memprof --at 90% --tree")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Moment to show: 12.5s, 50%, peak, end, a mark, …; the end shows what was never freed
    #[arg(long, value_name = "MOMENT", default_value = "peak")]
    at: When,
    /// Only processes with this pid or name; may be repeated
    #[arg(long, value_name = "PROCESS")]
    process: Vec<Selected>,
    /// Show a call tree: what would be returned if a branch held nothing; of branches from 1 % on
    #[arg(long, conflicts_with_all = ["limit", "json", "format"])]
    tree: bool,
    #[command(flatten)]
    formatting: Formatting,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let with_ended = arguments.at == Anchor::End.into();
    let query = Query {
        part: Part::At(arguments.at.clone()),
        filter: Filter { processes: arguments.process.clone(), ..Filter::default() },
        ..Query::default()
    };
    let (analyzer, naming) = (arguments.capture.analyzer()?, arguments.capture.naming());
    let (loaded, watch) =
        analyzer.lifetimes(&query, None, naming, |tables| Pages::new(with_ended, tables)).map_err(|error| match error {
            // The usual advice, to record samples, would not help here.
            Error::Aggregated { file, .. } => Failure::usage(anyhow!(
                "{file} is aggregated, so the addresses of blocks are unknown: record without --aggregate and --sample"
            )),
            error => opened_capture::failure(error),
        })?;
    let loaded = arguments.capture.prepared(loaded);
    if loaded.profile.sampling.is_some() {
        let file = arguments.capture.file.display();
        return Err(Failure::usage(anyhow!(
            "{file} is sampled, so which pages have no block is unknown: record without --sample"
        )));
    }
    let table = watch.finish();
    if arguments.tree {
        let least = (table.pages / 100).max(PAGE as i64);
        return opened_capture::print(|out, style| Ok(text::pages_tree(out, &loaded, &table, least, style)?));
    }
    arguments.formatting.print(&loaded, &views::pages(&loaded, &table))
}
