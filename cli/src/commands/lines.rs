//! `lines`: the cost of each source line.

use super::formatting::Formatting;
use super::lens::LensArguments;
use super::opened_capture::{self, Capture};
use super::report::metric;
use super::selection::Selection;
use crate::exit::Outcome;
use analysis::query::{Part, Pattern};
use analysis::{Metric, Share, lines, lines_of};
use clap::Args;
use engine::Loaded;
use report::{ReportOptions, views};

/// Show source lines by what they allocate
///
/// A line is that of the innermost function outside the standard library's plumbing; with --of, the line of your
/// function that the allocation was requested from.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Show the lines of this function, each with all that it and its callees allocate
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["focus", "callees", "callers"])]
    of: Option<Pattern>,
    /// Metric to count and sort by [default: peak; live with --at]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Sum up lines below this share of the total [default: 1%; none in JSON]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    selection: Selection,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let query = arguments.selection.query();
    let default = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = arguments.by.unwrap_or(default);
    let formatting = &arguments.formatting;
    let options = ReportOptions {
        metric,
        min: arguments.min,
        limit: formatting.asked_limit(),
        ..ReportOptions::default()
    };
    let mut lens = arguments.stacks.lens();
    // Leaves out stacks without the function, so that shares are of the function's total.
    lens.focus.extend(arguments.of.clone());
    let loaded = arguments.capture.seen(&query, &lens)?;
    opened_capture::needs(metric, &loaded.tables, &loaded.source)?;
    let Loaded { profile, tables, names, .. } = &loaded;
    let rows = match &arguments.of {
        Some(function) => lines_of(profile, tables, names, |label| function.names(names.label(label))),
        None => lines(profile, tables, names),
    };
    let document = views::lines(&loaded, rows, &options, formatting.format().readers());
    formatting.print(&loaded, &document)
}
