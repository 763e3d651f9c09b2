//! What commands that show a capture have in common.

use crate::exit::{Failure, Outcome};
use crate::log::debug;
use crate::{message, terminal};
use anstream::{AutoStream, ColorChoice};
use collector::Finished;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use viewer::text::{self, Style};
use viewer::{Error, Loaded};

/// Reads and counts a capture.
pub(super) fn open(file: &Path) -> Result<Loaded, Failure> {
    debug!("reading {}", file.display());
    viewer::open(file).map_err(failure)
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

/// Tells how a recording went, on standard error: standard output is the target's. What was lost is told even when
/// the user wants quiet.
pub(super) fn after_recording(finished: &Finished, quiet: bool) {
    if quiet {
        if finished.lost > 0 {
            message::warning(&format!("{} events were lost; see: sysprof-memprof info", finished.lost));
        }
        return;
    }
    message::plain(&format!("Wrote {}", finished.path.display()));
    if let Err(failure) = summarize(&finished.path) {
        // The capture is there all the same, so the exit code stays the target's.
        failure.report();
    }
}

fn summarize(file: &Path) -> Result<(), Failure> {
    let loaded = open(file)?;
    let stderr = io::stderr();
    let style =
        Style { color: AutoStream::choice(&stderr) != ColorChoice::Never, width: terminal::width(&stderr) };
    let mut out = BufWriter::new(stderr.lock());
    text::summary(&mut out, &loaded, "sysprof-memprof", &style)?;
    Ok(out.flush()?)
}

/// A file that cannot be shown was the wrong one to ask for; that a view cannot be written is nobody's fault.
fn failure(error: Error) -> Failure {
    match error {
        Error::Write(_) => Failure::from(error),
        error => Failure::usage(error),
    }
}
