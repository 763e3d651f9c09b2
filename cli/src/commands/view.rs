//! What commands that show a capture have in common.

use crate::exit::{Failure, Outcome};
use crate::log::debug;
use crate::{message, terminal};
use anstream::{AutoStream, ColorChoice};
use anyhow::anyhow;
use capture::Reader;
use collector::Finished;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use viewer::analysis::Load;
use viewer::text::{Style, summary};
use viewer::{Loaded, Source};

/// Opens a capture. Its events are counted where a view needs numbers.
pub(super) fn open(file: &Path) -> Result<Reader, Failure> {
    Reader::open(file).map_err(|error| Failure::usage(anyhow!(error).context(file.display().to_string())))
}

/// Opens a capture and counts its events.
pub(super) fn load(file: &Path) -> Result<Loaded, Failure> {
    let reader = open(file)?;
    let mut load = Load::new(reader.tables());
    reader
        .for_each_batch(|events| events.iter().for_each(|event| load.event(event)))
        .map_err(|error| anyhow!(error).context(file.display().to_string()))?;
    let profile = load.finish();
    debug!("{}: {} events", file.display(), reader.event_count());
    let source = source(&reader, file);
    Ok(Loaded::new(reader.into_tables(), profile, source))
}

/// What there is to say about the file itself.
pub(super) fn source(reader: &Reader, file: &Path) -> Source {
    Source {
        file: file.display().to_string(),
        cut: reader.cut().map(|cut| cut.to_string()),
        unknown_chunks: reader.skipped(),
    }
}

/// Writes a view to standard output.
pub(super) fn print(view: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) -> Outcome {
    let color = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let style = Style { color, width: terminal::stdout_width() };
    let mut out = BufWriter::new(io::stdout().lock());
    view(&mut out, &style)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Tells how a recording went, on standard error: standard output is the target's. What was lost is told even when
/// the user wants quiet.
pub(super) fn after_recording(finished: &Finished, quiet: bool) {
    if quiet {
        if finished.lost > 0 {
            message::warning(&format!("{} events were lost; see: sysprof-memprof info", finished.lost));
        }
        return;
    }
    if let Err(failure) =
        load(&finished.path).and_then(|loaded| print_summary(&loaded).map_err(Failure::from))
    {
        // The capture is there all the same.
        failure.report();
    }
}

fn print_summary(loaded: &Loaded) -> io::Result<()> {
    let color = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let style = Style { color, width: terminal::stderr_width() };
    let mut out = BufWriter::new(io::stderr().lock());
    summary(&mut out, loaded, "sysprof-memprof", &style)?;
    out.flush()
}
