//! `ps`: lists processes that have the agent preloaded.

use super::process_selector::{self, ProcessSelector, process_selector};
use crate::exit::Outcome;
use analysis::format::duration;
use clap::Args;
use collector::attach::{Preloaded, State, make_doorbell, preloaded};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Columns of a command line on a terminal; pipes get all of it.
const WIDTH: usize = 60;

/// List processes that have the agent preloaded
///
/// Dormant ones can be recorded with `attach`. One that is not attachable found no doorbell, the file by which it is
/// called, when it started: `ps`, `agent path` and `agent install` make it, if it is missing. One that is bypassed got
/// its agent when it was attached to before; `attach` works as it did then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof ps
  # For scripts
  sysprof-memprof ps nginx --json")]
pub(crate) struct Arguments {
    /// List only these: pids, or names, each for all processes of that name
    #[arg(value_name = "PID|NAME", value_parser = process_selector)]
    processes: Vec<ProcessSelector>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'p> {
    schema: u32,
    processes: Vec<Row<'p>>,
}

#[derive(Serialize)]
struct Row<'p> {
    pid: u32,
    uid: u32,
    state: &'static str,
    /// The collector that records it.
    collector: Option<u32>,
    since_seconds: f64,
    command: &'p str,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    // For processes that start later: running ones have already found a doorbell, or not.
    if let Err(error) = make_doorbell() {
        crate::log::debug!("there is no doorbell: {error}");
    }
    let mut processes = preloaded();
    if !arguments.processes.is_empty() {
        let wanted = process_selector::all(&arguments.processes)?;
        processes.retain(|process| wanted.contains(&process.pid));
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let document = Document { schema: 1, processes: processes.iter().map(Row::of).collect() };
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        let width = if out.is_terminal() { WIDTH } else { usize::MAX };
        write!(out, "{}", table(&processes, width))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl Row<'_> {
    fn of(process: &Preloaded) -> Row<'_> {
        let Preloaded { pid, uid, state, since, command, .. } = process;
        let (state, collector) = match state {
            State::Dormant => ("dormant", None),
            State::Recorded(by) => ("recorded", Some(*by)),
            State::Bypassed => ("bypassed", None),
            State::WithoutDoorbell => ("not attachable", None),
        };
        Row { pid: *pid, uid: *uid, state, collector, since_seconds: since.as_secs_f64(), command }
    }
}

fn table(processes: &[Preloaded], width: usize) -> String {
    if processes.is_empty() {
        return "no process has the agent preloaded\n".to_string();
    }
    let mut text = format!("{:>8}  {:<22} {:>10}  COMMAND\n", "PID", "STATE", "SINCE");
    for process in processes {
        let row = Row::of(process);
        let state = match row.collector {
            Some(by) => format!("{} by {by}", row.state),
            None => row.state.to_string(),
        };
        // Command lines are untrusted text.
        let command: String = row
            .command
            .chars()
            .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
            .take(width)
            .collect();
        text += &format!("{:>8}  {state:<22} {:>10}  {command}\n", row.pid, age(process.since));
    }
    text
}

/// The age in whole seconds; nobody needs more precision.
fn age(since: Duration) -> String {
    match since.as_secs() {
        0 => "< 1 s".to_string(),
        seconds => duration(seconds * 1_000_000_000),
    }
}
