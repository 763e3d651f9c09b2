//! Watches over a recording until it may end, and ends it.
//!
//! Who receives a signal, and what it does:
//!
//! | signal | while the target runs | while names are looked up | during the summary |
//! |---|---|---|---|
//! | INT, QUIT from the terminal | the target has it already | written without the missing names | ends the summary |
//! | INT, QUIT from a process | passed on | written without the missing names | ends the summary |
//! | USR1 | a snapshot is written | nothing | nothing |
//! | TERM, HUP | passed on | written without the missing names | ends the summary |
//!
//! If the capture is not written 3 seconds after the search for names was given up, the recording is waiting for a
//! receiver, perhaps for ever: the next signal abandons it.

use super::name_search::{self, Shown};
use super::snapshot;
use crate::exit::NOT_RECORDED;
use crate::log::debug;
use crate::message;
use crate::progress::{PERIOD, Progress};
use analysis::format::counted;
use anyhow::Context;
use collector::attach::launch::{
    Child, Descendant, Origin, Received, Signal, Signals, descendants, has_children, reap,
};
use collector::{Error, Finished, Session};
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks if there is nothing to draw.
const IDLE: Duration = Duration::from_secs(60);
/// Most processes named on the terminal; the capture names them all.
const NAMED: usize = 10;
/// Without the missing names a capture is written within this time, if at all.
pub(super) const STANDSTILL: Duration = Duration::from_secs(3);

/// What ends a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Wait for the last descendant of the target.
    pub(crate) wait_children: bool,
    /// Descendants are recorded, so those that go on unrecorded are worth naming.
    pub(crate) follow: bool,
    /// The recording ends at this time at the latest.
    pub(crate) end: Option<Instant>,
}

/// How the supervision ended.
#[derive(Debug)]
pub(crate) enum Supervised {
    /// The target has ended.
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Processes that go on unrecorded, as `pid name`.
        unrecorded: Vec<String>,
    },
    /// The time is up, and the target goes on.
    GoesOn,
}

/// Starts the process that traces for this one, which must have no other threads and children yet.
pub(crate) fn start_tracer(waits_for_children: bool) {
    if let Err(error) = collector::inject::start_tracer(waits_for_children) {
        debug!("there is no tracer: {error}");
    }
}

/// Waits for the end of the target, and of its descendants if requested.
pub(crate) fn until_end(
    child: Child,
    session: &Session,
    signals: &Signals,
    mut progress: Progress,
    options: &Options,
) -> anyhow::Result<Supervised> {
    let period = if progress.is_wanted() { PERIOD } else { IDLE };
    let mut status = None;
    loop {
        // Before the first signal, too: one that came before signals were caught is lost.
        for ended in reap() {
            debug!("{} ended: {}", ended.pid, ended.status);
            session.note_exit(ended.pid, ended.status, ended.peak_rss);
            if ended.pid == child.pid() {
                status = Some(ended.status);
            }
        }
        let is_up = options.end.is_some_and(|end| Instant::now() >= end);
        if status.is_some() && (is_up || !(options.wait_children && has_children())) {
            break;
        }
        let rest =
            options.end.map_or(period, |end| end.saturating_duration_since(Instant::now()).min(period));
        if rest.is_zero() && status.is_none() {
            progress.clear();
            return Ok(Supervised::GoesOn);
        }
        match signals.next_or(session.failure_alarm(), rest).context("cannot wait for signals")? {
            Some(Received { signal: Signal::Child, .. }) => {}
            Some(Received { signal: Signal::Snapshot, .. }) => snapshot::take(&session.requests()),
            // Once only descendants are left, a signal is meant to end the waiting.
            Some(_) if status.is_some() => break,
            Some(Received { signal: Signal::Interrupt | Signal::Quit, origin: Origin::Terminal }) => {}
            Some(Received { signal, .. }) => {
                debug!("passing {signal:?} on");
                child.signal(signal);
            }
            None => {}
        }
        tell_failure(session, &mut progress);
        progress.show(|| session.progress());
    }
    progress.clear();
    let status = status.ok_or_else(|| io::Error::other("lost track of the target"))?;
    // Orphans become our children: without any, all of /proc has no descendant of ours.
    let wants_names = options.follow && has_children();
    let left = if wants_names { descendants(std::process::id()) } else { Vec::new() };
    name_left_behind(&left);
    let unrecorded = left.iter().map(|process| format!("{} {}", process.pid, process.name)).collect();
    Ok(Supervised::Ended { status, unrecorded })
}

/// Waits for the end of a target that is no longer recorded, and of its descendants if requested. Signals are passed
/// on to it.
pub(crate) fn until_gone(child: Child, signals: &Signals, options: &Options) -> anyhow::Result<ExitStatus> {
    let mut status = None;
    loop {
        match signals.next(IDLE).context("cannot wait for signals")? {
            Some(Received { signal: Signal::Child, .. }) => {
                let ended = reap();
                status =
                    status.or(ended.iter().find(|ended| ended.pid == child.pid()).map(|ended| ended.status));
            }
            Some(Received { signal: Signal::Snapshot, .. }) => {
                message::warning("no snapshot was written: the recording has ended (--duration)");
            }
            Some(_) if status.is_some() => break,
            Some(Received { signal: Signal::Interrupt | Signal::Quit, origin: Origin::Terminal }) | None => {}
            Some(Received { signal, .. }) => child.signal(signal),
        }
        if status.is_some() && !(options.wait_children && has_children()) {
            break;
        }
    }
    status.context("lost track of the target")
}

fn name_left_behind(left: &[Descendant]) {
    if left.is_empty() {
        return;
    }
    let name = |process: &Descendant| format!("{} ({})", process.pid, process.name);
    let mut names: Vec<_> = left.iter().take(NAMED).map(name).collect();
    if left.len() > NAMED {
        names.push("…".to_string());
    }
    message::note(&format!(
        "{} left behind, to go on unrecorded: {}. --wait-children waits for them.",
        counted(left.len() as u64, "process"),
        names.join(", ")
    ));
}

/// True if a signal asks us to end. Signals are held until this is called.
pub(crate) fn is_interrupted(signals: &Signals) -> bool {
    match signals.next(Duration::ZERO) {
        Ok(Some(Received { signal: Signal::Child | Signal::Snapshot, .. }) | None) => false,
        Ok(Some(_)) | Err(_) => true,
    }
}

/// Waits until the user interrupts a recording without a target of its own, until it `is_over`, which is checked
/// twice a second, or until its `end`, if it has one. Returns whether the user interrupted it.
pub(crate) fn until_interrupted(
    session: &Session,
    signals: &Signals,
    mut progress: Progress,
    end: Option<Instant>,
    is_over: impl Fn() -> bool,
) -> io::Result<bool> {
    loop {
        if is_over() {
            progress.clear();
            return Ok(false);
        }
        let rest = end.map(|end| end.saturating_duration_since(Instant::now()));
        match signals.next_or(session.failure_alarm(), rest.map_or(PERIOD, |rest| rest.min(PERIOD)))? {
            Some(Received { signal: Signal::Child, .. }) => {
                reap();
            }
            Some(Received { signal: Signal::Snapshot, .. }) => snapshot::take(&session.requests()),
            Some(received) => {
                debug!("ending: {received:?}");
                progress.clear();
                return Ok(true);
            }
            None => {}
        }
        tell_failure(session, &mut progress);
        progress.show(|| session.progress());
    }
}

/// Reports a failed recording at once: the recorded program may run on for hours.
fn tell_failure(session: &Session, progress: &mut Progress) {
    if let Some(reason) = session.failure() {
        progress.clear();
        message::warning(&format!("recording has stopped, while programs run on: {reason}"));
    }
}

/// Finishes the capture. The first signal ends the search for names; one that comes long after that ends this
/// process; one that comes after the capture is finished ends it with `code`, since only the summary is left to do.
/// Unless `quiet`, a long search shows its progress on a terminal.
pub(crate) fn finish(
    session: Session,
    signals: Signals,
    unrecorded: Vec<String>,
    code: u8,
    quiet: bool,
) -> Result<Finished, Error> {
    // The signal that ended the target is not meant for this part.
    while matches!(signals.next(Duration::ZERO), Ok(Some(_))) {}
    let names = Shown::new(quiet);
    let finished = Arc::new(AtomicBool::new(false));
    {
        let (names, finished) = (names.clone(), Arc::clone(&finished));
        let watch = move || watch(&signals, &names, &finished, code);
        // Never joined: it ends with the process. If it cannot be started, all names are looked up.
        if let Err(error) = std::thread::Builder::new().name("signals".into()).spawn(watch) {
            debug!("nobody hears signals while the recording ends: {error}");
        }
    }
    debug!("ending the recording: {:?}", session.progress());
    let result = session.stop(names.search.clone(), unrecorded);
    names.clear();
    debug!("ended: {result:?}");
    tell_what_is_kept(&result);
    // Release pairs with the Acquire in `watch`: a thread that sees the flag also sees the finished capture.
    finished.store(true, Ordering::Release);
    result
}

/// Says that a capture which could not be completed can be viewed all the same, if it can.
pub(super) fn tell_what_is_kept(result: &Result<Finished, Error>) {
    if let Err(Error::Capture { path, .. }) = result
        && capture::Reader::open(path).is_ok()
    {
        message::note(&format!("What was recorded until then is in {}", path.display()));
    }
}

fn watch(signals: &Signals, names: &Shown, finished: &AtomicBool, code: u8) {
    // Names of a browser, or from debuginfo servers, take a while.
    let mut wait = name_search::DELAY;
    let mut given_up: Option<Instant> = None;
    loop {
        let is_drawn = names.is_wanted();
        match signals.next(if is_drawn { wait } else { IDLE }) {
            Ok(None) if is_drawn => {
                names.draw();
                wait = name_search::PERIOD;
            }
            Ok(None | Some(Received { signal: Signal::Child | Signal::Snapshot, .. })) => {}
            // Acquire pairs with the Release in `finish`.
            Ok(Some(_)) if finished.load(Ordering::Acquire) => std::process::exit(i32::from(code)),
            Ok(Some(_)) if given_up.is_some_and(|then| then.elapsed() > STANDSTILL) => {
                message::warning("the capture cannot be finished, and stays as it is");
                std::process::exit(i32::from(if code == 0 { NOT_RECORDED } else { code }));
            }
            Ok(Some(_)) => {
                names.give_up();
                given_up.get_or_insert_with(Instant::now);
            }
            Err(_) => return,
        }
    }
}
