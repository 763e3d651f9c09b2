//! `lines`: the cost of each source line.

use super::lens::LensArguments;
use super::question::Question;
use super::report::metric;
use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use viewer::analysis::{Metric, Share};
use viewer::query::Part;
use viewer::{ReportOptions, json, text};

/// Show source lines by what they allocate
///
/// A line is that of the innermost function which is not the standard library's plumbing.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// What to count and sort by [default: peak; live with --at]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Sum up what is less than this share of the total [default: 1%; none in JSON]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Sum up what is beyond this number of lines [default: 20; none in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    question: Question,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let query = arguments.question.query();
    let default = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = arguments.by.unwrap_or(default);
    let options =
        ReportOptions { metric, min: arguments.min, limit: arguments.limit, ..ReportOptions::default() };
    let loaded = arguments.capture.seen(&query, &arguments.stacks.lens())?;
    view::print(|out, style| {
        match arguments.json {
            true => json::lines(out, &loaded, &options)?,
            false => text::lines(out, &loaded, &options, style)?,
        }
        Ok(())
    })
}
