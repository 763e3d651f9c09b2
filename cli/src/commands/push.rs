//! Profiles of recordings, sent to a receiver while they go on.
//!
//! ```text
//!  recordings ──► Intervals ──► Spool ──► Sender ──► Receiver: Pyroscope, or OTLP
//!                 a thread      a folder   a thread
//! ```
//!
//! The recording waits for neither thread, and the first not for the second: whatever the network does, an interval ends
//! when it should, and lies on disk.

mod address;
mod backoff;
mod intervals;
mod pyroscope;
mod receiver;
mod rejection;
mod sender;
mod spool;
mod upload;

use super::live::{Heaps, Recordings};
use super::recording_options::RecordingOptions;
use super::symbols::in_silence;
use crate::exit::{FAILED, Failure, Outcome};
use crate::stream::Stream;
use crate::{message, values};
use analysis::format::{counted, duration};
use anyhow::{Context, anyhow};
use clap::Args;
use intervals::Intervals;
pub(super) use receiver::ReceiverOptions;
use receiver::{Receiver, Subject};
use sender::{Counts, Sender};
use spool::Spool;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the end of a recording waits for what is left to be sent.
const END: Duration = Duration::from_secs(10);
/// How long a spool is tried to be sent afterwards.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Most bytes of a profile that is found there.
const LARGEST: u64 = 1 << 30;
/// Shortest interval.
const SHORTEST: Duration = Duration::from_millis(100);

/// What is pushed, and where to.
#[derive(Args, Clone, Debug)]
pub(crate) struct PushOptions {
    #[command(flatten)]
    receiver: ReceiverOptions,
    /// Length of an interval
    #[arg(help_heading = "Push", long, value_name = "TIME", default_value = "15s", requires = "push", value_parser = values::duration)]
    push_every: Duration,
    /// Name of the program at the receiver [default: that of the recorded program]
    #[arg(help_heading = "Push", long, value_name = "NAME", requires = "push")]
    push_name: Option<String>,
    /// Folder for profiles that were not accepted yet [default: that of the capture, with .push]
    ///
    /// What an earlier recording has left there is sent first.
    #[arg(help_heading = "Push", long, value_name = "DIR", requires = "push")]
    push_spool: Option<PathBuf>,
    /// Most bytes in that folder: the oldest profiles make room for new ones
    #[arg(help_heading = "Push", long, value_name = "SIZE", default_value = "64M", requires = "push", value_parser = values::size)]
    push_spool_size: usize,
}

/// Sends what a recording has left in a spool: tries for a minute, and removes what is accepted.
pub(super) fn send(folder: &Path, receiver: &ReceiverOptions) -> Outcome {
    let Some(receiver) = receiver.receiver()? else {
        return Err(Failure::usage(anyhow!("say where to: --push URL")));
    };
    if !folder.is_dir() {
        return Err(Failure::usage(anyhow!(
            "{} is no folder: export --push sends profiles that a recording with --push has left. For one of a \
             capture: --format pprof",
            folder.display()
        )));
    }
    let spool = Spool::open(folder, LARGEST, receiver.url()).map_err(Failure::usage)?;
    let url = receiver.url().to_owned();
    let sender = Sender::start(receiver, spool).context("cannot start a thread")?;
    let counts = sender.end(TIMEOUT);
    let Counts { accepted, refused, lost, left } = counts;
    message::plain(&format!("Pushed {} to {url}.", counted(accepted, "profile")));
    Ok(if refused + lost + left > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// A receiver, and how its profiles are made: checked, before anything is recorded.
pub(super) struct Checked {
    options: PushOptions,
    receiver: Receiver,
}

impl PushOptions {
    /// Checks the options, if anything is to be pushed.
    pub(super) fn check(&self, recording: &RecordingOptions) -> Result<Option<Checked>, Failure> {
        let Some(receiver) = self.receiver.receiver()? else { return Ok(None) };
        if recording.is_aggregated()
            || recording.output.as_deref().is_some_and(|path| Stream::of(path).is_some())
        {
            return Err(Failure::usage(anyhow!(
                "--push needs a capture with all events in a file: leave --aggregate out, or name a file with --output"
            )));
        }
        Ok(Some(Checked { options: self.clone(), receiver }))
    }
}

impl Checked {
    /// Pushes these recordings until the result is dropped. What cannot be sent stays beside `capture`, unless the user has
    /// chosen a folder.
    pub(super) fn start(
        self,
        capture: &Path,
        recordings: Recordings,
        recording: &RecordingOptions,
    ) -> Result<Push, Failure> {
        let Checked { options, receiver } = self;
        let every = options.push_every.max(SHORTEST);
        let folder = options.push_spool.unwrap_or_else(|| {
            let mut name = capture.as_os_str().to_owned();
            name.push(".push");
            name.into()
        });
        let spool = Spool::open(&folder, options.push_spool_size as u64, receiver.url());
        let spool = spool.map_err(Failure::usage)?;
        if !recording.quiet {
            let every = duration(every.as_nanos() as u64);
            message::plain(&format!("Pushing a profile every {every} to {}", receiver.url()));
        }
        let sender = Sender::start(receiver.clone(), spool).context("cannot start a thread")?;
        let subject = Subject { name: options.push_name.unwrap_or_default(), labels: recording.labels() };
        let recordings: Arc<dyn Fn() -> Vec<collector::Requests> + Send + Sync> = Arc::from(recordings);
        let of_heaps = recordings.clone();
        let heaps = Heaps::new(Box::new(move || of_heaps()), in_silence(recording.naming()));
        let naming = in_silence(recording.naming_afterwards());
        let intervals = Intervals::new(heaps, naming, subject, receiver, sender.clone());
        let intervals = Arc::new(Mutex::new(intervals));
        let (stop, stopped) = sync_channel::<()>(0);
        let of_thread = intervals.clone();
        let cut = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // Asked for while nobody finishes one: those that have ended are not among them.
                let mut intervals = lock(&of_thread);
                recordings().iter().for_each(|recording| intervals.cut(recording));
            }
        };
        let thread = thread::Builder::new().name("intervals".into()).spawn(cut);
        let thread = thread.context("cannot start a thread")?;
        Ok(Push { intervals, sender, thread: Some((stop, thread)), is_quiet: recording.quiet })
    }
}

/// What is being pushed, until it is dropped, which sends what is left within a bound.
pub(super) struct Push {
    intervals: Arc<Mutex<Intervals>>,
    sender: Sender,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    is_quiet: bool,
}

/// For those who finish captures.
#[derive(Clone)]
pub(super) struct LastInterval(Arc<Mutex<Intervals>>);

impl Push {
    /// What makes the last interval of a recording.
    pub(super) fn last_interval(&self) -> LastInterval {
        LastInterval(self.intervals.clone())
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            let _ = thread.join();
        }
        let counts = self.sender.end(END);
        if !self.is_quiet && counts.accepted > 0 {
            message::plain(&format!("Pushed {}.", counted(counts.accepted, "profile")));
        }
    }
}

impl LastInterval {
    /// Makes it from the finished capture; `key` is where that was while it was written. It is no recording that goes
    /// on any more.
    pub(super) fn make(&self, key: &Path, finished: &Path) {
        lock(&self.0).finish(key, finished);
    }
}

fn lock(intervals: &Mutex<Intervals>) -> MutexGuard<'_, Intervals> {
    intervals.lock().unwrap_or_else(PoisonError::into_inner)
}
