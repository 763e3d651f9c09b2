//! `report`: who allocates, and who holds the memory.

use super::lens::LensArguments;
use super::question::Question;
use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use viewer::analysis::{Metric, Share};
use viewer::outline::{Form, outline};
use viewer::query::Part;
use viewer::{ReportOptions, Shape, json, text};

/// Show who allocates, and who holds the memory
///
/// At the peak both blocks of a realloc that moves one count: a buffer that doubles to 1 MiB has a peak of 1.5 MiB. That is what
/// malloc and a copy need; where glibc moves pages instead (mremap), less was there.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof report app.memprof                            stacks that held most at the peak
  sysprof-memprof report app.memprof --by allocations --tree    where allocations are made, from main inwards
  sysprof-memprof report app.memprof --by leaked --inverted     from the allocating functions outwards
  sysprof-memprof report app.memprof --by frees --tree          where blocks are freed, after run --free-stacks
  sysprof-memprof report app.memprof --functions                self and total of each function
  sysprof-memprof report app.memprof --at 12.5s                 what was live then
  sysprof-memprof report app.memprof --from 10s --to peak       what was allocated and held in between
  sysprof-memprof report app.memprof --callers parse            who calls parse
  sysprof-memprof report app.memprof --functions --group-by module
  sysprof-memprof report app.memprof --filter 'parse* and not module:libssl*'
  sysprof-memprof report app.memprof --cpu --inverted           where the processor was, from the inside out
  sysprof-memprof report app.memprof --allocator                who spends time in malloc and free
  sysprof-memprof report app.memprof --tree --format markdown   to be pasted into an issue
  sysprof-memprof report app.memprof --json | jq '.rows[0]'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    stacks: LensArguments,
    /// What to count and sort by [default: peak; live with --at]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Show samples of the CPU: short for --by cpu
    #[arg(long, conflicts_with = "by")]
    cpu: bool,
    /// Show the time that functions spend in malloc and free, beside what they allocate
    #[arg(long, conflicts_with_all = ["by", "cpu", "shape", "min"])]
    allocator: bool,
    /// Show a tree from the root inwards
    #[arg(long, group = "shape")]
    tree: bool,
    /// Show a tree from the allocating functions outwards
    #[arg(long, group = "shape")]
    inverted: bool,
    /// Show functions, with what each allocates itself and with all that it calls
    #[arg(long, group = "shape")]
    functions: bool,
    /// Sum up what is less than this share of the total [default: 1%, none of processes, commands and threads; in JSON only --inverted has one]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Sum up what is beyond this number of rows, or of children in a tree [default: 20; none in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Write text, a table of Markdown, or a page of HTML: for a mail, an issue, a wiki
    #[arg(long, value_name = "FORMAT", value_parser = form(), default_value = "text", hide_default_value = true,
          conflicts_with_all = ["json", "allocator"])]
    format: Form,
    #[command(flatten)]
    question: Question,
}

/// Prints the report.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let shape = match arguments {
        Arguments { tree: true, .. } => Shape::Tree,
        Arguments { inverted: true, .. } => Shape::Inverted,
        Arguments { functions: true, .. } => Shape::Functions,
        _ => arguments.stacks.shape().unwrap_or(Shape::Stacks),
    };
    let query = arguments.question.query();
    let default = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = if arguments.cpu { Metric::Cpu } else { arguments.by.unwrap_or(default) };
    let options = ReportOptions { metric, shape, min: arguments.min, limit: arguments.limit };
    let loaded = arguments.capture.seen(&query, &arguments.stacks.lens())?;
    view::needs(metric, &loaded.tables, &loaded.source)?;
    view::print(|out, style| {
        match arguments.json {
            true if arguments.allocator => json::allocator(out, &loaded)?,
            false if arguments.allocator => text::allocator(out, &loaded, arguments.limit, style)?,
            true => json::report(out, &loaded, &options)?,
            false if arguments.format != Form::Text => {
                outline(&loaded, &options).write(out, arguments.format)?;
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

fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.map(Form::name)).try_map(|name| name.parse::<Form>())
}
