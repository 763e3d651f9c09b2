//! `detach`: ends the recording of a process, which goes on.

use super::attach::collector_of;
use crate::exit::{FAILED, Failure, Outcome};
use crate::message;
use clap::Args;
use collector::commands::ask;
use std::process::ExitCode;

/// End the recording of processes, which go on
///
/// Whoever records them is told; it finishes its capture when it records nobody any more.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The processes
    #[arg(required = true, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pids: Vec<u32>,
}

/// Tells their collectors.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    for pid in &arguments.pids {
        let collector = collector_of(*pid)?;
        let answer = ask(collector, ["detach", &pid.to_string()]);
        message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
    }
    Ok(ExitCode::SUCCESS)
}
