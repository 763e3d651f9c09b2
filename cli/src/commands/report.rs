//! `report`: who allocates, and who holds the memory.

use super::formatting::Formatting;
use super::lens::LensArguments;
use super::opened_capture::{self, Captures};
use super::selection::Selection;
use crate::exit::{Failure, Outcome};
use analysis::query::{Part, Pattern};
use analysis::{Metric, Share, lines, lines_of};
use anyhow::anyhow;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::Loaded;
use engine::lens::Lens;
use report::outline::outline;
use report::table::Document;
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
  # Source lines that allocate, and which lines of parse lead to most
  sysprof-memprof report app.memprof --lines
  sysprof-memprof report app.memprof --lines --of parse
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
    /// Show source lines: of the innermost function that is not library code
    #[arg(long, group = "shape")]
    lines: bool,
    /// With --lines, show those of this function, each with all that it and its callees allocate
    #[arg(long, value_name = "FUNCTION", requires = "lines", conflicts_with_all = ["focus", "callees", "callers"])]
    of: Option<Pattern>,
    /// Sum up rows below this share of the total [default: 1%, none for processes, commands and threads; in JSON only
    /// for --inverted]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    #[command(flatten)]
    formatting: Formatting,
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
    let formatting = &arguments.formatting;
    let limit = formatting.asked_limit();
    let options = ReportOptions { metric, shape, min: arguments.min, limit };
    let mut lens = Lens { counts_library: shape == Shape::Functions, ..arguments.stacks.lens() };
    // Leaves out stacks without the function, so that shares are of the function's total.
    lens.focus.extend(arguments.of.clone());
    let format = formatting.format();
    let is_document = arguments.allocator || arguments.lines;
    if format == Format::Csv && !is_document {
        return Err(Failure::usage(anyhow!(
            "in CSV there are --lines and --allocator; export --format csv writes stacks"
        )));
    }
    let loaded = arguments.captures.seen(&query, &lens)?;
    opened_capture::needs(metric, &loaded.tables, &loaded.source)?;
    match (is_document, format) {
        (true, _) if arguments.allocator => formatting.print(&loaded, &views::allocator(&loaded)),
        (true, _) => formatting.print(&loaded, &by_line(&loaded, arguments, &options)),
        (_, Format::Json) => opened_capture::print(|out, _| Ok(json::report(out, &loaded, &options)?)),
        (_, Format::Text) => {
            opened_capture::print(|out, style| Ok(text::report(out, &loaded, &options, style)?))
        }
        _ => opened_capture::print(|out, _| Ok(outline(&loaded, &options).write(out, format.form())?)),
    }
}

/// The cost of each source line.
fn by_line(loaded: &Loaded, arguments: &Arguments, options: &ReportOptions) -> Document {
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = match &arguments.of {
        Some(function) => lines_of(profile, tables, names, |label| function.names(names.label(label))),
        None => lines(profile, tables, names),
    };
    views::lines(loaded, rows, options, arguments.formatting.format().readers())
}

/// The parser for metrics.
pub(super) fn metric() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::name)).try_map(|name| name.parse())
}
