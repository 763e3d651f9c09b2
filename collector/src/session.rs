//! One recording from its start to the finished capture.
//!
//! Each part is a thread with what is needed to stop it. They stop in the order of this table, each once those have that it takes from:
//!
//! | part | takes | leaves |
//! |---|---|---|
//! | [`Ear`] | commands | nothing |
//! | [`Counters`] | numbers in `/proc` | nothing |
//! | [`Sampling`] | the kernel's rings | [`Sampled`](crate::perf::Sampled): all samples are with the writer |
//! | [`Listener`] | agents | [`Closed`](crate::listener::Closed): nobody new writes |
//! | [`Draining`] | rings | `Emptied`: their records are with the writer |
//! | [`Scanning`] | processes at their ends, from draining | `Scanned`: what was found is with the writer |
//! | [`Writing`] | all that is with it | `Whole`: a capture without an end |
//! | [`Watching`] | questions of the listener, draining and requests | nothing |
//! | [`Conclusion`] | that capture, and what the others have left | [`Finished`] |
//! | [`Distilling`] | the finished capture | what is kept in its place |
//!
//! A part that must wait for another one asks for what that leaves, so another order does not compile ([`Session::stop`]).

mod conclusion;
mod distilling;
mod draining;
mod exits;
mod listening;
mod output;
mod sampling;
mod scanning;
mod watching;
mod writing;

pub use output::cannot_create;

use crate::attach::{self, Manner, Refusal};
use crate::clock::Clock;
use crate::commands::{Ear, Obey};
use crate::counters::Counters;
use crate::distil;
use crate::drain::Drain;
use crate::launch::Environment;
use crate::listener::{Detached, Listener, Outlet};
use crate::orders;
use crate::perf::Traces;
use crate::queue::queue;
use crate::requests::{Keeps, Requests};
use crate::scheduling;
use crate::sleeper::Bell;
use crate::triggers::Lookout;
use crate::writing::Inputs;
use crate::{Error, NameSearch, Options};
use conclusion::{Conclusion, Left};
use distilling::Distilling;
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
    /// Hears commands, when it is to.
    ear: Option<Ear>,
    counting: Counters,
    sampling: Sampling,
    listener: Listener,
    draining: Draining,
    scanning: Scanning,
    writing: Writing,
    watching: Watching,
    conclusion: Conclusion,
    distilling: Distilling,
    exits: Exits,
    /// Where wishes go.
    requests: Requests,
}

/// How a recording goes, for the progress line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events so far.
    pub events: u64,
    /// Bytes in live blocks, when [`Options::live`] was asked for.
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
    /// The file.
    pub path: PathBuf,
    /// Events lost.
    pub lost: u64,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// Why the processors were not sampled, or page faults not recorded, although they were to be, and what to do about it.
    pub unsampled: Vec<String>,
}

impl Session {
    /// Creates the capture and listens for agents.
    ///
    /// # Errors
    /// When the capture or the socket cannot be made.
    pub fn start(options: Options) -> Result<Session, Error> {
        let clock = Clock::start();
        let traces = Traces::locate(&options.traces).map_err(Error::Trace)?;
        let keeps = Keeps::of(&options);
        let is_sampled = options.sample_interval != 0;
        // Or processes would wait for nothing.
        let scan_at_exit = options.scan_at_exit && keeps.may_scan(is_sampled).is_ok();

        let (watcher, watching) = Watching::start(clock)?;
        let (to_drain, images) = mpsc::channel();
        let bell = Arc::new(Bell::default());
        let outlet = Outlet { images: to_drain, bell: bell.clone(), watcher: watcher.clone() };
        let listener = listening::start(&options, clock, scan_at_exit, outlet)?;
        // Not before that was possible: a file that is replaced does not come back.
        let pipeline = output::begin(&options, clock)?;
        let subjects = pipeline.processes.subjects.clone();
        let (sampling, samples) = Sampling::start(&options, traces, clock, subjects.clone());
        let (batches, queue) = queue(bell.clone());
        let (exit_scans, parting) = scan_at_exit.then(mpsc::channel).unzip();
        let shared = Arc::default();
        let draining = Draining::start(Drain { images, watcher, batches, bell, shared, clock, exit_scans })?;
        let (orders, given) = mpsc::channel();
        let orders = orders::Sender { orders, writer: queue.caller() };
        let (counting, readings) = Counters::start(clock, subjects).map_err(no_thread)?;
        let inputs = Inputs {
            queue,
            samples,
            readings,
            orders: given,
            lookout: Lookout::new(options.triggers),
            flush_every: options.flush_every,
        };
        let writing = Writing::start(options.output.clone(), pipeline, inputs)?;
        let requests = Requests {
            path: options.output.clone(),
            keeps,
            is_sampled,
            clock,
            orders,
            host: listener.host(),
            shared: draining.shared().clone(),
            scanning: Arc::default(),
        };
        let scanning = Scanning::start(parting, &requests, &writing.written)?;
        let ear = options.hears_commands.then(|| Ear::open(obey(requests.clone()))).transpose();
        Ok(Session {
            ear: ear.map_err(|source| Error::System { what: "listen for commands", source })?,
            counting,
            sampling,
            listener,
            draining,
            scanning,
            writing,
            watching,
            conclusion: Conclusion::of(&options),
            distilling: Distilling::of(options.passing),
            exits: Exits::default(),
            requests,
        })
    }

    /// Has the capture distilled that goes into [`Options::passing`]: what comes of it is kept in its place.
    ///
    /// # Errors
    /// When there is no such capture, or no thread can be started.
    pub fn distil(&mut self, begin: distil::Begin) -> Result<(), Error> {
        self.distilling.start(begin, self.writing.written.clone())
    }

    /// Where agents connect: the value of `SYSPROF_MEMPROF_SOCKET`.
    pub fn socket(&self) -> &Path {
        self.listener.name()
    }

    /// The variables for a program that is to be recorded here from its start, by this agent.
    pub fn environment(&self, agent: &Path) -> Environment {
        Environment::new(agent, self.listener.name(), self.listener.key())
    }

    /// Has a process recorded that runs already and has the agent preloaded. It is called until it answers, at its next
    /// allocation or free or before that, as the `manner` says, or `patience` is at its end.
    ///
    /// # Errors
    /// Why it is not recorded.
    pub fn attach(&self, pid: u32, patience: Duration, manner: Manner) -> Result<(), Refusal> {
        let host = self.listener.host();
        let image = attach::call(&host, pid, patience, manner)?;
        host.take_in(image, pid);
        Ok(())
    }

    /// Ends the recording of one process, which goes on unrecorded from its next allocation or free; false when it is
    /// not recorded here.
    pub fn detach(&self, pid: u32) -> bool {
        self.listener.host().close(pid) == Detached::Done
    }

    /// Ends the recording of all processes, which go on unrecorded, and takes no commands any more: another session may
    /// begin, while this one is finished. Gives the processes that were recorded.
    pub fn close(&mut self) -> Vec<u32> {
        self.ear = None;
        let processes = self.counting.subjects();
        self.listener.host().close_all();
        processes
    }

    /// True while any process is recorded here.
    pub fn is_recording(&self) -> bool {
        self.listener.host().is_recording()
    }

    /// Where to turn for what takes its time.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// True when this process is recorded here: one that was attached to or has connected, or one that it has forked.
    pub fn records(&self, pid: u32) -> bool {
        self.requests.host.knows(pid)
    }

    /// The capture that is written.
    pub fn output(&self) -> &Path {
        self.requests.output()
    }

    /// How it goes.
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

    /// Why nothing is recorded any more, told once: the capture cannot be written, as on a full disk. What is recorded goes on.
    pub fn failure(&self) -> Option<String> {
        self.writing.failure.take()
    }

    /// What can be read as long as a failure was not told.
    pub fn failure_alarm(&self) -> BorrowedFd<'_> {
        self.writing.failure.as_fd()
    }

    /// Tells how a process has ended that the caller started or waited for, just now: from then on its pid may be another's.
    pub fn note_exit(&self, pid: u32, status: ExitStatus) {
        self.exits.note(pid, self.requests.clock.now(), status);
    }

    /// Ends the recording and finishes the capture. `unrecorded` names the processes that go on unrecorded. When
    /// `search` is given up, the capture is written without the names that are still missing.
    ///
    /// # Errors
    /// When the capture could not be written.
    pub fn stop(self, search: Arc<NameSearch>, unrecorded: Vec<String>) -> Result<Finished, Error> {
        drop((self.ear, self.requests, self.counting));
        let sampled = self.sampling.stop();
        let closed = self.listener.stop();
        let emptied = self.draining.stop(&closed);
        let scanned = self.scanning.stop(&emptied);
        let whole = self.writing.stop(emptied, &scanned, &sampled);
        let finished = whole.and_then(|whole| {
            self.watching.stop(&whole);
            let left = Left { sampled, closed, scanned, exits: self.exits, unrecorded };
            self.conclusion.write(whole, left, &search)
        });
        self.distilling.stop(finished)
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

/// Has commands obeyed as requests.
fn obey(requests: Requests) -> Obey {
    Arc::new(move |words: &[OsString]| requests.obey(words))
}
