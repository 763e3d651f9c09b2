//! `scan`: searches the memory of a recorded process for pointers.

use super::process_selector::{ProcessSelector, Recorded, process_selector};
use crate::exit::{FAILED, Failure, Outcome};
use crate::message;
use clap::Args;
use collector::control::commands::ask;
use std::process::ExitCode;

/// Scan the memory of a recorded process for pointers
///
/// `retained` then shows what keeps blocks alive. The process stands still during the scan, at most a second per
/// gigabyte. The result becomes part of the capture. Each scan describes the moment it was made; scan as often as you
/// like.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof scan 4711
  sysprof-memprof detach 4711
  # Show what keeps memory alive
  sysprof-memprof retained service.4711.memprof")]
pub(crate) struct Arguments {
    /// Recorded process: its pid, or its name if no other recorded process has it
    #[arg(value_name = "PID|NAME", value_parser = process_selector)]
    process: ProcessSelector,
}

/// Asks the collector to do it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Recorded { pid, collector } = arguments.process.one_recorded()?;
    let answer = ask(collector, ["scan", &pid.to_string()]);
    message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    Ok(ExitCode::SUCCESS)
}
