//! `detach`: ends the recording of processes, which run on.

use super::process_selector::{self, ProcessSelector, Recorded, process_selector};
use crate::exit::{self, FAILED, Failure, Outcome};
use crate::message;
use clap::Args;
use collector::control::commands::ask;

/// End the recording of processes
///
/// The processes run on. Their collector finishes its capture once it records no process any more.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof detach 4711
  # All processes of that name
  sysprof-memprof detach nginx")]
pub(crate) struct Arguments {
    /// Processes: pids, or names, each for all recorded processes of that name
    #[arg(required = true, value_name = "PID|NAME", value_parser = process_selector)]
    processes: Vec<ProcessSelector>,
}

/// Asks their collectors to end it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (recorded, failures) = process_selector::all_recorded(&arguments.processes);
    let detached = recorded.into_iter().map(|Recorded { pid, collector }| {
        let answer = ask(collector, ["detach", &pid.to_string()]);
        message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
        Ok(())
    });
    exit::of_all(detached.chain(failures.into_iter().map(Err)))
}
