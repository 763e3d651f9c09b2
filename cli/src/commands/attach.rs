//! `attach`: records processes that run already.

use super::alarm::{AlarmOptions, Watch};
use super::attacher::{Attacher, take_back};
use super::http::HttpOptions;
use super::live::Current;
use super::parts::{Limits, Series};
use super::process_selector::{self, ProcessSelector, process_selector};
use super::push::{Checked, Push, PushOptions};
use super::recording_options::{Kind, RecordingOptions};
use super::{opened_capture, supervise};
use crate::exit::{FAILED, Failure, Outcome};
use crate::progress::Progress;
use crate::stream::Stream;
use crate::{message, output, values};
use analysis::format::{counted, duration};
use anyhow::{Context, anyhow};
use clap::Args;
use collector::Session;
use collector::attach::launch::{Signal, Signals, lift_limits};
use collector::control::commands::ask;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Record running processes
///
/// Works best for processes that were started with the agent preloaded, see `ps`. The agent is injected into others
/// with ptrace, if the system permits that, and bypassed again at the end. Recording ends with ^C, `detach`,
/// --duration or when the processes exit; otherwise they run on, and can be attached to again. Earlier allocations
/// are unknown; frees of them are counted separately.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof attach 4711
  sysprof-memprof attach 4711 --duration 60s -o minute.memprof
  # All processes of that name, in one capture
  sysprof-memprof attach nginx
  # Sample: costs a few nanoseconds per call, and reports show estimates
  sysprof-memprof attach 4711 --sample 512K
  # Sample the CPU as well, for report --cpu
  sysprof-memprof attach 4711 --cpu
  # For days: keep the last five full captures of 1 GiB each
  sysprof-memprof attach 4711 --max-size 1G --keep 5
  # For days: keep totals per stack, no individual events
  sysprof-memprof attach 4711 --aggregate
  # Metrics for Prometheus, and profiles for go tool pprof
  sysprof-memprof attach 4711 --http 127.0.0.1:9464
  # Profiles for Pyroscope
  sysprof-memprof attach 4711 --push https://host:4040
  # Save a capture before the control group's limit is reached
  sysprof-memprof attach 4711 --alarm limit=90% --on-alarm snapshot
  # Set marks, for diff --from 'snapshot 1' --to 'snapshot 2'
  sysprof-memprof attach 4711 --snapshot-every 10m")]
pub(crate) struct Arguments {
    /// Processes: pids, or names, each for all running processes of that name
    #[arg(required = true, value_name = "PID|NAME", value_parser = process_selector)]
    processes: Vec<ProcessSelector>,
    /// Detach after this time
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    /// How long to wait for processes that do not answer
    ///
    /// A process answers at its next allocation or free. If it makes none for a second, it is woken with ptrace, if
    /// the system permits that.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    timeout: Duration,
    /// Do not use ptrace: skip processes without the agent, and do not wake those that do not answer
    #[arg(long)]
    no_inject: bool,
    #[command(flatten)]
    recording: RecordingOptions,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    http: HttpOptions,
    #[command(flatten)]
    push: PushOptions,
    #[command(flatten)]
    alarms: AlarmOptions,
}

/// Records until the recording is over.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let pids = process_selector::all(&arguments.processes)?;
    let capture = match &arguments.recording.output {
        Some(path) => path.clone(),
        None => default_output(&pids),
    };
    if arguments.limits.are_set() && Stream::of(&capture).is_some() {
        return Err(Failure::usage(anyhow!(
            "--max-size goes on in another file, and what is sent is one: leave one of both out"
        )));
    }
    let bound = arguments.http.bind()?;
    let receiver = arguments.push.check(&arguments.recording)?;
    output::prepare(&capture, arguments.recording.force)?;
    lift_limits();
    supervise::start_tracer(false);
    // Shells make background jobs ignore ^C; here it is the way to end the recording.
    let signals = Signals::catch(&[Signal::Interrupt]).context("cannot receive signals")?;
    let quiet = arguments.recording.quiet;
    let mut attacher = Attacher::new(arguments.timeout, quiet, !arguments.no_inject, &signals)
        .for_duration(arguments.duration);
    attacher.prepare(&pids)?;
    let current = Current::default();
    // Serves until it is dropped; before the recording begins, which would have to be ended if that failed.
    let _server = bound.map(|bound| bound.serve(current.recordings(), &arguments.recording)).transpose()?;
    let begin = |receiver: Checked| receiver.start(&capture, current.recordings(), &arguments.recording);
    let push = receiver.map(begin).transpose()?;
    let last_interval = push.as_ref().map(Push::last_interval);
    let mut series = Series::new(arguments.limits, &capture, last_interval.clone());
    let (mut session, count) = arguments.begin(capture.clone(), &pids, &mut attacher)?;
    if !quiet {
        let limit = arguments.duration.map(|limit| format!(" for {}, or", duration(limit.as_nanos() as u64)));
        message::plain(&format!(
            "Recording {} to {}{} until ^C.",
            counted(count as u64, "process"),
            capture.display(),
            limit.unwrap_or_default()
        ));
    }
    current.set(Some(session.requests()));
    let watch = arguments.alarms.watch(current.recordings(), &arguments.recording)?;
    let end = arguments.duration.zip(attacher.began).map(|(duration, began)| began + duration);
    loop {
        let is_over = || !session.is_recording() || end.is_some_and(|end| Instant::now() >= end);
        let is_interrupted =
            supervise::until_interrupted(&session, &signals, Progress::new(quiet), end, || {
                is_over() || series.is_full(&session)
            });
        if is_interrupted.context("cannot wait for signals")? || is_over() {
            break;
        }
        current.set(None);
        let (processes, next) = series.turn(session);
        session = match arguments.begin(next, &processes, &mut attacher) {
            Ok((session, _)) => {
                current.set(Some(session.requests()));
                session
            }
            Err(failure) => {
                series.wait();
                let is_gone = |pid: &u32| !Path::new("/proc").join(pid.to_string()).exists();
                return if processes.iter().all(is_gone) { Ok(ExitCode::SUCCESS) } else { Err(failure) };
            }
        };
    }
    let failed = watch.is_some_and(Watch::end);
    current.set(None);
    let injected = attacher.injected;
    let key = session.output().to_owned();
    let finished = supervise::finish(session, signals, Vec::new(), 0, quiet)
        .map_err(|error| Failure::new(FAILED, error))?;
    // Done before anything is read back, so that the processes do not have to wait for that.
    take_back(injected);
    series.wait();
    opened_capture::after_recording(&finished, quiet);
    if let Some(last_interval) = last_interval {
        last_interval.make(&key, &finished.path);
    }
    drop(push);
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

impl Arguments {
    /// Begins a recording of those processes that can be recorded; returns it with their number.
    fn begin(
        &self,
        capture: PathBuf,
        pids: &[u32],
        attacher: &mut Attacher<'_>,
    ) -> Result<(Session, usize), Failure> {
        let session = self.recording.start(Kind { hears_commands: true, ..Kind::of_services(capture) })?;
        match attacher.all(&session, pids) {
            Ok(count) => Ok((session, count)),
            Err(failure) => {
                session.discard();
                Err(failure)
            }
        }
    }
}

/// The name of a capture: that of the first process.
fn default_output(pids: &[u32]) -> PathBuf {
    let pid = pids.first().copied().unwrap_or_default();
    let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_else(|_| "attach".into());
    let name = executable.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    output::default_name(OsStr::new(&name), pid)
}

/// The capture into which a collector records a process.
pub(super) fn capture_of(collector: u32, pid: u32) -> Result<PathBuf, Failure> {
    ask(collector, ["capture", &pid.to_string()]).map(PathBuf::from).map_err(Failure::usage)
}
