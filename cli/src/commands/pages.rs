//! `pages`: whose blocks keep which pages of memory.

use super::view::{self, Capture};
use crate::exit::{Failure, Outcome};
use anyhow::anyhow;
use clap::Args;
use viewer::lives::{PAGE, Pages};
use viewer::query::{Anchor, Filter, Part, Query, Selected, When};
use viewer::{Error, json, text};

/// Default number of rows in text.
const LIMIT: usize = 20;

/// Show whose blocks keep which pages of memory: fragmentation, and who causes it
///
/// An allocator can give a page back to the system when no block lies on it. So few small blocks can keep much memory, where
/// they are strewn between others that are long gone. What no block fills of a page is split evenly among the stacks that have blocks
/// on it, since it stays until the last of them leaves. All blocks of a page count, so these numbers are of all stacks: there is no
/// filter. What the allocator adds to blocks, headers and rounding, counts as empty.
///
/// Where pages have no block any more, each heap is told with its highest block. glibc gives back by itself what lies above that; what
/// lies under it only in `malloc_trim`, which would give back about so much. Which of these pages are there, `resident` tells.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof pages app.memprof
  sysprof-memprof pages app.memprof --at 90% --tree")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// The moment: 12.5s, 50%, peak, end, a mark …; at the end, what was never freed
    #[arg(long, value_name = "MOMENT", default_value = "peak")]
    at: When,
    /// Only of processes of this pid or name; may be repeated
    #[arg(long, value_name = "PROCESS")]
    process: Vec<Selected>,
    /// As a call tree: what would go back if a branch held nothing
    #[arg(long)]
    tree: bool,
    /// Most rows [default: 20; JSON has all; a tree shows branches from 1 % on]
    #[arg(long, value_name = "N", conflicts_with = "tree")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long, conflicts_with = "tree")]
    json: bool,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let with_ended = arguments.at == Anchor::End.into();
    let query = Query {
        part: Part::At(arguments.at.clone()),
        filter: Filter { processes: arguments.process.clone(), ..Filter::default() },
        ..Query::default()
    };
    let (moments, naming) = (arguments.capture.moments()?, arguments.capture.naming());
    let (loaded, watch) =
        moments.lives(&query, None, naming, |tables| Pages::new(with_ended, tables)).map_err(|error| match error {
            // The usual advice, to record samples, would not help here.
            Error::Aggregated { file, .. } => Failure::usage(anyhow!(
                "{file} is aggregated, so where blocks lie is not known; record without --aggregate, and without --sample"
            )),
            error => view::failure(error),
        })?;
    let loaded = arguments.capture.told(loaded);
    if loaded.profile.sampling.is_some() {
        let file = arguments.capture.file.display();
        return Err(Failure::usage(anyhow!(
            "{file} has samples of blocks, so which pages have none is not known; record without --sample"
        )));
    }
    let table = watch.finish();
    view::print(|out, style| {
        match (arguments.tree, arguments.json) {
            (true, _) => text::pages_tree(out, &loaded, &table, (table.pages / 100).max(PAGE as i64), style)?,
            (_, true) => json::pages(out, &loaded, &table)?,
            _ => text::pages(out, &loaded, &table, arguments.limit.unwrap_or(LIMIT), style)?,
        }
        Ok(())
    })
}
