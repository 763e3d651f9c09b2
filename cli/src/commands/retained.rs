//! `retained`: which block keeps which alive, as of a scan.

use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use viewer::graph::WhichScan;
use viewer::query::Selected;
use viewer::{json, text};

/// Default number of rows in text.
const LIMIT: usize = 20;
/// Deepest level of the tree.
const LEVELS: usize = 64;

/// Show who keeps memory alive, and what nobody can reach any more, when a process was scanned
///
/// Who retains a block is who keeps it alive: without it nobody could reach the block. So a map that holds a million strings retains
/// all of them. What no variable, stack or register leads to is unreachable: it is leaked while the program still runs. What several
/// lead to, and none keeps alone, has a row of its own, "several roots": below it stands how much of that each of them leads to,
/// those first that lead to most. What several lead to counts for each.
#[derive(Args, Debug)]
#[command(after_help = "\
A capture has a scan where one was made:
  sysprof-memprof scan 4711                      of a process that is recorded
  sysprof-memprof run --scan-at-exit -- ./app    of each process at its end")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Of several scans the one of this number, as info lists them [default: the last one]
    #[arg(long, value_name = "N")]
    scan: Option<usize>,
    /// Of several scans the last one of the process of this pid or name
    #[arg(long, value_name = "PROCESS", conflicts_with = "scan")]
    process: Option<Selected>,
    /// What keeps what, from variables and stacks down, as a tree
    #[arg(long, conflicts_with = "json")]
    tree: bool,
    /// Most rows of each table [default: 20; the tree has all rows that retain a percent, JSON has all]
    #[arg(long, value_name = "N", conflicts_with = "tree")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { capture, scan, process, tree, limit, json } = arguments;
    let which = match (scan, process) {
        (Some(number), _) => WhichScan::Number(*number),
        (None, Some(process)) => WhichScan::Of(process.clone()),
        (None, None) => WhichScan::Last,
    };
    let found = capture.moments()?.graph(&which, capture.naming()).map_err(view::failure)?;
    let (loaded, scanned) = (capture.told(found.0), found.1);
    view::print(|out, style| {
        if *json {
            json::retained(out, &loaded, &scanned)?;
        } else if *tree {
            let least = scanned.graph.figures().reachable.bytes / 100;
            text::retained_tree(out, &loaded, &scanned, (least, LEVELS), style)?;
        } else {
            text::retained(out, &loaded, &scanned, limit.unwrap_or(LIMIT).max(1), style)?;
        }
        Ok(())
    })
}
