//! `diff`: what changed between two moments, or from one recording to another.

use super::formatting::Formatting;
use super::lens::LensArguments;
use super::opened_capture::{self, NameOptions, failure};
use super::report::metric;
use super::selection::WhichBlocks;
use crate::exit::{self, Failure, Outcome};
use crate::message;
use crate::values::size;
use analysis::format::{bytes, counted};
use analysis::query::{Anchor, Labelled, Part, When, WhenError};
use analysis::{Metric, Share, Spelling};
use anyhow::anyhow;
use clap::Args;
use engine::check::{self, Growth};
use engine::{Captures, Compared, compare_moments, compare_shown};
use report::text::Extent;
use report::{DiffOptions, Format, Shape, json, text, views};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Show what changed between two moments, or two recordings
///
/// Stacks of two recordings are matched by their functions, files and lines, and if that finds no partner, by
/// functions alone. So different builds of a program can be compared, whatever their addresses and file names.
///
/// Any number of captures can be compared by their labels, which `info` shows: host, service and version are short for
/// host.name, service.name and service.version.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Allocated and not freed in between, and what shrank
  sysprof-memprof diff app.memprof --from 50% --to end
  # The same from a mark of the program on
  sysprof-memprof diff app.memprof --from loaded --to end
  # Who holds more at the peak than before
  sysprof-memprof diff old.memprof new.memprof
  # One version with another, in captures of many hosts
  sysprof-memprof diff --from version=1.2 --to version=1.3 host-*.memprof
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
    /// A capture, the older and the newer one of two, or any number with labels
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Compare with this moment of one capture: 12.5s, 50%, peak, a mark, … [default: start]; or with the processes
    /// that have this label, in all captures: version=1.2, host=web-*, …
    #[arg(long, value_name = "MOMENT|LABEL=VALUE")]
    from: Option<Chosen>,
    /// Compare this moment [default: end], or the processes with this label
    #[arg(long, value_name = "MOMENT|LABEL=VALUE")]
    to: Option<Chosen>,
    /// Compare captures at this moment of each, instead of as a whole
    #[arg(long, value_name = "MOMENT")]
    at: Option<When>,
    /// Metric to count and sort by [default: live between moments, peak between captures]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Show a call tree from the root inwards, with the net change of each function and, as gross, all changes below
    /// it
    #[arg(long)]
    tree: bool,
    /// Ignore template arguments when functions of the captures are matched
    #[arg(long)]
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
    #[command(flatten)]
    names: NameOptions,
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
    let sides = Sides::new(arguments)?;
    let default = match (&sides, &arguments.at) {
        (Sides::Moments(..), _) | (_, Some(_)) => Metric::Live,
        _ => Metric::Peak,
    };
    let metric = arguments.by.unwrap_or(default);
    let mut compared = sides.compare(arguments, metric)?;
    compared.loaded = arguments.names.prepared(compared.loaded);
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

/// A moment, or which processes.
#[derive(Clone, Debug)]
enum Chosen {
    Moment(When),
    Label(Labelled),
}

impl FromStr for Chosen {
    type Err = WhenError;

    /// A mark may have any name: `mark:a=b` is one.
    fn from_str(text: &str) -> Result<Self, WhenError> {
        match text.parse() {
            Ok(label) if !text.starts_with("mark:") => Ok(Chosen::Label(label)),
            _ => text.parse().map(Chosen::Moment),
        }
    }
}

/// What is compared.
enum Sides<'a> {
    Moments(&'a PathBuf, When, When),
    Captures([Captures<'a>; 2]),
}

impl<'a> Sides<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        let usage = |text: &str| Err(Failure::usage(anyhow!(text.to_owned())));
        let files = arguments.files.as_slice();
        let captures = |files, only| Captures { files, only };
        let sides = match (files, &arguments.from, &arguments.to) {
            (files, Some(Chosen::Label(from)), Some(Chosen::Label(to))) => {
                Sides::Captures([captures(files, Some(from)), captures(files, Some(to))])
            }
            (_, Some(Chosen::Label(_)), _) | (_, _, Some(Chosen::Label(_))) => {
                return usage("--from and --to are two moments of a capture, or two labels: give both");
            }
            ([_, _], None, None) => {
                Sides::Captures([captures(&files[..1], None), captures(&files[1..], None)])
            }
            ([file], from, to) => {
                if arguments.at.is_some() || arguments.ignore_templates {
                    return usage("--at and --ignore-templates are for two captures, or for labels");
                }
                let or = |when: &Option<Chosen>, anchor: Anchor| match when {
                    Some(Chosen::Moment(when)) => when.clone(),
                    _ => anchor.into(),
                };
                Sides::Moments(file, or(from, Anchor::Start), or(to, Anchor::End))
            }
            ([_, _], ..) => return usage("--from and --to are moments of one capture; --at is one of two"),
            _ => {
                return usage(
                    "which captures are compared? Say it by labels: --from version=1 --to version=2",
                );
            }
        };
        Ok(sides)
    }

    fn compare(&self, arguments: &Arguments, metric: Metric) -> Result<Compared, Failure> {
        let (lens, naming) = (arguments.stacks.lens(), arguments.names.naming());
        match self {
            Sides::Moments(file, from, to) => {
                let analyzer = opened_capture::analyzer(file)?;
                opened_capture::needs(metric, analyzer.tables(), analyzer.source())?;
                let query = arguments.which.query(Part::Whole);
                compare_moments(analyzer, from.clone(), to.clone(), query, &lens, naming).map_err(failure)
            }
            Sides::Captures(sides) => {
                let part = arguments.at.clone().map_or(Part::Whole, Part::At);
                let query = arguments.which.query(part);
                let load = |side: &Captures<'_>| {
                    let loaded = side.loaded(&query, &lens, &naming).map_err(failure)?;
                    opened_capture::needs(metric, &loaded.tables, &loaded.source)?;
                    Ok::<_, Failure>(loaded)
                };
                let (old, new) = (load(&sides[0])?, load(&sides[1])?);
                let spelling =
                    if arguments.ignore_templates { Spelling::WithoutTemplates } else { Spelling::Exact };
                Ok(compare_shown(old, new, &lens, spelling))
            }
        }
    }
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
