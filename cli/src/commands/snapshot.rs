//! `snapshot`: saves what was recorded so far as a capture of its own, while the recording goes on.

use super::process_selector::{ProcessSelector, Recorded, process_selector};
use crate::exit::{FAILED, Failure, Outcome};
use crate::{message, output};
use anyhow::{Context, anyhow};
use clap::Args;
use collector::Requests;
use collector::control::commands::ask;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Save what was recorded so far, and go on recording
///
/// Writes an ordinary capture. SIGUSR1 to the collector does the same, with a file named by capture and time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof snapshot 4711 before
  sysprof-memprof report before.memprof")]
pub(crate) struct Arguments {
    /// Recorded process: its pid, or its name if all recorded processes of that name are in one capture
    #[arg(value_name = "PID|NAME", value_parser = process_selector)]
    process: ProcessSelector,
    /// Capture to write; .memprof is added if it has no extension [default: named by process and time]
    #[arg(value_name = "NAME")]
    name: Option<PathBuf>,
}

/// Asks the collector to write it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Recorded { pid, collector } = arguments.process.of_one_recording()?;
    let file = match &arguments.name {
        Some(name) if name.extension().is_none() => name.with_extension("memprof"),
        Some(name) => name.clone(),
        None => by_time(Path::new(&format!("{pid}.memprof")), Timestamp::now()),
    };
    output::check(&file, false)?;
    // The collector has another working directory.
    let file = std::path::absolute(file).context("cannot name the file")?;
    let file =
        file.to_str().ok_or_else(|| Failure::usage(anyhow!("the name of the file is not valid UTF-8")))?;
    let answer = ask(collector, ["snapshot", &pid.to_string(), file]);
    message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    Ok(ExitCode::SUCCESS)
}

/// Writes a snapshot because of a signal. Signals may come in floods, so several within a second count as one.
pub(crate) fn take(requests: &Requests) {
    let file = by_time(requests.output(), Timestamp::now());
    if file.exists() {
        return;
    }
    match requests.snapshot(None, &file) {
        Ok(taken) => message::note(&taken.message(&file.display().to_string())),
        Err(error) => message::warning(&error.to_string()),
    }
}

/// `service.memprof` with a time: `service.20261122T081535Z.memprof`.
pub(super) fn by_time(capture: &Path, time: Timestamp) -> PathBuf {
    let name = capture.file_stem().unwrap_or_default().to_string_lossy();
    capture.with_file_name(format!("{name}.{}.memprof", time.strftime("%Y%m%dT%H%M%SZ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a snapshot lies beside its capture and says when it was taken.
    #[test]
    fn snapshots_are_named_by_time() {
        let time = Timestamp::from_second(1_795_335_335).unwrap();
        let expected = Path::new("/x/redis.4711.20261122T081535Z.memprof");
        assert_eq!(by_time(Path::new("/x/redis.4711.memprof"), time), expected);
    }
}
