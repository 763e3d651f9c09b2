//! `export`: a capture in a format that other programs open.

use super::question::Question;
use super::report::metric;
use super::view::{self, Capture};
use crate::exit::{Failure, Outcome};
use crate::{message, output};
use anyhow::{Context, anyhow};
use capture::AtomicFile;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use viewer::analysis::{Metric, Share};
use viewer::query::Part;
use viewer::{ExportOptions, Format, Recorded};

/// Write a capture in a format that other programs open
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof export app.memprof --format pprof -o app.pb.gz && go tool pprof -http=: app.pb.gz
  sysprof-memprof export app.memprof --format flamegraph --by allocations -o app.svg
  sysprof-memprof export app.memprof --format folded --by leaked | sort -k2 -n
  sysprof-memprof export app.memprof --format dot | dot -Tsvg -o app.svg")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    format: Format,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// What to count, in a format that holds one number; what is shown first, in one that holds all [default: peak;
    /// live with --at]
    #[arg(long, visible_alias = "metric", value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Leave functions and calls below this share of the total out of a drawing [default: 0.5%]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Draw at most so many functions [default: 80]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    question: Question,
}

/// Writes it: to a file whole or not at all, as every file of ours.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { format, output, .. } = arguments;
    if !format.is_cut() && (arguments.min.is_some() || arguments.limit.is_some()) {
        let name = format.name();
        return Err(Failure::usage(anyhow!("--min and --limit are for drawings: {name} holds everything")));
    }
    match output {
        Some(output) => output::check(output, arguments.force)?,
        None if format.is_binary() && io::stdout().is_terminal() => {
            let name = format.name();
            return Err(Failure::usage(anyhow!("{name} is binary. Give the name of a file with --output.")));
        }
        None => {}
    }
    let query = arguments.question.query();
    if format.holds_events() && (query.part != Part::Whole || !query.filter.is_empty()) {
        let name = format.name();
        return Err(Failure::usage(anyhow!(
            "{name} holds every event of a capture: it takes no part of it, and no choice of blocks"
        )));
    }
    let default = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = arguments.by.unwrap_or(default);
    let options = ExportOptions { format: *format, metric, min: arguments.min, limit: arguments.limit };
    let loaded = arguments.capture.ask(&query)?;
    let events = Recorded::new(&arguments.capture.file);
    match output {
        Some(output) => to_file(output, |out| viewer::export(out, &loaded, &events, &options)),
        None => view::print(|out, _| viewer::export(out, &loaded, &events, &options)),
    }
}

fn to_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), viewer::Error>) -> Outcome {
    let mut out = BufWriter::new(AtomicFile::create(path)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error);
    file.with_context(|| format!("cannot write {}", path.display()))?.commit()?;
    message::plain(&format!("Wrote {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

fn format() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.what()));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
