//! `export`: writes a capture in a format that other programs open.

mod events;
mod target;
mod unused;

use super::lens::LensArguments;
use super::opened_capture::{self, Capture};
use super::push::{self, ReceiverOptions};
use super::redact;
use super::report::metric;
use super::selection::Selection;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Packing};
use crate::{graphviz, message};
use analysis::format::counted;
use analysis::query::{Part, Query};
use analysis::{Metric, Share};
use anyhow::anyhow;
use clap::Args;
use engine::{Loaded, Recorded};
use events::LineOptions;
use export::{ExportOptions, Format};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use target::Target;

const PUSH: &str = "Send the profiles that a recording with --push has left in a folder to this receiver, which may \
                    take a minute; what is accepted is removed from the folder";

/// Convert a capture for other programs
#[derive(Args, Debug)]
#[command(mut_arg("file", |file| file.help("Capture to read, or with --push the folder of profiles")))]
#[command(mut_arg("push", |push| push.conflicts_with_all(["format", "output"]).help(PUSH).long_help(PUSH)))]
#[command(after_help = "\
Examples:
  sysprof-memprof export app.memprof --format pprof -o app.pb.gz
  sysprof-memprof export app.memprof --format dot -o app.svg
  sysprof-memprof export app.memprof --format folded --by leaked -o app.txt
  sysprof-memprof export app.memprof --format flamegraph --by allocations \\
      -o app.svg
  sysprof-memprof export app.memprof --format flamegraph --focus parse \\
      --filter 'not thread:worker-*' -o parse.svg
  sysprof-memprof export app.memprof --format memprof --redact \\
      -o for-a-bug-report.memprof
  sysprof-memprof export app.memprof --format parquet --dataset fleet
  # Every event, a line each
  sysprof-memprof export app.memprof --format events | head
  sysprof-memprof export app.memprof --format events-json \\
      | jq -c 'select(.size > 1000000)'
  # What a recording with --push could not send
  sysprof-memprof export app.memprof.push --push https://host:4040

Columns of events: seconds, pid/tid, what was called, address and size, and the
stack, innermost function first.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_parser = target::parser(), required_unless_present = "push")]
    format: Option<Target>,
    /// Output file; - for standard output (the default). Graphviz draws a graph (--format dot) for .svg, .png or .pdf;
    /// a document is compressed for .gz or .zst
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// With --format parquet, the folder to add the capture to, beside those of other hosts; made if it is not there
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "push"])]
    dataset: Option<PathBuf>,
    /// Label for the dataset in place of the capture's, as version=1.2; may be repeated
    #[cfg(feature = "parquet")]
    #[arg(long = "label", value_name = "NAME=VALUE", requires = "dataset", value_parser = crate::values::label)]
    labels: Vec<(String, String)>,
    /// Metric to export, or for pprof and speedscope to show first [default: peak; live with --at]
    #[arg(long, visible_alias = "metric", value_name = "METRIC", value_parser = metric())]
    by: Option<Metric>,
    /// Leave functions and calls below this share of the total out of a drawing [default: 0.5%]
    #[arg(long, value_name = "SHARE")]
    min: Option<Share>,
    /// Maximum number of functions in a drawing [default: 80]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Leave out command lines, and names of users, hosts and home folders; with --format memprof
    #[arg(long)]
    redact: bool,
    /// Also leave out this text, wherever it occurs; may be repeated
    #[arg(long, value_name = "TEXT", requires = "redact")]
    hide: Vec<String>,
    #[command(flatten)]
    lines: LineOptions,
    #[command(flatten)]
    receiver: ReceiverOptions,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    selection: Selection,
}

impl Arguments {
    /// The file to write; `None` for standard output.
    fn output(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| *output != Path::new("-"))
    }

    /// The same for a document, and how it is packed; a file that cannot be written is refused.
    fn checked_output(&self) -> Result<Option<(&Path, Option<Packing>)>, Failure> {
        let Some(output) = self.output() else { return Ok(None) };
        Ok(Some((output, output::check_document(output, self.force)?)))
    }
}

/// Writes the export. A file is written completely or not at all, as everywhere.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Some(target) = arguments.format else {
        unused::refuse_choices(arguments)?;
        return push::send(&arguments.capture.file, &arguments.receiver);
    };
    unused::refuse(arguments, target)?;
    match target {
        Target::Document(format) => document(arguments, format),
        Target::Copy => copy(arguments),
        Target::Events { is_json } => events::execute(arguments, is_json),
        #[cfg(feature = "sql")]
        Target::Database => database(arguments),
        #[cfg(feature = "parquet")]
        Target::Dataset => dataset(arguments),
    }
}

/// What is to be exported; names that nothing has are told.
fn seen(arguments: &Arguments, query: &Query) -> Result<Loaded, Failure> {
    let loaded = arguments.capture.seen(query, &arguments.stacks.lens())?;
    for name in loaded.seen.iter().flat_map(|seen| &seen.unmatched) {
        message::warning(&name.to_string());
    }
    Ok(loaded)
}

fn document(arguments: &Arguments, format: Format) -> Outcome {
    if arguments.output().is_none() && format.is_binary() && io::stdout().is_terminal() {
        let name = format.name();
        return Err(Failure::usage(anyhow!("{name} is binary. Give the name of a file with --output.")));
    }
    let output = arguments.checked_output()?;
    if let (Some((output, Some(Packing::Zstd))), Format::Pprof) = (output, format) {
        let name = Packing::inner(output);
        return Err(Failure::usage(anyhow!("pprof is gzipped already. Name it {}.gz.", name.display())));
    }
    let query = arguments.selection.query();
    let loaded = seen(arguments, &query)?;
    let usual = if let Part::At(_) = query.part { Metric::Live } else { Metric::default() };
    let metric = arguments.by.unwrap_or(usual);
    opened_capture::needs(metric, &loaded.tables, &loaded.source)?;
    if let Some(text) = report::text::suppressed_text(&loaded, metric) {
        message::note(&text);
    }
    let options = ExportOptions { format, metric, min: arguments.min, limit: arguments.limit };
    let events = Recorded::new(&arguments.capture.file);
    let Some((output, packing)) = output else {
        return opened_capture::print(|out, _| export::export(out, &loaded, &events, &options));
    };
    // That format is gzipped whatever its name.
    let packing = packing.filter(|_| format != Format::Pprof);
    output::write(output, packing, |out| {
        let Some(drawing) = graphviz::drawing(&Packing::inner(output)).filter(|_| format == Format::Dot)
        else {
            return Ok(export::export(out, &loaded, &events, &options)?);
        };
        let mut graph = Vec::new();
        export::export(&mut graph, &loaded, &events, &options)?;
        Ok(out.write_all(&graphviz::draw(&graph, drawing, &|| false)?)?)
    })
}

fn copy(arguments: &Arguments) -> Outcome {
    let Some(output) = arguments.output() else {
        return Err(Failure::usage(anyhow!("a copy of a capture is a file. Give its name with --output.")));
    };
    output::check(output, arguments.force)?;
    let redaction = arguments.redact.then(|| redact::redaction(&arguments.hide));
    let Capture { file, .. } = &arguments.capture;
    let (sink, copied) = export::copy(file, arguments.capture.naming(), output::create(output)?, redaction)
        .map_err(opened_capture::failure)?;
    opened_capture::note_looked_up(copied.looked_up);
    if arguments.redact {
        message::plain(&format!(
            "Left out {}, changed {}. Check the copy before you share it: sysprof-memprof info {}",
            counted(copied.commands, "command line"),
            counted(copied.texts, "text"),
            output.display()
        ));
    }
    output::commit(sink, output)
}

#[cfg(feature = "sql")]
fn database(arguments: &Arguments) -> Outcome {
    let Some(output) = arguments.output() else {
        return Err(Failure::usage(anyhow!("a database is a file. Give its name with --output.")));
    };
    output::check(output, arguments.force)?;
    let loaded = arguments.capture.ask(&arguments.selection.query())?;
    // An empty file is a valid empty database.
    let file = output::create(output)?;
    export::sql::write(file.temporary(), &loaded, &Recorded::new(&arguments.capture.file))
        .map_err(not_written)?;
    output::commit(file, output)
}

#[cfg(feature = "parquet")]
fn dataset(arguments: &Arguments) -> Outcome {
    let Some(folder) = &arguments.dataset else {
        return Err(Failure::usage(anyhow!(
            "parquet is added to a dataset. Give its folder with --dataset."
        )));
    };
    let mut loaded = seen(arguments, &arguments.selection.query())?;
    let labels = &mut loaded.tables.metadata.labels;
    labels.retain(|(known, _)| arguments.labels.iter().all(|(name, _)| name != known));
    labels.extend_from_slice(&arguments.labels);
    let added = export::dataset::add(folder, &loaded)
        .map_err(|error| anyhow!("cannot add {} to {}: {error}", loaded.source.file, folder.display()))?;
    if added.is_empty() {
        return Err(Failure::usage(anyhow!(
            "{} has no process, so there is nothing to add",
            loaded.source.file
        )));
    }
    for part in added {
        message::plain(&format!("Added to {}: {part}", folder.display()));
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// If the capture lacks what is to be exported, that is a usage error.
#[cfg(feature = "sql")]
fn not_written(error: export::sql::Error) -> Failure {
    match error {
        export::sql::Error::View(error) => opened_capture::failure(error),
        error => Failure::from(error),
    }
}
