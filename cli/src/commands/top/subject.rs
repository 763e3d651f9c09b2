//! The recording shown by `top`: our own, or another collector's.

use super::super::aggregating::in_memory;
use super::super::attach::capture_of;
use super::super::attacher::{Attacher, take_back};
use super::super::process_selector::{ProcessSelector, Recorded};
use super::super::recording_options::Kind;
use super::super::symbols::in_silence;
use super::super::{opened_capture, supervise};
use super::Arguments;
use crate::exit::{FAILED, Failure};
use crate::log::debug;
use crate::stream::Stream;
use crate::{message, output};
use anyhow::{Context, anyhow};
use capture::Reader;
use collector::attach::launch::Signals;
use collector::attach::make_doorbell;
use collector::inject::Injection;
use collector::{NameSearch, Session};
use engine::live::{By, Live, Order, Reading};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of a recording without a file.
const IN_MEMORY: &str = "the recording in memory";
/// A recorder writes at least once a second; if it has not for this long, and its process is gone, it was killed.
const SILENCE: Duration = Duration::from_secs(5);

/// The process that is shown.
pub(super) struct Subject {
    pid: u32,
    live: Live,
    started: Instant,
    whose: Whose,
    /// How far the capture has been read, and since when it has not grown.
    read: (u64, Instant),
}

/// Who records the process.
enum Whose {
    /// We do, with what is kept: a file, or nothing. The agent may have been injected for it.
    Own { session: Option<Box<Session>>, passing: Option<Arc<File>>, injected: Vec<Injection> },
    /// Another collector does.
    Others { collector: u32 },
}

impl Subject {
    /// Attaches to the process, or follows its existing recording.
    pub(super) fn open(arguments: &Arguments, signals: &Signals) -> Result<Subject, Failure> {
        if let Err(error) = make_doorbell() {
            debug!("there is no doorbell: {error}");
        }
        let pid = arguments.process.one()?;
        match ProcessSelector::Pid(pid).one_recorded() {
            Ok(recorded) => Subject::follow(arguments, recorded),
            Err(_) => Subject::attach(arguments, pid, signals),
        }
    }

    fn new(arguments: &Arguments, pid: u32, reader: Reader<File>, whose: Whose) -> Result<Subject, Failure> {
        let naming = in_silence(arguments.recording.naming());
        let live = Live::new(reader, pid, naming).context("cannot start a thread")?;
        Ok(Subject { pid, live, started: Instant::now(), whose, read: (0, Instant::now()) })
    }

    /// The process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Begins a recording of our own: in memory, unless the user wants to keep it.
    fn attach(arguments: &Arguments, pid: u32, signals: &Signals) -> Result<Subject, Failure> {
        if arguments.recording.is_aggregated() {
            return Err(Failure::usage(anyhow!(
                "top needs events, and --aggregate keeps none: leave it out. Of an aggregated recording \
                 that is already running, top shows the snapshots"
            )));
        }
        let kept = arguments.recording.output.as_deref();
        if kept.is_none() && arguments.recording.scans_at_exit() {
            return Err(Failure::usage(anyhow!(
                "--scan-at-exit needs a capture in which retained can show what it found: name one with \
                 --output"
            )));
        }
        if kept.and_then(Stream::of).is_some() {
            return Err(Failure::usage(anyhow!(
                "top reads the capture that it writes: name a file with --output"
            )));
        }
        let passing = match kept {
            Some(path) => {
                output::check(path, arguments.recording.force)?;
                None
            }
            None => Some(in_memory().context("cannot get memory for the recording")?),
        };
        let mut attacher =
            Attacher::new(arguments.timeout, arguments.recording.quiet, !arguments.no_inject, signals);
        attacher.prepare(&[pid])?;
        let session = arguments.recording.start(Kind {
            passing: passing.clone(),
            is_watched: true,
            hears_commands: true,
            ..Kind::of_services(kept.map_or_else(|| PathBuf::from(IN_MEMORY), Path::to_owned))
        })?;
        if let Err(failure) = attacher.all(&session, &[pid]) {
            session.discard();
            return Err(failure);
        }
        let reader = match &passing {
            Some(file) => Reader::from_source(file.try_clone()?),
            None => Reader::open(session.output()),
        };
        let whose = Whose::Own { session: Some(Box::new(session)), passing, injected: attacher.injected };
        Subject::new(arguments, pid, reader.context("cannot read the recording")?, whose)
    }

    /// Follows another collector's recording, from its beginning.
    fn follow(arguments: &Arguments, recorded: Recorded) -> Result<Subject, Failure> {
        let Recorded { pid, collector } = recorded;
        if arguments.recording.output.is_some() {
            return Err(Failure::usage(anyhow!(
                "process {pid} is already recorded by process {collector}: --output would record it twice. Leave it out, \
                 or end that recording with sysprof-memprof detach {pid}"
            )));
        }
        if arguments.recording.scans_at_exit() {
            return Err(Failure::usage(anyhow!(
                "process {pid} is already recorded by process {collector}, which decides about a scan at \
                 its end: leave --scan-at-exit out, or scan it now with sysprof-memprof scan {pid}"
            )));
        }
        let path = capture_of(collector, pid)?;
        let file = path.display();
        let reader = Reader::open(&path).with_context(|| file.to_string()).map_err(Failure::usage)?;
        if !arguments.recording.quiet {
            message::note(&format!(
                "process {pid} is already recorded by process {collector}: showing {file}"
            ));
        }
        Subject::new(arguments, pid, reader, Whose::Others { collector })
    }

    /// Reads what was recorded since the last time. If the recording is not kept, the part that was read is released.
    pub(super) fn refresh(&mut self) -> Result<(), Failure> {
        let read = self.live.refresh().context("cannot read the recording").map_err(Failure::usage)?;
        if read == self.read.0 {
            return Ok(());
        }
        self.read = (read, Instant::now());
        if let Whose::Own { passing: Some(file), .. } = &self.whose {
            // If that fails, the recording only takes more memory.
            let given = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, read);
            given.unwrap_or_else(|error| debug!("cannot give memory back: {error}"));
        }
        Ok(())
    }

    /// True if nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        match &self.whose {
            Whose::Own { session, .. } => session.as_ref().is_none_or(|session| !session.is_recording()),
            Whose::Others { collector } => {
                let is_silent = self.read.1.elapsed() > SILENCE;
                self.live.is_over() || is_silent && !Path::new("/proc").join(collector.to_string()).exists()
            }
        }
    }

    /// The current numbers, with every name that can be found.
    pub(super) fn reading(&mut self, rows: (By, Order), limit: usize) -> Reading {
        self.look();
        self.live.reading(rows, limit, true)
    }

    /// The current numbers, with the names found so far.
    pub(super) fn quick_reading(&mut self, rows: (By, Order), limit: usize) -> Reading {
        self.look();
        self.live.reading(rows, limit, false)
    }

    /// The numbers of the last reading once more, perhaps with more names.
    pub(super) fn same_reading(&mut self, rows: (By, Order), limit: usize) -> Reading {
        self.live.reading(rows, limit, false)
    }

    /// True while names are being looked up.
    pub(super) fn is_naming(&self) -> bool {
        self.live.is_naming()
    }

    /// Measures growth from the last reading on.
    pub(super) fn reset(&mut self) {
        self.live.reset();
    }

    /// The final numbers.
    pub(super) fn last_reading(&mut self, rows: (By, Order), limit: usize) -> Result<Reading, Failure> {
        self.refresh()?;
        let mut reading = self.reading(rows, limit);
        reading.is_over = true;
        Ok(reading)
    }

    fn look(&mut self) {
        let time = match &self.whose {
            Whose::Own { .. } => u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            // Other recorders write once a second, so rates refer to the time of what has arrived.
            Whose::Others { .. } => self.live.time(),
        };
        self.live.look(time);
    }

    /// Leaves the process as it was found, and finishes the capture if it is kept.
    pub(super) fn close(&mut self, signals: Signals, quiet: bool) -> Result<(), Failure> {
        let Whose::Own { session, passing, injected } = &mut self.whose else { return Ok(()) };
        let Some(session) = session.take() else { return Ok(()) };
        if passing.is_some() {
            let ended = session.stop(Arc::new(NameSearch::given_up()), Vec::new());
            take_back(std::mem::take(injected));
            return ended.map(drop).map_err(|error| Failure::new(FAILED, error));
        }
        let finished = supervise::finish(*session, signals, Vec::new(), 0, quiet)
            .map_err(|error| Failure::new(FAILED, error))?;
        take_back(std::mem::take(injected));
        opened_capture::after_recording(&finished, quiet);
        Ok(())
    }
}
