//! `daemon`: records processes on request, one capture each; `daemon start` and `daemon stop` make the requests.
//!
//! ```text
//!   start 4711 ──► its thread ──► a session of its own, attached ──► FOLDER/service.4711.memprof
//!   stop 4711 ───► its thread ──► the session is taken out ──► a thread finishes its capture
//!   main ──────── signals; once a second, sessions whose process is gone are finished in the same way
//! ```
//!
//! Each request has a thread of its own. What may take long, such as calling a process, a snapshot or a scan, is done
//! without holding the lock, so only requests for a process that is being called have to wait for it.
//!
//! While nothing is recorded there are no sessions: only two waiting threads, and no descriptors.

use super::alarm::{AlarmOptions, Watch};
use super::http::HttpOptions;
use super::parts::{Limits, Series};
use super::process_selector::{self, ProcessSelector, process_selector};
use super::push::{LastInterval, PushOptions};
use super::recording_options::{Kind, RecordingOptions};
use super::snapshot::by_time;
use super::supervise;
use crate::exit::{self, FAILED, Failure, Outcome};
use crate::log::debug;
use crate::{message, output};
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use collector::Session;
use collector::attach::launch::{Received, Signal, Signals, lift_limits};
use collector::attach::{CallMode, make_doorbell};
use collector::control::commands::{Answer, ControlSocket, ask_daemon};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to look for processes that are gone.
const ROUND: Duration = Duration::from_secs(1);
/// How long to wait for a process that does not answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of that passes before it is made to answer, if that is permitted.
const UNDISTURBED: Duration = Duration::from_secs(1);

/// Record processes on demand, one capture each
///
/// Takes commands from the same user and from root: `daemon start`, `daemon stop`, `mark`, `snapshot`, `detach`. SIGUSR1 writes a
/// snapshot of every recording; SIGTERM and ^C finish them all. Processes run on, whatever happens to the daemon.
#[derive(Args, Debug)]
#[command(mut_arg("output", |output| output.hide(true)))]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  sysprof-memprof daemon &
  sysprof-memprof daemon start 4711
  sysprof-memprof snapshot 4711 before.memprof
  sysprof-memprof daemon stop 4711
  # Metrics and profiles of all recordings
  sysprof-memprof daemon --folder /var/lib/memprof --http 127.0.0.1:9464")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    request: Option<Request>,
    /// Folder for captures, which are named by program, pid and time
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
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

/// What to ask the daemon that runs.
#[derive(Debug, Subcommand)]
enum Request {
    Start(Start),
    Stop(Stop),
}

/// Make the daemon record running processes
#[derive(Args, Debug)]
struct Start {
    /// Processes: pids, or names, each for all running processes of that name
    #[arg(required = true, value_name = "PID|NAME", value_parser = process_selector)]
    processes: Vec<ProcessSelector>,
}

/// Make the daemon end recordings and finish their captures
#[derive(Args, Debug)]
struct Stop {
    /// Processes: pids, or names, each for all recorded processes of that name
    #[arg(required = true, value_name = "PID|NAME", value_parser = process_selector)]
    processes: Vec<ProcessSelector>,
}

/// Serves until it is told to end, or makes a request.
pub(crate) fn execute(arguments: Arguments) -> Outcome {
    match &arguments.request {
        Some(Request::Start(start)) => tell("start", &process_selector::all(&start.processes)?),
        Some(Request::Stop(stop)) => tell("stop", &process_selector::all_to_stop(&stop.processes)?),
        None => serve(arguments),
    }
}

fn serve(arguments: Arguments) -> Outcome {
    if arguments.recording.output.is_some() {
        return Err(Failure::usage(anyhow!(
            "the daemon writes one capture per process: give --folder instead of --output"
        )));
    }
    let bound = arguments.http.bind()?;
    let receiver = arguments.push.check(&arguments.recording)?;
    let folder = std::path::absolute(&arguments.folder).context("cannot name the folder")?;
    output::check(&folder.join("capture.memprof"), true)?;
    lift_limits();
    supervise::start_tracer(false);
    // Must precede the first thread, which inherits the signal mask.
    let signals = Signals::catch(&[Signal::Interrupt]).context("cannot receive signals")?;
    if let Err(error) = make_doorbell() {
        message::warning(&format!(
            "cannot make the doorbell: {error}. Programs that start now cannot be attached to"
        ));
    }
    let Arguments { limits, recording, .. } = arguments;
    let requests = Arc::new(Requests {
        folder,
        limits,
        recording,
        last_interval: OnceLock::new(),
        held: Mutex::default(),
        changed: Condvar::new(),
    });
    let push = receiver.map(|receiver| {
        let of_push = requests.clone();
        let capture = requests.folder.join("daemon");
        receiver.start(&capture, Box::new(move || of_push.all()), &requests.recording)
    });
    let push = push.transpose()?;
    if let Some(push) = &push {
        let _ = requests.last_interval.set(push.last_interval());
    }
    let sockets = [ControlSocket::open_as_daemon, ControlSocket::open].map(|open| {
        let requests = requests.clone();
        open(Arc::new(move |words: &[OsString]| requests.answer(words)))
    });
    let [named, numbered] = sockets;
    let named = named
        .map_err(|error| Failure::usage(anyhow!(error).context("is there another daemon of this user?")))?;
    let numbered = numbered.context("cannot listen for commands")?;
    let of_server = requests.clone();
    let server =
        bound.map(|bound| bound.serve(Box::new(move || of_server.all()), &requests.recording)).transpose()?;
    let of_alarms = requests.clone();
    let watch = arguments.alarms.watch(Box::new(move || of_alarms.all()), &requests.recording)?;
    message::plain(&format!("Recording to {} on demand, until ^C.", requests.folder.display()));
    loop {
        match signals.next(ROUND).context("cannot wait for signals")? {
            Some(Received { signal: Signal::Snapshot, .. }) => requests.snapshot_all(),
            None | Some(Received { signal: Signal::Child, .. }) => requests.look_after_all(),
            Some(received) => {
                debug!("ending: {received:?}");
                break;
            }
        }
    }
    // No requests come in any more once the last captures are finished.
    drop((named, numbered, server));
    let is_alarmed = watch.is_some_and(Watch::end);
    requests.finish_all();
    drop(push);
    Ok(if is_alarmed { FAILED.into() } else { ExitCode::SUCCESS })
}

fn tell(command: &str, pids: &[u32]) -> Outcome {
    exit::of_all(pids.iter().map(|pid| {
        let answer = ask_daemon([command, &pid.to_string()]);
        message::plain(&answer.map_err(|error| Failure::new(FAILED, error))?);
        Ok(())
    }))
}

/// The daemon's state, shared by the threads of requests and the main thread.
struct Requests {
    folder: PathBuf,
    limits: Limits,
    recording: RecordingOptions,
    /// What pushes the end of a recording, if anything is pushed.
    last_interval: OnceLock<LastInterval>,
    /// Only ever locked for moments.
    held: Mutex<Held>,
    /// Notified when the state of a process changes.
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    /// By the process that they record.
    sessions: BTreeMap<u32, (Session, Series)>,
    /// Processes whose recordings are just beginning, or moving on to another capture.
    changing: BTreeSet<u32>,
    /// Threads that are finishing captures.
    finishing: Vec<JoinHandle<()>>,
}

impl Requests {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks once no change to this process is under way: the second of two requests for the same process sees the
    /// result of the first.
    fn held_about(&self, pid: u32) -> MutexGuard<'_, Held> {
        let is_changing = |held: &mut Held| held.changing.contains(&pid);
        self.changed.wait_while(self.held(), is_changing).unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a change: the process is recorded now, or is not.
    fn change(&self, pid: u32, recording: Option<(Session, Series)>) {
        let mut held = self.held();
        held.changing.remove(&pid);
        held.sessions.extend(recording.map(|recording| (pid, recording)));
        drop(held);
        self.changed.notify_all();
    }

    fn answer(&self, words: &[OsString]) -> Answer {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let [command, pid, rest @ ..] = words.as_slice() else {
            return Err("a command names a process".to_string());
        };
        let pid: u32 = pid.parse().map_err(|_| format!("{pid} is no process"))?;
        match (*command, rest) {
            ("start", []) => self.start(pid),
            ("stop" | "detach", []) => self.stop(pid),
            ("snapshot", [file]) => self.snapshot(pid, Path::new(file)),
            ("mark", [name]) => self.mark(pid, name),
            ("scan", []) => self.scan(pid),
            ("capture", []) => self.capture(pid),
            _ => Err(format!("the daemon does not know the command {command}")),
        }
    }

    fn start(&self, pid: u32) -> Answer {
        let mut held = self.held_about(pid);
        if held.sessions.contains_key(&pid) {
            return Err(format!("process {pid} is already recorded"));
        }
        held.changing.insert(pid);
        drop(held);
        let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let name = executable.file_name().unwrap_or(OsStr::new("process")).to_string_lossy();
        let plain = self.folder.join(format!("{}.{pid}.memprof", name.trim_end_matches(" (deleted)")));
        let capture = output::unused(by_time(&plain, Timestamp::now()));
        let (session, why) = match self.begin(&capture, &[pid]) {
            Ok(session) => (Some(session), String::new()),
            Err(why) => (None, why),
        };
        let is_recorded = session.is_some();
        self.change(pid, session.map(|session| (session, self.series(&capture))));
        if is_recorded { Ok(format!("recording process {pid} to {}", capture.display())) } else { Err(why) }
    }

    fn series(&self, capture: &Path) -> Series {
        Series::new(self.limits, capture, self.last_interval.get().cloned())
    }

    /// Begins a recording of those processes that can be recorded; if there are none, returns the last one's error.
    fn begin(&self, capture: &Path, pids: &[u32]) -> Result<Session, String> {
        let session = self.recording.start(Kind::of_services(capture.to_owned()));
        let session = session.map_err(|failure| failure.to_text())?;
        // A process that calls the allocator now and then is not disturbed.
        let attach = |pid: &u32| match session.attach(*pid, UNDISTURBED, CallMode::Passive) {
            Err(refusal) if refusal.may_pass() => session.attach(*pid, TIMEOUT, CallMode::Wake),
            called => called,
        };
        let refusals: Vec<_> = pids.iter().filter_map(|pid| attach(pid).err()).collect();
        match refusals.last() {
            Some(refusal) if refusals.len() == pids.len() => {
                session.discard();
                Err(refusal.to_string())
            }
            _ => match session.keep() {
                Ok(()) => Ok(session),
                Err(error) => {
                    session.discard();
                    Err(error.to_string())
                }
            },
        }
    }

    fn stop(&self, pid: u32) -> Answer {
        let mut held = self.held_about(pid);
        let (session, series) = held.sessions.remove(&pid).ok_or_else(|| not_recorded(pid))?;
        let capture = session.output().display().to_string();
        held.finish(session, series);
        Ok(format!("process {pid} continues unrecorded; {capture} will be complete in a moment"))
    }

    fn snapshot(&self, pid: u32, file: &Path) -> Answer {
        let taken = self.of(pid)?.snapshot(None, file).map_err(|error| error.to_string())?;
        Ok(taken.message(&file.display().to_string()))
    }

    fn mark(&self, pid: u32, name: &str) -> Answer {
        match self.of(pid)?.mark(Some(pid), name).map_err(|error| error.to_string())? {
            true => Ok(format!("marked {name}")),
            false => Err(format!("process {pid} has recorded nothing yet that could be marked")),
        }
    }

    fn scan(&self, pid: u32) -> Answer {
        self.of(pid)?.scan(pid)
    }

    /// The handle for slow requests to a process's recording.
    fn of(&self, pid: u32) -> Result<collector::Requests, String> {
        self.held_about(pid).session_of(pid).map(Session::requests)
    }

    /// The capture of a process's recording, for readers that follow it.
    fn capture(&self, pid: u32) -> Answer {
        let held = self.held_about(pid);
        let (session, _) = held.sessions.get(&pid).ok_or_else(|| not_recorded(pid))?;
        let path = std::path::absolute(session.output()).map_err(|error| error.to_string())?;
        Ok(path.display().to_string())
    }

    /// The handles of all recordings.
    fn all(&self) -> Vec<collector::Requests> {
        self.held().sessions.values().map(|(session, _)| session.requests()).collect()
    }

    fn snapshot_all(&self) {
        self.all().iter().for_each(super::snapshot::take);
    }

    /// Finishes captures whose processes are gone, and continues in new ones where a capture is full.
    fn look_after_all(&self) {
        let mut held = self.held();
        let gone = |_: &u32, (session, _): &mut (Session, Series)| !session.is_recording();
        let gone: Vec<_> = held.sessions.extract_if(.., gone).collect();
        gone.into_iter().for_each(|(_, (session, series))| held.finish(session, series));
        held.finishing.retain(|thread| !thread.is_finished());
        let full = |_: &u32, (session, series): &mut (Session, Series)| series.is_full(session);
        let full: Vec<_> = held.sessions.extract_if(.., full).collect();
        held.changing.extend(full.iter().map(|(pid, _)| pid));
        drop(held);
        for (pid, (session, mut series)) in full {
            let (processes, next) = series.turn(session);
            match self.begin(&next, &processes) {
                Ok(session) => self.change(pid, Some((session, series))),
                Err(why) => {
                    message::warning(&format!("process {pid} is not recorded any more: {why}"));
                    self.held().finishing.extend(series.into_threads());
                    self.change(pid, None);
                }
            }
        }
    }

    fn finish_all(&self) {
        let mut held = self.held();
        let sessions = std::mem::take(&mut held.sessions);
        sessions.into_values().for_each(|(session, series)| held.finish(session, series));
        for thread in std::mem::take(&mut held.finishing) {
            // A failing thread has reported its error.
            let _ = thread.join();
        }
    }
}

impl Held {
    /// The recording of a process: the one begun for it, or one that includes it because it was followed.
    fn session_of(&self, pid: u32) -> Result<&Session, String> {
        let begun = self.sessions.get(&pid).map(|(session, _)| session);
        let mut sessions = self.sessions.values().map(|(session, _)| session);
        begun.or_else(|| sessions.find(|session| session.records(pid))).ok_or_else(|| not_recorded(pid))
    }

    /// Finishes a recording in a thread of its own.
    fn finish(&mut self, session: Session, series: Series) {
        self.finishing.push(series.finish(session));
        self.finishing.extend(series.into_threads());
    }
}

fn not_recorded(pid: u32) -> String {
    format!("process {pid} is not recorded by this daemon")
}
