//! `report`: who allocates, and who holds the memory.

use super::lens::LensArguments;
use super::opened_capture::{self, Captures};
use super::selection::Selection;
use crate::exit::Outcome;
use analysis::query::Part;
use analysis::{Metric, Share};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::lens::Lens;
use report::outline::outline;
use report::text::Extent;
use report::{Format, ReportOptions, Shape, json, text, views};

/// Show who allocates and who holds memory
///
/// When a realloc moves a block, the peak counts both blocks: a buffer that doubles to 1 MiB has a peak of 1.5 MiB.
/// That is what malloc and a copy need; if glibc moves pages instead (mremap), less was in use.
///
/// Several captures are shown as one: the same stacks of the same program are one row, whichever builds they are of.
/// The peak is that of each capture, added up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Stacks that held most at the peak
  sysprof-memprof report app.memprof
  # Where allocations are made, from main inwards
  sysprof-memprof report app.memprof --by allocations --tree
  # From the allocating functions outwards
  sysprof-memprof report app.memprof --by leaked --inverted
  # Where blocks are freed, after run --free-stacks
  sysprof-memprof report app.memprof --by frees --tree
  # Self and total of each function, or module
  sysprof-memprof report app.memprof --functions
  sysprof-memprof report app.memprof --functions --group-by module
  # What was live then
  sysprof-memprof report app.memprof --at 12.5s
  # What was allocated in between and still held
  sysprof-memprof report app.memprof --from 10s --to peak
  # Who calls parse
  sysprof-memprof report app.memprof --callers parse
  # Only some stacks
  sysprof-memprof report app.memprof --filter 'parse* and not module:libssl*'
  # Where CPU time was spent, from the inside out
  sysprof-memprof report app.memprof --cpu --inverted
  # Who spends time in malloc and free
  sysprof-memprof report app.memprof --allocator
  # Captures of many hosts as one, by their labels
  sysprof-memprof report host-*.memprof --group-by version
  # To paste into an issue
  sysprof-memprof report app.memprof --tree --format markdown
  # For scripts
  sysprof-memprof report app.memprof --json | jq '.rows[0]'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    captures: Captures,
    /// Metric to count and sort by [default: peak; live with --at]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Show CPU samples; short for --by cpu
    #[arg(long, conflicts_with = "by")]
    cpu: bool,
    /// Show the time that functions spend in malloc and free, and what they allocate
    #[arg(long, conflicts_with_all = ["by", "cpu", "shape", "min"])]
    allocator: bool,
    /// Show a call tree, from the root inwards
    #[arg(long, group = "shape")]
    tree: bool,
    /// Show a call tree from the allocating functions outwards
    #[arg(long, group = "shape")]
    inverted: bool,
    /// Show functions: what each allocates itself, and including all that it calls
    #[arg(long, group = "shape")]
    functions: bool,
    /// Sum up rows below this share of the total [default: 1%, none for processes, commands and threads; in JSON only
    /// for --inverted]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Maximum rows, or children in a tree; the rest is summed up [default: 20; none in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Output format: text, a Markdown table, or an HTML page, for mails, issues and wikis
    #[arg(long, value_name = "FORMAT", value_parser = form(), default_value = "text", hide_default_value = true,
          conflicts_with_all = ["json", "allocator"])]
    format: Format,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    selection: Selection,
}

/// Prints the report.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let shape = match arguments {
        Arguments { tree: true, .. } => Shape::Tree,
        Arguments { inverted: true, .. } => Shape::Inverted,
        Arguments { functions: true, .. } => Shape::Functions,
        _ => arguments.stacks.shape().unwrap_or(Shape::Stacks),
    };
    let query = arguments.selection.query();
    let default = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = if arguments.cpu { Metric::Cpu } else { arguments.by.unwrap_or(default) };
    let options = ReportOptions { metric, shape, min: arguments.min, limit: arguments.limit };
    let lens = Lens { counts_library: shape == Shape::Functions, ..arguments.stacks.lens() };
    let loaded = arguments.captures.seen(&query, &lens)?;
    opened_capture::needs(metric, &loaded.tables, &loaded.source)?;
    opened_capture::print(|out, style| {
        match arguments.json {
            is_json if arguments.allocator => {
                let extent = Extent::of_command(arguments.limit.unwrap_or(20).max(1));
                let format = if is_json { Format::Json } else { Format::Text };
                format.write(out, &loaded, &views::allocator(&loaded), extent, style)?;
            }
            true => json::report(out, &loaded, &options)?,
            false if arguments.format != Format::Text => {
                outline(&loaded, &options).write(out, arguments.format.form())?;
            }
            false => text::report(out, &loaded, &options, style)?,
        }
        Ok(())
    })
}

/// The parser for metrics.
pub(super) fn metric() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::name)).try_map(|name| name.parse())
}

fn form() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "markdown", "html"]).try_map(|name| name.parse::<Format>())
}
