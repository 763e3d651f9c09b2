//! Shared by the commands that show a capture.

use super::symbols::Symbols;
use crate::exit::{Failure, Outcome};
use crate::log::debug;
use crate::stream::Stream;
use crate::{message, terminal};
use analysis::Metric;
use analysis::format::counted;
use analysis::query::Query;
use anstream::{AutoStream, ColorChoice};
use capture::Tables;
use clap::Args;
use collector::Finished;
use engine::lens::Lens;
use engine::suppression::Suppressions;
use engine::{Analyzer, Error, Loaded, LookedUp, Naming, Source};
use report::text::{self, Extent, Style};
use report::views;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A capture to be shown.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    /// Capture to read
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) names: NameOptions,
}

/// Captures to be shown as one.
#[derive(Args, Debug)]
pub(crate) struct Captures {
    /// Captures to read; several are shown as one
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) names: NameOptions,
}

/// Where names come from, and how they are shown.
#[derive(Args, Debug)]
pub(crate) struct NameOptions {
    /// Do not look up names that the capture lacks in the files of this machine
    #[arg(help_heading = "Names", long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
    /// Hide template and generic arguments of functions
    #[arg(help_heading = "Names", long)]
    pub(super) short_names: bool,
}

impl NameOptions {
    pub(super) fn naming(&self) -> Naming {
        self.symbols.naming(self.no_symbolize)
    }

    /// Reports which names were looked up, and shortens names if the user wants that.
    pub(super) fn prepared(&self, mut loaded: Loaded) -> Loaded {
        note_looked_up(loaded.looked_up);
        if self.short_names {
            loaded.names.leave_out_arguments();
        }
        loaded
    }
}

impl Captures {
    /// Loads what was asked for of all of them.
    pub(super) fn seen(&self, query: &Query, lens: &Lens) -> Result<Loaded, Failure> {
        let captures = engine::Captures { files: &self.files, only: None };
        captures.files.iter().for_each(|file| debug!("reading {}", file.display()));
        let loaded = captures.seen(query, lens, &self.names.naming()).map_err(failure)?;
        Ok(self.names.prepared(loaded))
    }
}

impl Capture {
    /// Loads the part that was asked for.
    pub(super) fn ask(&self, query: &Query) -> Result<Loaded, Failure> {
        self.seen(query, &Lens::default())
    }

    /// The same, seen through a lens.
    pub(super) fn seen(&self, query: &Query, lens: &Lens) -> Result<Loaded, Failure> {
        let loaded = self.analyzer()?.seen(query, lens, self.naming()).map_err(failure)?;
        Ok(self.prepared(loaded))
    }

    /// The same, without the leaks that rules suppress.
    pub(super) fn leaks(
        &self,
        query: &Query,
        lens: &Lens,
        suppressions: &Suppressions,
    ) -> Result<Loaded, Failure> {
        let loaded = self.analyzer()?.leaks(query, lens, suppressions, self.naming()).map_err(failure)?;
        Ok(self.prepared(loaded))
    }

    /// The blocks that scans found unreachable, in place of the leaked ones.
    pub(super) fn unreachable(&self, lens: &Lens, suppressions: &Suppressions) -> Result<Loaded, Failure> {
        let loaded = self.analyzer()?.unreachable(lens, suppressions, self.naming()).map_err(failure)?;
        Ok(self.prepared(loaded))
    }

    /// Opens the capture for queries.
    pub(super) fn analyzer(&self) -> Result<Analyzer, Failure> {
        analyzer(&self.file)
    }

    /// As [`NameOptions::prepared`].
    pub(super) fn prepared(&self, loaded: Loaded) -> Loaded {
        self.names.prepared(loaded)
    }

    pub(super) fn naming(&self) -> Naming {
        self.names.naming()
    }
}

/// Fails if the capture lacks what this metric counts: stacks of frees, for instance, are recorded only on request.
pub(super) fn needs(metric: Metric, tables: &Tables, source: &Source) -> Result<(), Failure> {
    if metric == Metric::Frees && !tables.metadata.has_free_stacks() {
        return Err(Failure::usage(anyhow::anyhow!(
            "{} has no stacks of frees: record with run --free-stacks. sysprof-memprof blocks --by thread \
             shows which threads free blocks of others without them",
            source.file
        )));
    }
    Ok(())
}

/// Opens a capture for queries.
pub(super) fn analyzer(file: &Path) -> Result<Analyzer, Failure> {
    debug!("reading {}", file.display());
    Analyzer::open(file).map_err(failure)
}

pub(super) fn open(file: &Path, naming: Naming) -> Result<Loaded, Failure> {
    debug!("reading {}", file.display());
    engine::open(file, naming).map_err(failure)
}

/// Reports which names do not come from the capture, or could not be found.
pub(super) fn note_looked_up(LookedUp { unresolved, named, unneeded }: LookedUp) {
    if named > 0 {
        let names = counted(named, "name");
        let others = if unneeded > 0 { format!("; {unneeded} others are not shown") } else { String::new() };
        message::note(&format!(
            "looked up in the files of this machine: {names} that the capture lacks{others}"
        ));
    } else if unresolved > 0 {
        let addresses = counted(unresolved, "address");
        message::note(&format!("no name for {addresses}: the recorded files are not on this machine"));
    }
}

/// Writes a view to standard output.
pub(super) fn print(view: impl FnOnce(&mut dyn Write, &Style) -> Result<(), Error>) -> Outcome {
    let stdout = io::stdout();
    let style =
        Style { color: AutoStream::choice(&stdout) != ColorChoice::Never, width: terminal::width(&stdout) };
    let mut out = BufWriter::new(stdout.lock());
    view(&mut out, &style).and_then(|()| Ok(out.flush()?)).map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports how a recording went, on standard error, since standard output is the target's. Losses are reported even
/// if the user wants quiet.
pub(super) fn after_recording(finished: &Finished, quiet: bool) {
    if quiet {
        if finished.lost > 0 {
            message::warning(&format!("{} lost; see: sysprof-memprof info", counted(finished.lost, "event")));
        }
        return;
    }
    for reason in &finished.unsampled {
        message::note(&format!("{reason}; the rest is recorded."));
    }
    if Stream::of(&finished.path).is_some() {
        message::plain("The capture is sent.");
        return;
    }
    message::plain(&format!("Wrote {}", finished.path.display()));
    if let Err(failure) = summarize(&finished.path) {
        // The capture exists all the same, so the exit code stays the target's.
        failure.report();
    }
}

/// Writes the summary after a recording, on standard error.
pub(super) fn summarize(file: &Path) -> Result<(), Failure> {
    let loaded = open(file, Naming::Stored)?;
    let stderr = io::stderr();
    let style =
        Style { color: AutoStream::choice(&stderr) != ColorChoice::Never, width: terminal::width(&stderr) };
    let mut out = BufWriter::new(stderr.lock());
    let summary = views::summary(&loaded, Some("sysprof-memprof"));
    text::document(&mut out, &loaded, &summary, Extent::of_command(usize::MAX), &style)?;
    Ok(out.flush()?)
}

/// If the file cannot be shown, that is a usage error; if the view cannot be written, it is not.
pub(super) fn failure(error: Error) -> Failure {
    match error {
        Error::Write(_) => Failure::from(error),
        error => Failure::usage(error),
    }
}
