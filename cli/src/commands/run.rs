//! `run`: records a program and what it starts.
//!
//! The order of steps, each of which can fail before the next has any effect:
//!
//! ```text
//!   inspect the program ─► check the output ─► provide the agent      wrong usage ends here: nothing was started
//!     ─► fork a process that waits                                    its pid names the capture
//!     ─► catch signals ─► begin the recording                         from here on, whatever comes is finished
//!     ─► let the process become the target ─► supervise until it ends
//!     ─► finish the capture ─► summary ─► the target's exit code
//! ```
//!
//! With `--duration` the capture may be finished while the target goes on; see [`super::finishing`].

use super::alarm::{AlarmOptions, Watch};
use super::finishing::Finishing;
use super::live::Current;
use super::opened_capture;
use super::push::{Checked as Pushed, Push, PushOptions};
use super::recording_options::{Kind, RecordingOptions};
use super::rules_check::RulesCheck;
use super::supervise::{self, Supervised};
use crate::agent::{self, Available};
use crate::exit::{self, Failure, Outcome};
use crate::log::debug;
use crate::progress::Progress;
use crate::stream::Stream;
use crate::{message, output, values};
use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::FalseyValueParser;
use collector::attach::launch::{Launch, Prepared, Signals, adopt_orphans, lift_limits};
use collector::attach::target::{self, Target};
use collector::{Error, Finished, OnFull, Rights, Session};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A program under `run` waits rather than lose events, but not for ever.
const ON_FULL: (OnFull, Duration) = (OnFull::Block, Duration::from_secs(10));

/// Record a program and everything it starts
///
/// Writes PROGRAM.PID.memprof unless --output is given. The program keeps the terminal: ^C goes to it, and the
/// recording ends when it exits. The exit code is the program's.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof run -- ./app --flag
  sysprof-memprof run -o build.memprof -- make -j4
  # Record only the compilers
  sysprof-memprof run --only 'cc1*' -- make -j4
  # Sample: costs a few nanoseconds per call, and reports show estimates
  sysprof-memprof run --sample 512K -- ./app
  # Record the first minute, then let the server run on
  sysprof-memprof run --duration 60s -- ./server
  # Lose events rather than make threads wait
  sysprof-memprof run --on-full drop -- ./server
  # Fail if the test leaks more than the rules allow
  sysprof-memprof run --check memprof.toml -- ./test
  # Send a profile to Pyroscope every 15 seconds
  sysprof-memprof run --push https://host:4040 -- ./server
  # Send the capture to another machine
  sysprof-memprof run -o - ./app | ssh me@home 'cat > app.memprof'")]
pub(crate) struct Arguments {
    /// Also record the programs that the target starts (the default)
    #[arg(
        long,
        overrides_with = "no_follow",
        env = "SYSPROF_MEMPROF_FOLLOW",
        num_args = 0,
        default_missing_value = "true",
        value_parser = FalseyValueParser::new()
    )]
    follow: Option<bool>,
    /// Record only the target itself
    #[arg(long)]
    no_follow: bool,
    /// Keep recording until all processes started by the target have ended
    #[arg(long)]
    wait_children: bool,
    /// Stop recording after this time; the program runs on unrecorded
    ///
    /// The capture is finished and its summary printed at that moment. `run` itself stays until the program exits,
    /// and returns its exit code as usual. A program that exits sooner ends the recording.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    /// Check the capture against these rules: exit with 1 if the program succeeds but a rule is broken
    ///
    /// The rules are those of `check --rules`. If all are kept and no --output was given, the capture is removed.
    #[arg(long, value_name = "RULES")]
    check: Option<PathBuf>,
    /// Program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    recording: RecordingOptions,
    #[command(flatten)]
    push: PushOptions,
    #[command(flatten)]
    alarms: AlarmOptions,
}

impl Arguments {
    /// True if what the target starts is recorded, too.
    fn follows(&self) -> bool {
        !self.no_follow && self.follow.unwrap_or(true)
    }

    /// Checks that everything requested is possible. Nothing has any effect yet.
    fn check(&self, program: &Path) -> Result<Checked, Failure> {
        let target = target::inspect(program).map_err(exit::refused)?;
        debug!("target: {target:?}");
        let output = self.recording.output.as_deref();
        match output {
            Some(path) => output::prepare(path, self.recording.force)?,
            None => output::check_default()?,
        }
        if self.check.is_some() && output.and_then(Stream::of).is_some() {
            return Err(Failure::usage(anyhow!(
                "--check reads the capture: give it a file with --output, or none"
            )));
        }
        let receiver = self.push.check(&self.recording)?;
        let naming = self.recording.naming_afterwards();
        let rules_check = self
            .check
            .as_deref()
            .map(|rules| RulesCheck::new(rules, naming, output.is_some()))
            .transpose()?;
        lift_limits();
        let agent = agent::provide().map_err(Failure::usage)?;
        Ok(Checked { target, rules_check, receiver, agent })
    }

    /// Begins the recording of a process that waits to become the target.
    fn begin(&self, prepared: &Prepared, agent: &Available, capture: PathBuf) -> Result<Session, Failure> {
        let session = self.recording.start(Kind {
            output: capture.clone(),
            passing: None,
            is_watched: false,
            attaches: false,
            command: self.command.clone(),
            socket: None,
            rights: Rights::default(),
            agent_folder: agent.path.parent().filter(|_| !agent.installed).map(Path::to_owned),
            follow: self.follows(),
            target: Some(prepared.pid()),
            hears_commands: true,
            on_full: ON_FULL,
        })?;
        debug!("recording pid {} to {} on {}", prepared.pid(), capture.display(), session.socket().display());
        Ok(session)
    }
}

/// What has been checked.
struct Checked {
    target: Target,
    rules_check: Option<RulesCheck>,
    receiver: Option<Pushed>,
    agent: Available,
}

/// Records the command and returns its exit code.
pub(crate) fn execute(arguments: Arguments) -> Outcome {
    let [program, ..] = arguments.command.as_slice() else {
        return Err(Failure::usage(anyhow!("there is no program to record")));
    };
    let Checked { target, rules_check, receiver, agent } = arguments.check(Path::new(program))?;
    for remark in &target.remarks {
        message::warning(remark);
    }
    supervise::start_tracer(true);
    let launch = Launch::new(&target, &arguments.command).map_err(Failure::usage)?;
    let is_sampled = arguments.recording.samples_target();
    let prepared = launch.prepare(is_sampled).context("cannot make a process")?;
    let signals = Signals::catch(&[]).context("cannot receive signals")?;
    if let Err(error) = adopt_orphans() {
        debug!("orphans will not be found: {error}");
    }
    let capture = match &arguments.recording.output {
        Some(path) => path.clone(),
        None => output::default_name(program, prepared.pid()),
    };
    let current = Current::default();
    let begin = |receiver: Pushed| receiver.start(&capture, current.recordings(), &arguments.recording);
    let push = receiver.map(begin).transpose()?;
    let last_interval = push.as_ref().map(Push::last_interval);
    let session = arguments.begin(&prepared, &agent, capture.clone())?;
    let child = match prepared.go(&session.environment(&agent.path)) {
        Ok(child) => child,
        Err(error) => {
            session.discard();
            return Err(exit::not_executed(&program.to_string_lossy(), error));
        }
    };
    let supervision = supervise::Options {
        wait_children: arguments.wait_children,
        follow: arguments.follows(),
        end: arguments.duration.map(|duration| Instant::now() + duration),
    };
    let quiet = arguments.recording.quiet;
    current.set(Some(session.requests()));
    let watch = arguments.alarms.watch(current.recordings(), &arguments.recording)?;
    let supervised = supervise::until_end(child, &session, &signals, Progress::new(quiet), &supervision)?;
    let failed = watch.is_some_and(Watch::end);
    current.set(None);
    let (code, finished, is_told) = match supervised {
        Supervised::Ended { status, unrecorded } => {
            let code = exit::of_target(status);
            let key = session.output().to_owned();
            let finished = supervise::finish(session, signals, unrecorded, code, quiet);
            if let (Some(last_interval), Ok(finished)) = (last_interval, &finished) {
                last_interval.make(&key, &finished.path);
            }
            (code, finished, false)
        }
        Supervised::GoesOn => {
            // With rules, the result is reported once it is known how the target ended.
            let finishing = Finishing::start(session, last_interval, rules_check.is_none(), quiet)?;
            let code = exit::of_target(supervise::until_gone(child, &signals, &supervision)?);
            (code, finishing.wait(&signals, code), rules_check.is_none())
        }
    };
    let concluded = conclude(finished, rules_check.as_ref(), code, quiet || is_told)?;
    drop(push);
    let is_success = concluded == ExitCode::SUCCESS;
    Ok(if failed && is_success { ExitCode::from(exit::FAILED) } else { concluded })
}

/// Reports the result. The exit code is the target's, unless the recording has failed or a rule is broken.
fn conclude(
    finished: Result<Finished, Error>,
    rules_check: Option<&RulesCheck>,
    code: u8,
    quiet: bool,
) -> Outcome {
    match (finished, rules_check) {
        (Ok(finished), Some(rules_check)) => rules_check.apply(&finished, code, quiet),
        (Ok(finished), None) => {
            opened_capture::after_recording(&finished, quiet);
            Ok(ExitCode::from(code))
        }
        (Err(error), _) if code == 0 => Err(Failure::new(exit::NOT_RECORDED, error)),
        (Err(error), _) => Err(Failure::new(code, error)),
    }
}
