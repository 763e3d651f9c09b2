//! `diff`: what changed between two moments, or from one recording to another.

use super::formatting::Formatting;
use super::lens::LensArguments;
use super::opened_capture::{self, failure};
use super::report::metric;
use super::selection::WhichBlocks;
use super::symbols::Symbols;
use crate::exit::{self, Failure, Outcome};
use crate::message;
use crate::values::size;
use analysis::format::{bytes, counted};
use analysis::query::{Anchor, Part, When};
use analysis::{Metric, Share, Spelling};
use anyhow::anyhow;
use clap::Args;
use engine::check::{self, Growth};
use engine::{compare_captures, compare_moments};
use report::text::Extent;
use report::{DiffOptions, Format, Shape, json, text, views};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what changed between two moments, or two recordings
///
/// Stacks of two recordings are matched by their functions, files and lines, and if that finds no partner, by
/// functions alone. So different builds of a program can be compared, whatever their addresses and file names.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Allocated and not freed in between, and what shrank
  sysprof-memprof diff app.memprof --from 10s --to 60s
  # The same from a mark of the program on
  sysprof-memprof diff app.memprof --from loaded --to end
  # Who holds more at the peak than before
  sysprof-memprof diff old.memprof new.memprof
  # Fail if stacks leak over 64 KiB more
  sysprof-memprof diff old.memprof new.memprof --by leaked --fail-over 64K
  # One module, by source file
  sysprof-memprof diff old.memprof new.memprof --filter 'module:libparse*' \\
      --group-by file

Exit code:
  1  stacks grew by more than --fail-over
  2  the capture cannot tell: events were lost, a file is incomplete, or numbers
     are estimates whose errors exceed what is left")]
pub(crate) struct Arguments {
    /// Capture; the older one of two
    file: PathBuf,
    /// Newer capture
    newer: Option<PathBuf>,
    /// Compare with this moment: 12.5s, 50%, peak, a mark, … [default: start]
    #[arg(long, value_name = "MOMENT", conflicts_with = "newer")]
    from: Option<When>,
    /// Compare this moment [default: end]
    #[arg(long, value_name = "MOMENT", conflicts_with = "newer")]
    to: Option<When>,
    /// Compare two captures at this moment of each, instead of as a whole
    #[arg(long, value_name = "MOMENT", requires = "newer")]
    at: Option<When>,
    /// Metric to count and sort by [default: live between moments, peak between captures]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Show a call tree from the root inwards, with the net change of each function and, as gross, all changes below
    /// it
    #[arg(long)]
    tree: bool,
    /// Ignore template arguments when functions of the two captures are matched
    #[arg(long, requires = "newer")]
    ignore_templates: bool,
    /// Sum up changes below this share of all changes [default: 1%; none in JSON]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Exit with 1 if stacks grew by more than this many bytes in total: 65536, 64K, 1M
    ///
    /// Only growth counts: what other stacks shrank by is not subtracted, so that one leak does not pass because
    /// another is gone. A function that changed its name or caller therefore counts as growth; `check --baseline`
    /// compares totals instead. If stacks are selected, only those count.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    fail_over: Option<usize>,
    #[command(flatten)]
    formatting: Formatting,
    /// Do not look up names that the capture lacks in the files of this machine
    #[arg(help_heading = "Names", long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
    /// Hide template and generic arguments of functions
    #[arg(help_heading = "Names", long)]
    short_names: bool,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    which: WhichBlocks,
}

/// Prints the difference.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    if arguments.fail_over.is_some() && arguments.by.is_some_and(|metric| !metric.is_of_memory()) {
        return Err(Failure::usage(anyhow!("--fail-over is about memory: give another --by")));
    }
    let naming = arguments.symbols.naming(arguments.no_symbolize);
    let open = |file: &PathBuf| opened_capture::analyzer(file);
    let or = |when: &Option<When>, anchor: Anchor| when.clone().unwrap_or(anchor.into());
    let (old, lens) = (open(&arguments.file)?, arguments.stacks.lens());
    let default = match (&arguments.newer, &arguments.at) {
        (Some(_), None) => Metric::Peak,
        _ => Metric::Live,
    };
    let metric = arguments.by.unwrap_or(default);
    opened_capture::needs(metric, old.tables(), old.source())?;
    let compared = match &arguments.newer {
        Some(newer) => {
            let newer = open(newer)?;
            opened_capture::needs(metric, newer.tables(), newer.source())?;
            let part = arguments.at.clone().map_or(Part::Whole, Part::At);
            let spelling =
                if arguments.ignore_templates { Spelling::WithoutTemplates } else { Spelling::Exact };
            compare_captures(old, newer, &arguments.which.query(part), &lens, spelling, naming)
        }
        None => {
            let (from, to) = (or(&arguments.from, Anchor::Start), or(&arguments.to, Anchor::End));
            compare_moments(old, from, to, arguments.which.query(Part::Whole), &lens, naming)
        }
    };
    let mut compared = compared.map_err(failure)?;
    if arguments.short_names {
        compared.loaded.names.leave_out_arguments();
    }
    opened_capture::note_looked_up(compared.loaded.looked_up);
    let options = DiffOptions {
        metric,
        tree: arguments.tree || arguments.stacks.shape() == Some(Shape::Tree),
        min: arguments.min,
        limit: arguments.formatting.asked_limit(),
    };
    let format = arguments.formatting.format();
    if options.tree && !matches!(format, Format::Text | Format::Json) {
        return Err(Failure::usage(anyhow!("a tree is written as text or JSON")));
    }
    let growth = arguments
        .fail_over
        .map(|limit| Growth::of(&compared, options.metric, i64::try_from(limit).unwrap_or(i64::MAX)));
    let printed = opened_capture::print(|out, style| {
        match format {
            Format::Json => json::diff(out, &compared, &options)?,
            Format::Text => text::diff(out, &compared, &options, style)?,
            format => {
                let document = views::diff(&compared, &options, format.readers());
                format.write(out, &compared.loaded, &document, Extent::of_command(usize::MAX), style)?;
            }
        }
        Ok(())
    });
    printed.map(drop).or_else(Failure::unless_unread)?;
    let Some(growth) = growth else { return Ok(ExitCode::SUCCESS) };
    tell(&growth);
    Ok(ExitCode::from(exit::of_rules(growth.outcome())))
}

/// Reports what --fail-over found, if there is anything to report.
fn tell(growth: &Growth) {
    if let Some(doubt) = growth.doubt {
        message::warning(&format!("cannot tell whether --fail-over is exceeded: {doubt}"));
    } else if growth.outcome() == check::Outcome::Broken {
        let (mut grown, mut limit) = (bytes(growth.grown), bytes(growth.limit));
        if grown == limit {
            (grown, limit) = (counted(growth.grown, "byte"), counted(growth.limit, "byte"));
        }
        let less = bytes(growth.grown.saturating_sub(growth.sum));
        let text = format!("stacks grew by {grown}, more than --fail-over {limit}; others shrank by {less}");
        message::error(&anyhow::Error::msg(text));
    }
}
