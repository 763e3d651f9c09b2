//! One recording from its start to the finished capture.
//!
//! Each part is a thread together with whatever is needed to stop it. They stop in the order of this table, each
//! after the parts it takes its input from:
//!
//! | part | takes | leaves |
//! |---|---|---|
//! | [`ControlSocket`] | commands | nothing |
//! | [`Counters`] | numbers in `/proc` | nothing |
//! | [`Sampling`] | the kernel's rings | [`Sampled`](crate::cpu::sampled::Sampled): all samples are with the writer |
//! | [`Listener`] | agents | [`Closed`](crate::accept::listener::Closed): no new process can write |
//! | [`Draining`] | rings | `Drained`: their records are with the writer |
//! | [`Scanning`] | exiting processes, from draining | `Scanned`: what was found is with the writer |
//! | [`Writing`] | everything handed to the writer | `Whole`: a capture without an end |
//! | [`Watching`] | requests of the listener, draining and [`Requests`] | nothing |
//! | [`Conclusion`] | that capture, and what the other parts left | [`Finished`] |
//! | [`Aggregating`] | the finished capture | what is kept in its place |
//!
//! A part that must wait for another takes what that one leaves as an argument, so any other order does not compile
//! ([`Session::stop`]).

mod aggregating;
mod conclusion;
mod draining;
mod exits;
mod listening;
mod output;
mod sampling;
mod scanning;
mod watching;
mod writing;

use crate::accept::listener::{Detached, Listener, Outlet};
use crate::attach::launch::Environment;
use crate::attach::{self, CallMode, Refusal};
use crate::base::clock::Clock;
use crate::base::error::{Error, cannot_create};
use crate::base::log::debug;
use crate::base::name_search::NameSearch;
use crate::base::options::Options;
use crate::base::scheduling;
use crate::base::triggers::TriggerMonitor;
use crate::control::commands::{CommandHandler, ControlSocket};
use crate::control::requests::{Keeps, Requests};
use crate::cpu::counters::Counters;
use crate::drain::Drain;
use crate::drain::queue::queue;
use crate::image::wakeup::Wakeup;
use crate::writer::aggregator;
use crate::writer::output_file::OutputFile;
use crate::writer::tasks;
use crate::writer::writing::Inputs;
use aggregating::Aggregating;
use capture::AtomicFile;
use conclusion::{Conclusion, Left};
use draining::Draining;
use exits::Exits;
use rustix::fd::{AsFd, BorrowedFd};
use sampling::Sampling;
use scanning::Scanning;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use watching::Watching;
use writing::Writing;

/// One recording. Agents connect to its socket; everything they record goes to one capture.
#[derive(Debug)]
pub struct Session {
    /// Listens for commands, if they were asked for.
    control: Option<ControlSocket>,
    counting: Counters,
    sampling: Sampling,
    listener: Listener,
    draining: Draining,
    scanning: Scanning,
    writing: Writing,
    watching: Watching,
    conclusion: Conclusion,
    aggregating: Aggregating,
    kept: Arc<OutputFile>,
    /// A program was started to be recorded.
    expects: bool,
    /// Virtual machines are told to name what they compile.
    names_scripts: bool,
    exits: Exits,
    /// Entry point for marks, snapshots and scans.
    requests: Requests,
}

/// State of a recording, for the progress line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events so far.
    pub events: u64,
    /// Bytes in live blocks.
    pub live_bytes: u64,
    /// Events lost so far.
    pub lost: u64,
    /// Bytes of the capture so far.
    pub bytes: u64,
    /// Process images seen.
    pub processes: u32,
    /// Threads seen.
    pub threads: u32,
}

/// A finished capture.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The file, where it is now.
    pub path: PathBuf,
    /// Events lost.
    pub lost: u64,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// Why the processors were not sampled, or page faults not recorded, although that was asked for, and what to do
    /// about it.
    pub unsampled: Vec<String>,
}

impl Session {
    /// Creates the capture and listens for agents. Its file gets its name with [`Session::keep`]; without that, it is
    /// removed in the end.
    ///
    /// # Errors
    /// When the capture or the socket cannot be made.
    pub fn start(options: Options) -> Result<Session, Error> {
        let clock = Clock::start();
        let keeps = Keeps::of(&options);
        let is_sampled = options.sample_interval != 0;
        // Otherwise exiting processes would wait for a scan that never comes.
        let scan_at_exit = options.scan_at_exit && keeps.may_scan(is_sampled).is_ok();

        let (watcher, watching) = Watching::start(clock)?;
        let (to_drain, images) = mpsc::channel();
        let wakeup = Arc::new(Wakeup::default());
        let outlet = Outlet { images: to_drain, wakeup: wakeup.clone(), watcher: watcher.clone() };
        let listener = listening::start(&options, clock, scan_at_exit, outlet)?;
        let (pipeline, kept) = output::begin(&options, clock)?;
        let kept = Arc::new(kept);
        let subjects = pipeline.processes.subjects.clone();
        let (sampling, samples) = Sampling::start(&options, clock, subjects.clone());
        let (batches, queue) = queue(wakeup.clone());
        let (exit_scans, parting) = scan_at_exit.then(mpsc::channel).unzip();
        let shared = Arc::default();
        let draining =
            Draining::start(Drain { images, watcher, batches, wakeup, shared, clock, exit_scans })?;
        let (tasks, given) = mpsc::channel();
        let tasks = tasks::Sender { tasks, writer: queue.caller() };
        let (counting, readings) = Counters::start(clock, subjects).map_err(no_thread)?;
        let inputs = Inputs {
            queue,
            samples,
            readings,
            tasks: given,
            triggers: TriggerMonitor::new(options.triggers),
            kept: (!options.attaches).then(|| kept.clone()),
            flush_every: options.flush_every,
        };
        let writing = Writing::start(options.output.clone(), pipeline, inputs)?;
        let requests = Requests {
            path: options.output.clone(),
            keeps,
            is_sampled,
            clock,
            tasks,
            host: listener.host(),
            shared: draining.shared().clone(),
            written: writing.written.clone(),
            scanning: Arc::default(),
        };
        let scanning = Scanning::start(parting, &requests, &writing.written)?;
        let control = options
            .hears_commands
            .then(|| ControlSocket::open(command_handler(requests.clone())))
            .transpose();
        Ok(Session {
            control: control.map_err(|source| Error::System { what: "listen for commands", source })?,
            counting,
            sampling,
            listener,
            draining,
            scanning,
            writing,
            watching,
            conclusion: Conclusion::of(&options),
            aggregating: Aggregating::of(options.passing),
            kept,
            expects: !options.command.is_empty(),
            names_scripts: options.interpreters,
            exits: Exits::default(),
            requests,
        })
    }

    /// Starts aggregating the capture that goes into [`Options::passing`]; the result is kept in its place, in `file` if
    /// it is not sent away.
    ///
    /// # Errors
    /// When no capture passes through a file, or no thread can be started.
    pub fn aggregate(&mut self, begin: aggregator::Begin, file: Option<AtomicFile>) -> Result<(), Error> {
        file.into_iter().for_each(|file| self.kept.begin(file));
        self.aggregating.start(begin, self.writing.written.clone())
    }

    /// Gives the capture its name, in the place of what is to be replaced: the recording has begun. It has it already
    /// if the first process of a program that was started has connected.
    ///
    /// # Errors
    /// When the name is taken meanwhile, or the folder is gone; what has the name keeps it.
    pub fn keep(&self) -> Result<(), Error> {
        self.kept.name().map_err(|error| cannot_create(self.output(), error))
    }

    /// Where agents connect: the value of `SYSPROF_MEMPROF_SOCKET`.
    pub fn socket(&self) -> &Path {
        self.listener.name()
    }

    /// The variables for a program that is to be recorded here from its start by this agent.
    pub fn environment(&self, agent: &Path) -> Environment {
        Environment::new(agent, self.listener.name(), self.listener.key(), self.names_scripts)
    }

    /// Records a running process that has the agent preloaded. It is called until it answers or `timeout` runs out;
    /// `manner` says whether it answers at its next allocation or free, or is made to answer sooner.
    ///
    /// # Errors
    /// Why it is not recorded.
    pub fn attach(&self, pid: u32, timeout: Duration, manner: CallMode) -> Result<(), Refusal> {
        let host = self.listener.host();
        let image = attach::call(&host, pid, timeout, manner)?;
        host.take_in(image);
        Ok(())
    }

    /// Ends the recording of one process, which runs on unrecorded from its next allocation or free. False when it is
    /// not recorded here.
    pub fn detach(&self, pid: u32) -> bool {
        self.listener.host().close(pid) == Detached::Done
    }

    /// Ends the recording of all processes, which run on unrecorded, and stops taking commands: another session may
    /// begin while this one is being finished. Returns the processes that were recorded.
    pub fn close(&mut self) -> Vec<u32> {
        self.control = None;
        let processes = self.counting.subjects();
        self.listener.host().close_all();
        processes
    }

    /// True while any process is recorded here.
    pub fn is_recording(&self) -> bool {
        self.listener.host().is_recording()
    }

    /// Handle for requests that may take long.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// True when this process is recorded here: it was attached to, has connected, or was forked by one of those.
    pub fn records(&self, pid: u32) -> bool {
        self.requests.host.knows(pid)
    }

    /// The capture that is written.
    pub fn output(&self) -> &Path {
        self.requests.output()
    }

    /// State of the recording.
    pub fn progress(&self) -> Progress {
        let (counts, written) = (&self.draining.shared().counts, &self.writing.written);
        // Relaxed: for display.
        Progress {
            events: counts.events.load(Ordering::Relaxed),
            live_bytes: written.live_bytes.load(Ordering::Relaxed),
            lost: written.lost.load(Ordering::Relaxed),
            bytes: written.kept(),
            processes: written.processes.load(Ordering::Relaxed),
            threads: counts.threads.load(Ordering::Relaxed),
        }
    }

    /// Why nothing is written any more, reported once: the capture cannot be written, as on a full disk. The recorded
    /// processes run on.
    pub fn failure(&self) -> Option<String> {
        self.writing.failure.take()
    }

    /// Readable while there is a failure that was not reported yet.
    pub fn failure_alarm(&self) -> BorrowedFd<'_> {
        self.writing.failure.as_fd()
    }

    /// Notes how a process ended that the caller started or has just waited for, and the most memory that was resident in
    /// it or in those that it has waited for: from now on its pid may be reused.
    pub fn note_exit(&self, pid: u32, status: ExitStatus, peak_rss: Option<u64>) {
        self.exits.note(pid, self.requests.clock.now(), status, peak_rss);
    }

    /// Ends a recording that has failed to begin; a file without its name goes with it.
    pub fn discard(self) {
        self.kept.forget();
        let ended = self.stop(Arc::new(NameSearch::given_up()), Vec::new());
        debug!("nothing is recorded: {ended:?}");
    }

    /// Ends the recording and finishes the capture, which gets its name now if it has none. `unrecorded` names the processes that run on unrecorded. When
    /// `search` is given up, the capture is written without the names still missing.
    ///
    /// # Errors
    /// When the capture could not be written, or a program was to be recorded and nothing of it was.
    pub fn stop(self, search: Arc<NameSearch>, unrecorded: Vec<String>) -> Result<Finished, Error> {
        drop((self.control, self.requests, self.counting));
        let sampled = self.sampling.stop();
        let closed = self.listener.stop();
        let drained = self.draining.stop(&closed);
        let scanned = self.scanning.stop(&drained);
        let whole = self.writing.stop(drained, &scanned, &sampled);
        let mut nobody = None;
        let finished = whole.and_then(|whole| {
            self.watching.stop(&whole);
            if whole.pipeline.processes.count() == 0 {
                nobody = if self.expects { closed.why_nobody() } else { closed.refused() };
            }
            let left = Left { sampled, closed, scanned, exits: self.exits, unrecorded };
            self.conclusion.write(whole, left, &search)
        });
        let finished = self.aggregating.stop(finished).map_err(|error| match error {
            // Nothing of it is kept, and what has its name is something else.
            Error::Capture { path, source: capture::Error::Io { source, .. } } if !self.kept.is_named() => {
                Error::Output { path, source }
            }
            error => error,
        })?;
        if let Some(reason) = nobody {
            return Err(Error::Nobody(reason));
        }
        self.kept.name().map_err(|error| cannot_create(&finished.path, error))?;
        Ok(Finished { path: self.kept.whereabouts(), ..finished })
    }
}

fn no_thread(source: std::io::Error) -> Error {
    Error::System { what: "start a thread", source }
}

fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            scheduling::give_way();
            run()
        })
        .map_err(no_thread)
}

/// Executes commands by way of `requests`.
fn command_handler(requests: Requests) -> CommandHandler {
    Arc::new(move |words: &[OsString]| requests.execute(words))
}
