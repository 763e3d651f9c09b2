//! `scan`: searches the memory of a recorded process for pointers.

use super::whom::{Recorded, Whom, whom};
use crate::exit::{FAILED, Failure, Outcome};
use crate::message;
use clap::Args;
use collector::commands::ask;
use std::process::ExitCode;

/// Search the memory of a recorded process for pointers, for views to tell which block keeps which alive
///
/// The process stands still meanwhile: a second for each gigabyte or less. What was found becomes part of its capture.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  sysprof-memprof scan 4711
  sysprof-memprof detach 4711
  sysprof-memprof retained service.4711.memprof

retained shows who keeps memory alive. As often as wanted: each scan is about its moment.")]
pub(crate) struct Arguments {
    /// A recorded process: its pid, or its name, where no other one that is recorded has it
    #[arg(value_name = "PID|NAME", value_parser = whom)]
    process: Whom,
}

/// Asks the collector to do it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Recorded { pid, collector } = arguments.process.one_recorded()?;
    let answer = ask(collector, ["scan", &pid.to_string()]);
    message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    Ok(ExitCode::SUCCESS)
}
