//! `top`: who holds most memory, and who allocates, while a process runs.
//!
//! ```text
//!  own attach ──► capture in memory, let go as it is read ──┐
//!          -o ──► capture in a file ────────────────────────┼─► engine::live ──► terminal, text, JSON
//!  recorded by another ──► its capture ─────────────────────┘
//! ```

mod pace;
mod screen;
mod subject;

use super::opened_capture;
use super::process_selector::{ProcessSelector, process_selector};
use super::recording_options::RecordingOptions;
use super::supervise;
use super::view;
use crate::exit::{Failure, Outcome};
use crate::values;
use anyhow::Context;
use clap::{Args, ValueEnum};
use collector::attach::launch::{Received, Signal, Signals, lift_limits};
use engine::live::{By, Order, Reading};
use report::{json, text};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use subject::Subject;

/// Time between two reads of the recording, however rarely reports are due.
const TURN: Duration = Duration::from_millis(250);
/// Shortest time between two reports.
const SHORTEST: Duration = Duration::from_millis(100);

/// Watch who holds and who allocates memory in a running process
///
/// Attaches to the process as `attach` does, and detaches when you leave. If it is being recorded already, shows that
/// recording. Earlier allocations are unknown; frees of them are counted separately. Nothing is written to disk
/// without --output. Without a terminal, or with --batch, reports are printed one after the other, the last one when
/// the process ends.
#[derive(Args, Debug)]
#[command(mut_arg("aggregate", |option| option.hide(true)), mut_arg("every", |option| option.hide(true)))]
#[command(after_help = "\
Examples:
  sysprof-memprof top 4711
  # The only process of that name
  sysprof-memprof top nginx
  # What has grown since
  sysprof-memprof top 4711 --by growth
  # Functions, each with all that it calls
  sysprof-memprof top 4711 --functions
  # Keep the recording as well
  sysprof-memprof top 4711 -o app.memprof
  # Sample: costs a few nanoseconds per call, and shows estimates
  sysprof-memprof top 4711 --sample 512K
  # Three reports as text
  sysprof-memprof top 4711 --batch -n 3
  # A line of JSON every ten seconds
  sysprof-memprof top 4711 --json -d 10")]
pub(crate) struct Arguments {
    /// Process: its pid, or its name if no other process has it
    #[arg(value_name = "PID|NAME", value_parser = process_selector)]
    process: ProcessSelector,
    /// Time between reports
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = values::duration)]
    delay: Duration,
    /// Exit after this many reports
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print reports one after the other, even on a terminal
    #[arg(short, long)]
    batch: bool,
    /// Print each report as a line of JSON
    #[arg(long)]
    json: bool,
    /// Column to sort by
    #[arg(long, value_name = "BY", default_value = "held")]
    by: Sort,
    /// Show functions instead of stacks, sorted by total or by their own part [default: total]
    #[arg(long, value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "total")]
    functions: Option<Part>,
    /// Maximum number of rows in a printed report
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// How long to wait for a process that does not answer
    ///
    /// A process answers at its next allocation or free. If it makes none for a second, it is woken with ptrace, if
    /// the system permits that.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    timeout: Duration,
    /// Do not use ptrace: fail if the process does not have the agent, and do not wake it if it does not answer
    #[arg(long)]
    no_inject: bool,
    #[command(flatten)]
    recording: RecordingOptions,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sort {
    /// Bytes held now
    Held,
    /// Growth of held bytes since the beginning
    Growth,
    /// Bytes allocated per second
    Rate,
    /// Allocations per second
    Calls,
}

/// What functions are sorted by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// What a function and all that it calls allocate
    Total,
    /// What the function itself allocates
    #[value(name = "self")]
    Own,
}

impl Arguments {
    /// What rows are of, and sorted by.
    fn rows(&self) -> (By, Order) {
        let by = match self.functions {
            None => By::Stacks,
            Some(Part::Total) => By::Total,
            Some(Part::Own) => By::Own,
        };
        (by, self.by.order())
    }
}

impl Sort {
    fn order(self) -> Order {
        match self {
            Sort::Held => Order::Held,
            Sort::Growth => Order::Growth,
            Sort::Rate => Order::Rate,
            Sort::Calls => Order::Calls,
        }
    }
}

/// Shows the process until the user leaves or it ends.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    lift_limits();
    supervise::start_tracer(false);
    // Shells make background jobs ignore ^C; here it is the way to end.
    let signals = Signals::catch(&[Signal::Interrupt]).context("cannot receive signals")?;
    let mut subject = Subject::open(arguments, &signals)?;
    let shows = !arguments.batch && !arguments.json && arguments.count.is_none() && view::is_possible();
    let printed = match shows {
        true => screen::show(arguments, &mut subject, &signals),
        false => reports(arguments, &mut subject, &signals),
    };
    // Whatever happened to the reports, the process is left as it was found.
    let kept = subject.close(signals, arguments.recording.quiet);
    let is_over = printed?;
    kept?;
    if is_over {
        report(arguments, &subject.last_reading(arguments.rows(), arguments.limit)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints reports; true if the process has ended, so that a last one is due.
fn reports(arguments: &Arguments, subject: &mut Subject, signals: &Signals) -> Result<bool, Failure> {
    let delay = arguments.delay.max(SHORTEST);
    let mut due = Instant::now() + delay;
    let mut printed = 0;
    loop {
        let rest = due.saturating_duration_since(Instant::now());
        match signals.next(rest.min(TURN)).context("cannot wait for signals")? {
            None | Some(Received { signal: Signal::Child | Signal::Snapshot, .. }) => {}
            Some(_) => return Ok(false),
        }
        subject.refresh()?;
        if subject.is_over() {
            return Ok(true);
        }
        if Instant::now() < due {
            continue;
        }
        due = (due + delay).max(Instant::now());
        report(arguments, &subject.reading(arguments.rows(), arguments.limit))?;
        printed += 1;
        if arguments.count == Some(printed) {
            return Ok(false);
        }
    }
}

fn report(arguments: &Arguments, reading: &Reading) -> Result<(), Failure> {
    let printed = opened_capture::print(|out, style| {
        match arguments.json {
            true => json::top(out, reading)?,
            false => text::top(out, reading, style)?,
        }
        Ok(())
    });
    printed.map(drop)
}
