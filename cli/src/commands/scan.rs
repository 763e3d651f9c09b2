//! `scan`: searches the memory of a recorded process for pointers.

use super::attach::collector_of;
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
    /// A recorded process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
}

/// Has the collector do it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let collector = collector_of(arguments.pid)?;
    let answer = ask(collector, ["scan", &arguments.pid.to_string()]);
    message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    Ok(ExitCode::SUCCESS)
}
