//! One recording from its start to the finished capture.

use crate::attach::{self, Refusal};
use crate::background::in_background;
use crate::clock::Clock;
use crate::commands::{Ear, Obey};
use crate::counters::{Counters, Subjects};
use crate::distil::{self, Distiller};
use crate::drain::{Drain, Shared, Work};
use crate::exit_scans::ExitScans;
use crate::failure::Failure;
use crate::listener::{Listener, Rules};
use crate::live::Live;
use crate::liveness::Liveness;
use crate::memory::Policy;
use crate::orders;
use crate::perf::{Sampled, Sampler, Samples, Traces, remark_on_nameless, remark_on_strangers};
use crate::pipeline::Pipeline;
use crate::queue::{self, queue};
use crate::requests::{Keeps, Requests};
use crate::scheduling;
use crate::sleeper::Bell;
use crate::symbolize::Wanted;
use crate::triggers::Lookout;
use crate::watcher::Watcher;
use crate::writing::{Inputs, Written, overhead, write};
use crate::{Error, NameSearch, OnFull, Options, command_line, processes, symbolize};
use capture::{Create, Effort, Metadata, Summary, Writer};
use rustix::fd::{AsFd, BorrowedFd};
use shared_ring::Geometry;
use shared_ring::control::MAX_SAMPLE_INTERVAL;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One recording. Agents connect to its socket; everything they record goes to one capture.
#[derive(Debug)]
pub struct Session {
    symbolize: bool,
    /// Programs that recorded ones start are to be recorded, too.
    follows: bool,
    symbols: symbols::Options,
    /// Dropped first when the recording ends: no agent is taken in any more.
    listener: Listener,
    shared: Arc<Shared>,
    /// Wakes the drain thread.
    bell: Arc<Bell>,
    written: Arc<Written>,
    drain: JoinHandle<(Work, queue::Sender)>,
    writer: JoinHandle<Result<(Pipeline, u64), capture::Error>>,
    /// Scans processes at their ends.
    exit_scans: Option<JoinHandle<ExitScans>>,
    watcher: JoinHandle<()>,
    sampler: Result<Sampler, Box<Sampled>>,
    counters: Counters,
    /// Processes that were waited for, and when, in ticks of the recording's clock.
    exits: Arc<Mutex<Vec<(u32, u64, ExitStatus)>>>,
    /// Where wishes go.
    requests: Requests,
    /// Processes that are alive.
    subjects: Subjects,
    /// Hears commands, when it is to.
    ear: Option<Ear>,
    /// The growing capture where it is not kept itself, and who makes of it what is.
    passing: Option<Arc<File>>,
    distiller: Option<Distiller>,
    failure: Arc<Failure>,
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

/// What has become of the wish for a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A capture of its own.
    Capture,
    /// A snapshot in the capture that is written, under the name of this mark.
    Mark(String),
}

impl Taken {
    /// What the user is told, who wanted it in this file.
    pub fn told(&self, file: &str) -> String {
        match self {
            Taken::Capture => format!("wrote {file}"),
            Taken::Mark(name) => {
                format!("marked {name}: the recording is aggregated and has a snapshot there, by that name")
            }
        }
    }
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
        let system = |what| move |source| Error::System { what, source };
        let liveness = Arc::new(Liveness::start().map_err(system("start a thread"))?);
        let (to_watcher, watcher) = Watcher::start().map_err(system("start a thread"))?;
        let (to_drain, images) = mpsc::channel();
        let bell = Arc::new(Bell::default());
        let keeps = Keeps::of(&options);
        // Or processes would wait for nothing.
        let scan_at_exit = options.scan_at_exit && keeps.may_scan(options.sample_interval != 0).is_ok();
        let listener = Listener::start(
            options.socket.as_deref(),
            options.agent_folder.as_deref(),
            rules(&options, &clock, scan_at_exit),
            liveness,
            to_drain,
            bell.clone(),
            to_watcher.clone(),
        )?;
        // Not before that was possible: a file that is replaced does not come back.
        let metadata = metadata(&options, &clock);
        let writer = create(&options, &metadata)?;
        let (batches, queue) = queue(bell.clone());
        let shared = Arc::new(Shared::default());
        let wants_live = options.live || options.triggers.need_live();
        let live = wants_live.then(|| Live::new(options.sample_interval));
        let kept = processes::Rules {
            stores_command: options.store_command,
            keeps_all: options.cpu.is_some(),
            reuses_threads: options.distils,
        };
        let pipeline = Pipeline::new(writer, clock, kept, live);
        let pipeline = if options.attaches { pipeline.awaiting(metadata) } else { pipeline };
        let (to_exit_scans, at_exit) = mpsc::channel();
        let subjects = pipeline.processes.subjects.clone();
        let (sampler, samples) = match options.cpu {
            None => (Err(Box::default()), Samples::none()),
            Some(cpu) => {
                let (depth, cache) = (options.max_depth.max(1), options.symbols.cache.clone());
                let chosen = (options.only, options.skip);
                match Sampler::start(cpu, traces, chosen, depth, clock, subjects.clone(), cache) {
                    Ok((sampler, samples)) => (Ok(sampler), samples),
                    Err(sampled) => (Err(sampled), Samples::none()),
                }
            }
        };
        let drain = Drain {
            images,
            watcher: to_watcher,
            batches,
            bell: bell.clone(),
            shared: shared.clone(),
            clock,
            exit_scans: scan_at_exit.then_some(to_exit_scans),
        };
        let drain = spawn("drain", move || drain.run())?;
        let written = Arc::new(Written::default());
        let out = written.clone();
        let (orders, given) = mpsc::channel();
        let orders = orders::Sender { orders, writer: queue.caller() };
        let (counters, readings) =
            Counters::start(clock, subjects.clone()).map_err(system("start a thread"))?;
        let lookout = Lookout::new(options.triggers);
        let flush_every = options.flush_every;
        let inputs = Inputs { queue, samples, readings, orders: given, lookout, flush_every };
        let failure = Arc::new(Failure::new().map_err(system("make an eventfd"))?);
        let noted = failure.clone();
        let writer = spawn("writer", move || {
            write(pipeline, inputs, &out).inspect_err(|error| noted.note(error.to_string()))
        })?;
        let requests = Requests {
            path: options.output,
            keeps,
            is_sampled: options.sample_interval != 0,
            clock,
            orders,
            host: listener.host(),
            shared: shared.clone(),
            scanning: Arc::default(),
        };
        let (at_ends, writes) = (requests.clone(), written.clone());
        let serve = move || ExitScans::serve(&at_exit, &at_ends, writes);
        // It does not give way: until a process stands still its threads run on beside one that has ended all they use.
        let begin = || std::thread::Builder::new().name("partings".into()).spawn(serve);
        let exit_scans = scan_at_exit.then(begin).transpose().map_err(system("start a thread"))?;
        let ear = match options.hears_commands {
            true => Some(Ear::open(obey(requests.clone())).map_err(system("listen for commands"))?),
            false => None,
        };
        Ok(Session {
            symbolize: options.symbolize,
            follows: options.follow,
            symbols: options.symbols,
            listener,
            shared,
            bell,
            written,
            drain,
            writer,
            exit_scans,
            watcher,
            sampler,
            counters,
            exits: Arc::default(),
            requests,
            subjects,
            ear,
            passing: options.passing,
            distiller: None,
            failure,
        })
    }

    /// Has the capture distilled that goes into [`Options::passing`]: what comes of it is kept in its place.
    ///
    /// # Errors
    /// When there is no such capture, or no thread can be started.
    pub fn distil(&mut self, begin: distil::Begin) -> Result<(), Error> {
        let system = |source| Error::System { what: "distil the recording", source };
        let file = self.passing.clone().ok_or_else(|| system(std::io::ErrorKind::NotFound.into()))?;
        self.distiller = Some(Distiller::start(begin, file, self.written.clone()).map_err(system)?);
        Ok(())
    }

    /// Where agents connect: the value of `SYSPROF_MEMPROF_SOCKET`.
    pub fn socket(&self) -> &Path {
        self.listener.name()
    }

    /// Has a process recorded that runs already and has the agent preloaded. It is called until it answers, at its next
    /// allocation or free, or `patience` is at its end.
    ///
    /// # Errors
    /// Why it is not recorded.
    pub fn attach(&self, pid: u32, patience: Duration) -> Result<(), Refusal> {
        let host = self.listener.host();
        let image = attach::call(&host, pid, patience)?;
        host.take_in(image, pid);
        Ok(())
    }

    /// Ends the recording of one process, which goes on unrecorded from its next allocation or free; false when it is
    /// not recorded here.
    pub fn detach(&self, pid: u32) -> bool {
        self.listener.host().close(pid)
    }

    /// Ends the recording of all processes, which go on unrecorded, and takes no commands any more: another session may
    /// begin, while this one is finished. Gives the processes that were recorded.
    pub fn close(&mut self) -> Vec<u32> {
        self.ear = None;
        let processes = self.subjects.pids();
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
        Progress {
            events: self.shared.counts.events.load(Ordering::Relaxed),
            live_bytes: self.written.live_bytes.load(Ordering::Relaxed),
            lost: self.written.lost.load(Ordering::Relaxed),
            bytes: self.written.kept(),
            processes: self.written.processes.load(Ordering::Relaxed),
            threads: self.shared.counts.threads.load(Ordering::Relaxed),
        }
    }

    /// Why nothing is recorded any more, told once: the capture cannot be written, as on a full disk. What is recorded goes on.
    pub fn failure(&self) -> Option<String> {
        self.failure.take()
    }

    /// What can be read as long as a failure was not told.
    pub fn failure_alarm(&self) -> BorrowedFd<'_> {
        self.failure.as_fd()
    }

    /// Tells how a process has ended that the caller started or waited for, just now: from then on its pid may be another's.
    pub fn note_exit(&self, pid: u32, status: ExitStatus) {
        if let Ok(mut exits) = self.exits.lock() {
            exits.push((pid, self.requests.clock.now(), status));
        }
    }

    /// Ends the recording and finishes the capture. `unrecorded` names the processes that go on unrecorded. When
    /// `search` is given up, the capture is written without the names that are still missing.
    ///
    /// # Errors
    /// When the capture could not be written.
    pub fn stop(self, search: Arc<NameSearch>, unrecorded: Vec<String>) -> Result<Finished, Error> {
        let Session {
            symbolize,
            follows,
            symbols,
            listener,
            shared,
            bell,
            written: _,
            drain,
            writer,
            exit_scans,
            watcher,
            sampler,
            counters,
            exits,
            requests: Requests { path, clock, orders, host, .. },
            subjects: _,
            ear,
            passing: _,
            distiller,
            failure: _,
        } = self;
        drop((ear, orders, host));
        drop(counters);
        // While the writer still takes what comes.
        let sampled = sampler.map_or_else(|sampled| *sampled, Sampler::stop);
        let failures = listener.failures();
        let missed = listener.missed();
        drop(listener);
        // Release pairs with the Acquire load of the drain thread: what happened before is seen by its last round.
        shared.stop.store(true, Ordering::Release);
        bell.ring();
        let (work, to_writer) =
            drain.join().map_or_else(|_| (Work::default(), None), |(work, to)| (work, Some(to)));
        let ended = clock.now();
        // Nothing parts any more. What was found until now is written.
        let exit_scans = exit_scans.and_then(|thread| thread.join().ok()).unwrap_or_default();
        drop(to_writer);
        let failed = |source: capture::Error| Error::Capture { path: path.clone(), source };
        let (mut pipeline, writer_cpu_ns) = match writer.join().map_err(|_| Error::Crashed)? {
            Ok(ended) => ended,
            Err(error) => {
                // What is kept ends with what there was; its own failure is the reason of the writer's.
                distiller.map_or(Ok(()), Distiller::finish)?;
                return Err(failed(error));
            }
        };
        let _ = watcher.join();
        for (pid, ticks, status) in exits.lock().map(|exits| exits.clone()).unwrap_or_default() {
            let time = pipeline.clock().nanoseconds(ticks);
            let Pipeline { processes, writer, .. } = &mut pipeline;
            processes.note_exit(pid, time, status, writer).map_err(failed)?;
        }
        let Sampled { cpu, faults, trace, without_agent, nameless } =
            pipeline.finish_samples(sampled).map_err(failed)?;
        let mut summary = Summary {
            duration_ns: pipeline.clock().nanoseconds(ended).max(pipeline.last),
            lost: pipeline.totals.losses(&shared.counts),
            overhead: overhead(&mut pipeline),
            unrecorded: merged(unrecorded, pipeline.processes.running()),
            remarks: pipeline.totals.remarks(pipeline.processes.count(), &shared.counts),
            effort: Effort {
                drain_cpu_ns: work.cpu_ns,
                writer_cpu_ns,
                wake_ups: work.wake_ups,
                held_ns: work.held_ns,
            },
            cpu,
            faults,
            trace,
        };
        summary.remarks.extend(pipeline.names.remark());
        summary.remarks.extend(failures.remark());
        summary.remarks.extend(exit_scans.remark());
        summary.remarks.extend(missed.remark());
        summary.remarks.extend(remark_on_nameless(nameless));
        if follows {
            summary.remarks.extend(remark_on_strangers(&without_agent));
        }
        let wanted = if symbolize { Wanted::All } else { Wanted::Unfiled };
        let goes_on = !pipeline.processes.running().is_empty();
        in_background(goes_on, || symbolize::symbolize(&mut pipeline, wanted, symbols, &search))
            .map_err(failed)?;
        if symbolize && search.is_given_up.load(Ordering::Relaxed) {
            summary.remarks.push("Names are missing: looking them up was interrupted.".into());
        }
        let finished = Finished {
            path: path.clone(),
            lost: summary.lost.iter().map(|lost| lost.events).sum(),
            remarks: summary.remarks.clone(),
            unsampled: unsampled(&summary),
        };
        pipeline.writer.finish(&summary).map_err(failed)?;
        distiller.map_or(Ok(()), Distiller::finish)?;
        Ok(finished)
    }
}

/// What was refused altogether.
fn unsampled(summary: &Summary) -> Vec<String> {
    let refused = [
        (summary.cpu.event.is_empty(), &summary.cpu.refused),
        (!summary.faults.is_recorded, &summary.faults.refused),
        (true, &summary.trace.refused),
    ];
    let refused = refused.into_iter().filter(|(is_missing, reason)| *is_missing && !reason.is_empty());
    refused.map(|(_, reason)| reason.clone()).collect()
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
        .map_err(|source| Error::System { what: "start a thread", source })
}

/// Has commands obeyed as requests.
fn obey(requests: Requests) -> Obey {
    Arc::new(move |words: &[OsString]| requests.obey(words))
}

/// What agents that connect are answered by.
fn rules(options: &Options, clock: &Clock, scan_at_exit: bool) -> Rules {
    Rules {
        geometry: Geometry::default().with_ring_bytes(options.ring_size),
        policy: Policy {
            block: options.on_full == OnFull::Block,
            max_wait_ms: u32::try_from(options.max_wait.as_millis()).unwrap_or(u32::MAX),
            max_depth: options.max_depth.max(1),
            sample_interval: options.sample_interval.min(MAX_SAMPLE_INTERVAL),
            follow: options.follow,
            tsc: clock.is_tsc(),
            paused: options.paused,
            scan_at_exit,
            free_stacks: options.free_stacks,
        },
        only: options.only.clone(),
        skip: options.skip.clone(),
    }
}

/// What the capture says of itself.
fn metadata(options: &Options, clock: &Clock) -> Metadata {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Metadata {
        tool_version: options.tool_version.clone(),
        command: if options.store_command { command_line::kept(&options.command) } else { Vec::new() },
        started_unix_ns: u64::try_from(started.as_nanos()).unwrap_or(u64::MAX),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default(),
        clock: if clock.is_tsc() { capture::Clock::Tsc } else { capture::Clock::MonotonicRaw },
        options: vec![
            ("max_depth".into(), options.max_depth.to_string()),
            ("ring_size".into(), options.ring_size.to_string()),
            ("follow".into(), options.follow.to_string()),
            ("paused".into(), options.paused.to_string()),
            (capture::FREE_STACKS.into(), options.free_stacks.to_string()),
            ("on_full".into(), format!("{:?}", options.on_full).to_lowercase()),
        ],
        sample_interval: options.sample_interval.min(MAX_SAMPLE_INTERVAL),
    }
}

fn create(options: &Options, metadata: &Metadata) -> Result<Writer, Error> {
    if let Some(file) = &options.passing {
        let system = |source| Error::System { what: "use a file of our own", source };
        let failed = |source| Error::Capture { path: options.output.clone(), source };
        return Writer::new(file.try_clone().map_err(system)?, metadata).map_err(failed);
    }
    let create = if options.replace { Create::Replace } else { Create::New };
    Writer::create(&options.output, create, metadata).map_err(|error| cannot_create(&options.output, error))
}

/// Why a capture was not begun.
pub fn cannot_create(path: &Path, error: capture::Error) -> Error {
    match error {
        capture::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Error::OutputExists { path: path.to_owned() }
        }
        source => Error::Capture { path: path.to_owned(), source },
    }
}

/// Both lists, each process once.
fn merged(mut names: Vec<String>, more: Vec<String>) -> Vec<String> {
    let pid = |name: &str| name.split(' ').next().map(str::to_owned);
    for name in more {
        if !names.iter().any(|known| pid(known) == pid(&name)) {
            names.push(name);
        }
    }
    names
}
