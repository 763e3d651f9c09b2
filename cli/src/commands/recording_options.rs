//! Options and functions that `run`, `record` and others share.

use super::aggregating::{self, in_memory};
use super::symbols::Symbols;
use crate::exit::{FAILED, Failure};
use crate::stream::Stream;
use crate::{terminal, values};
use anyhow::Context;
use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use collector::{
    CpuOptions, DEFAULT_DEPTH, Error, MAX_DEPTH, OnFull, Options, Rights, Scope, Session, Triggers,
};
use engine::Naming;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often a capture that is read meanwhile is extended.
const WATCHED: Duration = Duration::from_millis(200);

/// A service loses events rather than wait noticeably.
const SERVICES_ON_FULL: (OnFull, Duration) = (OnFull::Drop, Duration::from_millis(10));

/// Options of every recording.
#[derive(Args, Debug)]
pub(crate) struct RecordingOptions {
    /// Capture to write; - for standard output, tcp://HOST:PORT to send it to a listener
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(help_heading = "Output", long)]
    pub(crate) force: bool,
    /// Do not store command lines in the capture
    #[arg(help_heading = "Output", long)]
    no_cmdline: bool,
    /// Give the recording a label, as version=1.2; may be repeated. Host, container, pod and service are known without
    #[arg(help_heading = "Output", long = "label", value_name = "NAME=VALUE", value_parser = values::label)]
    labels: Vec<(String, String)>,
    /// Print neither progress nor summary
    #[arg(help_heading = "Output", short, long)]
    pub(crate) quiet: bool,
    /// Sampling interval: record one allocation per this many allocated bytes on average; numbers are then estimates
    #[arg(help_heading = "What is recorded", long, value_name = "BYTES", env = "SYSPROF_MEMPROF_SAMPLE", value_parser = values::sample_interval)]
    sample: Option<u64>,
    /// Maximum number of frames per stack; outer ones are cut off
    #[arg(help_heading = "What is recorded", long, value_name = "N", default_value_t = DEFAULT_DEPTH, env = "SYSPROF_MEMPROF_MAX_DEPTH", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DEPTH)))]
    max_depth: u32,
    /// Also record the stacks of frees, for `frees`, `threads`, `history` and `errors`; a free then costs as
    /// much as an allocation
    #[arg(help_heading = "What is recorded", long, conflicts_with = "aggregate", env = "SYSPROF_MEMPROF_FREE_STACKS", value_parser = FalseyValueParser::new())]
    free_stacks: bool,
    /// Do not read what interpreters run, nor have Node.js and Java name what they compile: stacks have native frames only
    ///
    /// Otherwise stacks of Python, Ruby, PHP and Perl have the functions of the script, with file and line, each at its place
    /// between those of the interpreter; `run` adds options to `NODE_OPTIONS` and `JAVA_TOOL_OPTIONS`.
    #[arg(help_heading = "What is recorded", long, env = "SYSPROF_MEMPROF_NO_INTERPRETERS", value_parser = FalseyValueParser::new())]
    no_interpreters: bool,
    /// Record nothing of a process until it starts its recording itself, see `generate header`
    #[arg(help_heading = "What is recorded", long, env = "SYSPROF_MEMPROF_PAUSED", value_parser = FalseyValueParser::new())]
    paused: bool,
    /// Scan the memory of each process when it exits, for `retained` to tell unreachable blocks from those in use
    ///
    /// A process that exits by itself waits for the scan, which follows its exit handlers and destructors; if it was
    /// attached to, it precedes those that were registered before. Other threads run on until the scan stops them,
    /// mostly within a millisecond: one that uses what a destructor has destroyed has that much longer to crash.
    #[arg(help_heading = "What is recorded", long, conflicts_with_all = ["aggregate", "sample"])]
    scan_at_exit: bool,
    /// Record only processes that have a matching name, or whose executable has: * for any characters, ? for one; may be repeated
    #[arg(help_heading = "What is recorded", long, value_name = "GLOB")]
    only: Vec<String>,
    /// Do not record processes that have a matching name, or whose executable has; may be repeated
    #[arg(help_heading = "What is recorded", long, value_name = "GLOB")]
    skip: Vec<String>,
    /// What a thread does when its ring is full [default: block for run, otherwise drop]
    #[arg(
        help_heading = "Full rings",
        long,
        value_name = "POLICY",
        env = "SYSPROF_MEMPROF_ON_FULL",
        ignore_case = true
    )]
    on_full: Option<Policy>,
    /// Longest wait for room in a full ring, with --on-full block [default: 10s for run, otherwise 10ms]
    #[arg(help_heading = "Full rings", long, value_name = "TIME", value_parser = values::duration)]
    max_wait: Option<Duration>,
    /// Size of each thread's ring
    #[arg(help_heading = "Full rings", long, value_name = "SIZE", default_value = "1M", env = "SYSPROF_MEMPROF_RING_SIZE", value_parser = values::ring_size)]
    ring_size: usize,
    /// Sample the CPU for the recorded processes and what they fork; `run` always does
    #[arg(help_heading = "CPU samples and kernel events", long, conflicts_with_all = ["no_cpu", "aggregate"])]
    cpu: bool,
    /// Do not sample the CPU
    #[arg(help_heading = "CPU samples and kernel events", long)]
    no_cpu: bool,
    /// CPU samples per second of CPU time
    #[arg(help_heading = "CPU samples and kernel events", long, value_name = "HZ", default_value_t = CpuOptions::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    frequency: u32,
    /// Bytes of stack to copy with each CPU sample [default: 48K; down to 16K with --faults, or if little memory may
    /// be locked]
    #[arg(help_heading = "CPU samples and kernel events", long, value_name = "SIZE", value_parser = values::cpu_stack)]
    cpu_stack: Option<u32>,
    /// Keep the registers and stack bytes of CPU samples, for `export --format events --unwind`; they contain data of the program
    ///
    /// Takes up to 12 MB per second of CPU time, before compression, and more with a higher `--frequency`.
    #[arg(help_heading = "CPU samples and kernel events", long, conflicts_with_all = ["no_cpu", "aggregate"])]
    keep_stacks: bool,
    /// Sample everything that runs on this machine, not only the target
    #[arg(help_heading = "CPU samples and kernel events", long, conflicts_with = "no_cpu")]
    system: bool,
    /// Record page faults, for `pages --by touch`: which pages are resident, and who touched them first
    ///
    /// For processes that already run, or are started by hand, this needs the right to observe the whole system, see
    /// `doctor`. Pages that were resident before are unknown.
    #[arg(help_heading = "CPU samples and kernel events", long, conflicts_with = "aggregate")]
    faults: bool,
    /// Set a mark at this interval, for views to name the moment: `snapshot 1`, `snapshot 2`, …
    #[arg(help_heading = "Snapshots", long, value_name = "TIME", value_parser = values::duration)]
    snapshot_every: Option<Duration>,
    /// Set a mark when live memory reaches this size
    #[arg(help_heading = "Snapshots", long, value_name = "SIZE", value_parser = values::size)]
    snapshot_over: Option<usize>,
    /// Set a mark when live memory has grown by this much since the last one; what is below 1 MiB does not count
    #[arg(help_heading = "Snapshots", long, value_name = "PERCENT", value_parser = values::percent)]
    snapshot_on_growth: Option<f64>,
    /// Keep totals of each stack at snapshots instead of every event, so that the capture does not grow with activity
    ///
    /// The capture then tells what each stack allocated, freed and held up to a snapshot and between two, but nothing
    /// about individual blocks. Snapshots are taken at the interval --every, at marks, and when a process ends. The CPU
    /// is not sampled.
    #[arg(help_heading = "Snapshots", long, conflicts_with_all = ["sample", "system"])]
    aggregate: bool,
    /// Interval of the snapshots of --aggregate at first; it doubles after every 360
    #[arg(help_heading = "Snapshots", long, value_name = "TIME", default_value = "10s", requires = "aggregate", value_parser = values::duration)]
    every: Duration,
    /// Do not look up function names at the end; views do so, where the recorded binaries are
    #[arg(help_heading = "Names", long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
}

/// What a thread does when its ring is full.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// Wait for the collector, up to --max-wait, then lose events and count them
    Block,
    /// Lose events and count them
    Drop,
}

impl From<Policy> for OnFull {
    fn from(policy: Policy) -> OnFull {
        match policy {
            Policy::Block => OnFull::Block,
            Policy::Drop => OnFull::Drop,
        }
    }
}

/// If something could not be done as requested, that is a usage error.
pub(crate) fn failure_of(error: Error) -> Failure {
    match error {
        Error::Output { .. } | Error::Capture { .. } | Error::OutputExists { .. } | Error::Listen { .. } => {
            Failure::usage(error)
        }
        error => Failure::new(FAILED, error),
    }
}

/// What differs between the kinds of recordings.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Where the capture goes.
    pub(crate) output: PathBuf,
    /// A private file that the capture goes to instead, if nothing of it is to be kept.
    pub(crate) passing: Option<Arc<File>>,
    /// The capture is read while it grows.
    pub(crate) is_watched: bool,
    /// Only attached processes are recorded.
    pub(crate) attaches: bool,
    /// The command; empty if there is none.
    pub(crate) command: Vec<OsString>,
    /// The socket for agents, if the user chose one.
    pub(crate) socket: Option<PathBuf>,
    /// Who may connect to the socket.
    pub(crate) rights: Rights,
    /// The folder of the agent, if that is this user's private copy.
    pub(crate) agent_folder: Option<PathBuf>,
    /// Record what the target starts, too.
    pub(crate) follow: bool,
    /// The process that will become the target, if any: the one to sample.
    pub(crate) target: Option<u32>,
    /// Accept commands; only one recording of a process can.
    pub(crate) hears_commands: bool,
    /// The default policy for full rings, and its longest wait.
    pub(crate) on_full: (OnFull, Duration),
}

impl Kind {
    /// The kind for services that run already and are attached to.
    pub(crate) fn of_services(output: PathBuf) -> Kind {
        Kind {
            output,
            passing: None,
            is_watched: false,
            attaches: true,
            command: Vec::new(),
            socket: None,
            rights: Rights::default(),
            agent_folder: None,
            follow: true,
            target: None,
            hears_commands: false,
            on_full: SERVICES_ON_FULL,
        }
    }
}

impl RecordingOptions {
    /// Begins the recording. If this fails, nothing has been started. The capture gets its name with
    /// [`Session::keep`].
    pub(crate) fn start(&self, kind: Kind) -> Result<Session, Failure> {
        let aggregates =
            self.aggregate.then(in_memory).transpose().context("cannot get memory for the recording")?;
        let output = kind.output.clone();
        let sent = Stream::of(&output).map(|stream| stream.open()).transpose()?.map(Arc::new);
        let options = self.options(kind, aggregates.clone(), sent.clone());
        let mut session = Session::start(options).map_err(failure_of)?;
        let Some(file) = aggregates else { return Ok(session) };
        match aggregating::begin(&file, self.every, sent.as_deref(), &output) {
            Ok((begin, file)) => {
                session.aggregate(begin, file).map_err(failure_of)?;
                Ok(session)
            }
            Err(failure) => {
                session.discard();
                Err(failure)
            }
        }
    }

    /// The collector's options. Events go to a private file if they are aggregated, or to `sent` if the capture is
    /// sent away.
    fn options(&self, kind: Kind, aggregates: Option<Arc<File>>, sent: Option<Arc<File>>) -> Options {
        Options {
            cpu: self.cpu(&kind),
            sends: sent.is_some(),
            aggregates: aggregates.is_some(),
            flush_every: if kind.is_watched || aggregates.is_some() { WATCHED } else { Options::FLUSH },
            passing: aggregates.or(sent).or(kind.passing),
            output: kind.output,
            replace: self.force,
            command: kind.command,
            store_command: !self.no_cmdline,
            attaches: kind.attaches,
            follow: kind.follow,
            on_full: self.on_full.map_or(kind.on_full.0, OnFull::from),
            max_wait: self.max_wait.unwrap_or(kind.on_full.1),
            ring_size: self.ring_size,
            max_depth: self.max_depth,
            sample_interval: self.sample.unwrap_or(0),
            paused: self.paused,
            scan_at_exit: self.scan_at_exit,
            free_stacks: self.free_stacks,
            interpreters: !self.no_interpreters,
            only: self.only.clone(),
            skip: self.skip.clone(),
            symbolize: !self.no_symbolize,
            // If a progress line shows the search, a message is not needed.
            symbols: match self.quiet || terminal::progress_is_welcome() {
                true => self.symbols.options(),
                false => self.symbols.telling_options(),
            },
            socket: kind.socket,
            rights: kind.rights,
            agent_folder: kind.agent_folder,
            triggers: Triggers {
                every: self.snapshot_every,
                over: self.snapshot_over.map(|bytes| bytes as u64),
                growth: self.snapshot_on_growth,
            },
            hears_commands: kind.hears_commands,
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            labels: self.labels.clone(),
        }
    }

    /// What is sampled, and how.
    fn cpu(&self, kind: &Kind) -> Option<CpuOptions> {
        let scope = self.scope(kind)?;
        Some(CpuOptions {
            processors: !self.no_cpu && (scope != Scope::Recorded || self.cpu),
            faults: self.faults,
            frequency: self.frequency,
            stack_bytes: self.cpu_stack,
            keep_stacks: self.keep_stacks,
            scope,
        })
    }

    /// True if the events of a program that is started are its own: not those of the whole system.
    pub(crate) fn samples_target(&self) -> bool {
        !self.aggregate && !self.system && (!self.no_cpu || self.faults)
    }

    /// True if processes are scanned when they exit.
    pub(crate) fn scans_at_exit(&self) -> bool {
        self.scan_at_exit
    }

    /// True if no single events are kept.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.aggregate
    }

    /// What the user says of the recording.
    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        self.labels.clone()
    }

    /// Where viewers find names while the capture grows.
    pub(crate) fn naming(&self) -> Naming {
        self.symbols.naming(self.no_symbolize)
    }

    /// Where viewers find names once it has ended: if the recording was told not to look them up, they do.
    pub(crate) fn naming_afterwards(&self) -> Naming {
        self.symbols.naming(!self.no_symbolize)
    }

    /// Whose work is sampled.
    fn scope(&self, kind: &Kind) -> Option<Scope> {
        match kind.target {
            _ if self.aggregate || (self.no_cpu && !self.faults) => None,
            _ if self.system => Some(Scope::System),
            Some(pid) => Some(Scope::Tree { pid, follow: kind.follow }),
            None => (self.cpu || self.faults).then_some(Scope::Recorded),
        }
    }
}
