//! Requests to a running recording: from this process, and from others through [`super::commands`].

use super::commands::Answer;
use crate::accept::listener::{Detached, Host};
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::base::options::Options;
use crate::drain::Shared;
use crate::image::exit_scan::{ExitScan, Place};
use crate::ptrace::refusal::Refusal;
use crate::scan::{Scanned, scan};
use crate::writer::live_heap::LiveHeap;
use crate::writer::pipeline::MarkRequest;
use crate::writer::snapshot::{self, Taken};
use crate::writer::tasks::{self, LiveHeapRequest, Task};
use crate::writer::written::Written;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Why there is nothing to copy or to follow.
const NOTHING_KEPT: &str = "this recording keeps nothing here: it is only shown by top, or sent elsewhere. Keep a capture with \
    --output FILE";

/// What is kept of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    All,
    /// An aggregated capture, with snapshots inside it.
    Totals,
    /// All events, but elsewhere.
    Elsewhere,
    Nothing,
}

/// Why a scan would be useless in these recordings.
const TOTALS_ONLY: &str = "this recording is aggregated and has no individual blocks, so it cannot be scanned. \
    Record without --aggregate";
const SAMPLES_ONLY: &str = "this recording is sampled: a block may be kept by one that is unknown, so it cannot be scanned. \
    Record without --sample";

impl Keeps {
    /// What is kept of a recording with these options.
    pub(crate) fn of(options: &Options) -> Keeps {
        match (&options.passing, options.aggregates) {
            (None, _) => Keeps::All,
            (Some(_), true) => Keeps::Totals,
            (Some(_), false) if options.sends => Keeps::Elsewhere,
            (Some(_), false) => Keeps::Nothing,
        }
    }

    fn is_nothing_here(self) -> bool {
        matches!(self, Keeps::Elsewhere | Keeps::Nothing)
    }

    /// Why a scan would be useless, or have no reader.
    pub(crate) fn may_scan(self, is_sampled: bool) -> Result<(), &'static str> {
        match self {
            Keeps::Nothing => Err(NOTHING_KEPT),
            Keeps::Totals => Err(TOTALS_ONLY),
            Keeps::All | Keeps::Elsewhere if is_sampled => Err(SAMPLES_ONLY),
            Keeps::All | Keeps::Elsewhere => Ok(()),
        }
    }
}

/// Why a scan is lost.
const OVER: &str = "the recording ended before the scan was written";

/// A scan on its way into the capture.
#[derive(Debug)]
pub(crate) struct Unwritten {
    pid: u32,
    /// Number of pointers found.
    pub(crate) pointers: u64,
    summary: String,
    answer: mpsc::Receiver<bool>,
}

impl Unwritten {
    /// `answer` delivers whether the writer knows the process, and closes when the writer ends.
    pub(crate) fn new(pid: u32, pointers: u64, summary: String, answer: mpsc::Receiver<bool>) -> Unwritten {
        Unwritten { pid, pointers, summary, answer }
    }

    /// Waits until the scan is written.
    pub(crate) fn wait(self) -> Answer {
        self.answer_of(self.answer.recv().ok())
    }

    /// Waits for this long at most; `None` if the scan is not written yet.
    pub(crate) fn done_within(&self, timeout: Duration) -> Option<Answer> {
        match self.answer.recv_timeout(timeout) {
            Ok(is_known) => Some(self.answer_of(Some(is_known))),
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(self.answer_of(None)),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
        }
    }

    fn answer_of(&self, is_known: Option<bool>) -> Answer {
        match is_known {
            Some(true) => Ok(self.summary.clone()),
            Some(false) => {
                Err(format!("process {} has recorded nothing yet that could be scanned", self.pid))
            }
            None => Err(OVER.to_string()),
        }
    }
}

/// Handle for requests, which go to the writer's thread or to the host of agents. They may take long and do not need
/// the session: that stays free for other use, or may end meanwhile.
#[derive(Clone, Debug)]
pub struct Requests {
    /// The capture.
    pub(crate) path: PathBuf,
    pub(crate) keeps: Keeps,
    /// Only samples of allocations are recorded.
    pub(crate) is_sampled: bool,
    pub(crate) clock: Clock,
    pub(crate) tasks: tasks::Sender,
    pub(crate) host: Arc<Host>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) written: Arc<Written>,
    /// Requested scans run one after the other: two would stop the same threads.
    pub(crate) scanning: Arc<Mutex<()>>,
}

impl Requests {
    /// The capture being written.
    pub fn output(&self) -> &Path {
        &self.path
    }

    /// Bytes that the recorded processes hold, as far as it is written.
    pub fn live_bytes(&self) -> u64 {
        // Relaxed: for display, and for alarms that look again soon.
        self.written.live_bytes.load(Ordering::Relaxed)
    }

    /// The processes that are recorded, but for those that these have forked.
    pub fn pids(&self) -> Vec<u32> {
        self.host.pids()
    }

    /// Marks this moment with a name, for one process or the whole recording; false if there is no thread yet that
    /// could carry the mark.
    ///
    /// # Errors
    /// When nothing is written any more.
    pub fn mark(&self, pid: Option<u32>, name: &str) -> Result<bool, Error> {
        let (done, answer) = mpsc::channel();
        let mark = MarkRequest { pid, name: name.to_owned(), time: self.clock.now() };
        self.give(Task::Mark(mark, done))?;
        answer.recv().map_err(|_| Error::Over)
    }

    /// Writes a complete capture of everything so far to `output` while the recording goes on, and marks the moment
    /// with the file's name, for one process or all of them. In an aggregated recording the mark is all: it makes a
    /// snapshot within that capture.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn snapshot(&self, pid: Option<u32>, output: &Path) -> Result<Taken, Error> {
        let failed = |source| Error::Capture { path: output.to_owned(), source };
        if self.keeps.is_nothing_here() {
            let source = std::io::Error::other(NOTHING_KEPT);
            return Err(failed(capture::Error::Io { action: "write a snapshot".into(), source }));
        }
        // Before the first thread there is nothing that could carry the mark; the snapshot is taken all the same.
        let name = output.file_stem().unwrap_or_default().to_string_lossy();
        self.mark(pid, &name)?;
        if self.keeps == Keeps::Totals {
            return Ok(Taken::Mark(name.into_owned()));
        }
        let (asked, answer) = mpsc::channel();
        self.give(Task::SoFar(self.shared.clone(), asked))?;
        let so_far = answer.recv().map_err(|_| Error::Over)?.map_err(failed)?;
        snapshot::write(&self.path, &so_far, output).map_err(failed)?;
        Ok(Taken::Capture)
    }

    /// What the recorded processes hold and have allocated now. All that happened before is in it if `is_exact`, which
    /// may take a third of a second; otherwise what has come so far.
    ///
    /// # Errors
    /// When nothing is written any more.
    pub fn live_heap(&self, is_exact: bool) -> Result<LiveHeap, Error> {
        let failed = |source| Error::Capture { path: self.path.clone(), source };
        let capture = (self.keeps == Keeps::All).then(|| self.path.clone());
        let time = is_exact.then(|| self.clock.now());
        let (asked, answer) = mpsc::channel();
        self.give(Task::LiveHeap(LiveHeapRequest { shared: self.shared.clone(), time, capture }, asked))?;
        answer.recv().map_err(|_| Error::Over)?.map_err(failed)
    }

    fn give(&self, task: Task) -> Result<(), Error> {
        if self.tasks.send(task) { Ok(()) } else { Err(Error::Over) }
    }

    /// Searches a process's memory for words that are addresses, which stops it for some milliseconds, and writes
    /// them to the capture. Returns a description of what was found.
    ///
    /// # Errors
    /// The reason, as text.
    pub fn scan(&self, pid: u32) -> Answer {
        self.may_scan()?;
        let _alone = self.scanning.lock().unwrap_or_else(PoisonError::into_inner);
        let scanned = scan(pid, self.clock, || ()).map_err(|refusal| cannot(pid, &refusal))?;
        self.write(scanned, None)?.wait()
    }

    /// The same for a process that waits at exit; it continues as soon as only writing remains.
    pub(crate) fn scan_at_end(&self, exit_scan: ExitScan) -> Result<Unwritten, String> {
        self.may_scan()?;
        let place = exit_scan.place();
        let pid = exit_scan.pid(self.clock).ok_or("a process that was about to end is gone")?;
        let scanned =
            scan(pid, self.clock, move || drop(exit_scan)).map_err(|refusal| cannot(pid, &refusal))?;
        self.write(scanned, Some(place))
    }

    /// Why nothing is scanned here.
    fn may_scan(&self) -> Result<(), String> {
        self.keeps.may_scan(self.is_sampled).map_err(str::to_string)
    }

    fn write(&self, scanned: Scanned, at_end: Option<Place>) -> Result<Unwritten, String> {
        let (done, answer) = mpsc::channel();
        let (pid, pointers, summary) = (scanned.pid, scanned.found.count(), scanned.summary());
        match self.tasks.send(Task::Scan(Box::new(scanned), at_end, done)) {
            true => Ok(Unwritten::new(pid, pointers, summary, answer)),
            false => Err(OVER.to_string()),
        }
    }

    /// Executes a command, in a thread that nobody else waits for.
    pub(crate) fn execute(&self, words: &[OsString]) -> Answer {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        match words.as_slice() {
            ["detach", pid] => match pid.parse().map_or(Detached::Unknown, |pid| self.host.close(pid)) {
                Detached::Done => Ok(format!("process {pid} continues unrecorded")),
                Detached::Shared { with } => Err(format!(
                    "process {pid} was forked by process {with} and is recorded with it: end both with \
                     sysprof-memprof detach {with}"
                )),
                Detached::Unknown => Err(unknown(pid)),
            },
            ["snapshot" | "mark", pid, _] | ["capture" | "scan", pid]
                if !pid.parse().is_ok_and(|pid| self.host.knows(pid)) =>
            {
                Err(unknown(pid))
            }
            ["snapshot" | "capture", _, ..] if self.keeps.is_nothing_here() => Err(NOTHING_KEPT.to_string()),
            ["capture", _] => Ok(std::path::absolute(&self.path)
                .unwrap_or_else(|_| self.path.clone())
                .display()
                .to_string()),
            ["snapshot", pid, output] => match self.snapshot(pid.parse().ok(), Path::new(output)) {
                Ok(taken) => Ok(taken.message(output)),
                Err(error) => Err(error.to_string()),
            },
            ["mark", pid, name] => match self.mark(pid.parse().ok(), name) {
                Ok(true) => Ok(format!("marked {name}")),
                Ok(false) => Err(format!("process {pid} has recorded nothing yet that could be marked")),
                Err(error) => Err(error.to_string()),
            },
            ["scan", pid] => self.scan(pid.parse().unwrap_or(0)),
            _ => Err("this collector does not know that command".to_string()),
        }
    }
}

fn unknown(pid: &str) -> String {
    format!("process {pid} is not recorded by this collector")
}

fn cannot(pid: u32, refusal: &Refusal) -> String {
    format!("process {pid} cannot be scanned: {refusal}")
}
