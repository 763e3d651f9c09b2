//! `retained`: which block keeps which alive, as of a scan.

use super::formatting::Formatting;
use super::opened_capture::{self, Capture};
use crate::exit::Outcome;
use analysis::query::Selected;
use clap::Args;
use heap_graph::WhichScan;
use report::{text, views};

/// Deepest level of the tree.
const LEVELS: usize = 64;

/// Show what keeps memory alive, and what is unreachable
///
/// Needs a capture with a scan of the process. A block retains what could not be reached without it: a map with a
/// million strings retains all of them. What no variable, stack or register leads to is unreachable: leaked while the
/// program still runs. What several roots lead to, and none keeps alone, has a row of its own, "several roots";
/// listed below it, largest first, is how much of it each of them leads to. What several lead to counts for each.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Scan each process at its end …
  sysprof-memprof run --scan-at-exit -o app.memprof -- ./app
  # … or one that is being recorded
  sysprof-memprof scan 4711
  # Show the last scan
  sysprof-memprof retained app.memprof")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Number of the scan, as `info` lists them [default: the last one]
    #[arg(long, value_name = "N")]
    scan: Option<usize>,
    /// Last scan of the process with this pid or name
    #[arg(long, value_name = "PROCESS", conflicts_with = "scan")]
    process: Option<Selected>,
    /// Show a tree of what keeps what, from variables and stacks down: all rows that retain a percent
    #[arg(long, conflicts_with_all = ["limit", "json", "format"])]
    tree: bool,
    #[command(flatten)]
    formatting: Formatting,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { capture, scan, process, tree, formatting } = arguments;
    let which = match (scan, process) {
        (Some(number), _) => WhichScan::Number(*number),
        (None, Some(process)) => WhichScan::Of(process.clone()),
        (None, None) => WhichScan::Last,
    };
    let found = capture.analyzer()?.graph(&which, capture.naming()).map_err(opened_capture::failure)?;
    let (loaded, scanned) = (capture.prepared(found.0), found.1);
    if *tree {
        let least = scanned.graph.figures().reachable.bytes / 100;
        return opened_capture::print(|out, style| {
            Ok(text::retained_tree(out, &loaded, &scanned, (least, LEVELS), style)?)
        });
    }
    formatting.print(&loaded, &views::retained(&loaded, &scanned))
}
