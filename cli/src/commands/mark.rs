//! `mark`: names a moment of a recording.

use super::process_selector::{ProcessSelector, Recorded, process_selector};
use crate::exit::{FAILED, Failure, Outcome};
use crate::message;
use clap::Args;
use collector::control::commands::ask;
use std::process::ExitCode;

/// Name the current moment of a recording
///
/// `report --at NAME` shows the heap at that moment, `diff --from NAME --to OTHER` what changed between two.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof mark 4711 before
  curl http://localhost/the/slow/page
  sysprof-memprof mark 4711 after
  sysprof-memprof detach 4711
  sysprof-memprof diff service.4711.memprof --from before --to after")]
pub(crate) struct Arguments {
    /// Recorded process: its pid, or its name if all recorded processes of that name are in one capture
    #[arg(value_name = "PID|NAME", value_parser = process_selector)]
    process: ProcessSelector,
    /// Name of the mark
    #[arg(value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

/// Asks the collector to set it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Recorded { pid, collector } = arguments.process.of_one_recording()?;
    let answer = ask(collector, ["mark", &pid.to_string(), &arguments.name]);
    message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    Ok(ExitCode::SUCCESS)
}
