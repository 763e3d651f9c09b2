//! Options and functions that `run`, `record` and others share.

use super::aggregating::{self, in_memory};
use super::attach::discard;
use super::symbols::Symbols;
use crate::exit::{FAILED, Failure};
use crate::stream::Stream;
use crate::{terminal, values};
use anyhow::Context;
use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use collector::{
    CpuOptions, DEFAULT_DEPTH, Error, MAX_DEPTH, OnFull, Options, Rights, Scope, Session, Trace, Triggers,
};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use viewer::Naming;

/// How often a capture that is read meanwhile is extended.
const WATCHED: Duration = Duration::from_millis(200);

/// A service loses events rather than wait noticeably.
const SERVICES_ON_FULL: (OnFull, Duration) = (OnFull::Drop, Duration::from_millis(10));

/// Options of every recording.
#[derive(Args, Debug)]
pub(crate) struct Recording {
    /// Write the capture to this file, or send it: - for standard output, tcp://HOST:PORT for a listener there
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output when it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// What a thread does whose ring is full: wait for the collector, or lose events and count them
    #[arg(long, value_name = "POLICY", env = "SYSPROF_MEMPROF_ON_FULL", ignore_case = true)]
    on_full: Option<Policy>,
    /// Longest wait of a thread whose ring is full
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_wait: Option<Duration>,
    /// Bytes of each thread's ring
    #[arg(long, value_name = "SIZE", default_value = "1M", env = "SYSPROF_MEMPROF_RING_SIZE", value_parser = values::ring_size)]
    ring_size: usize,
    /// Most frames of a stack; the outer ones are cut off
    #[arg(long, value_name = "N", default_value_t = DEFAULT_DEPTH, env = "SYSPROF_MEMPROF_MAX_DEPTH", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DEPTH)))]
    max_depth: u32,
    /// Record the stacks of frees, too, for `threads`, `history` and `invalid-frees` to tell who frees: each costs as much as an
    /// allocation, then
    #[arg(long, conflicts_with = "aggregate", env = "SYSPROF_MEMPROF_FREE_STACKS", value_parser = FalseyValueParser::new())]
    free_stacks: bool,
    /// Record samples only, one in so many bytes of allocations on average; numbers are then estimates
    #[arg(long, value_name = "BYTES", env = "SYSPROF_MEMPROF_SAMPLE", value_parser = values::sample_interval)]
    sample: Option<u64>,
    /// Record nothing of a process until it starts its recording itself: see the command header
    #[arg(long, env = "SYSPROF_MEMPROF_PAUSED", value_parser = FalseyValueParser::new())]
    paused: bool,
    /// Search the memory of each process at its end for pointers, for `retained` to tell what nobody could free any more from what was
    /// still in use
    ///
    /// A process waits for that when it exits by itself, after its own functions for that and its destructors; where it was attached to,
    /// before those that it had then. Its other threads run on until they are stopped for the search, mostly within a millisecond: one that
    /// uses what a destructor has ended has that much longer to crash.
    #[arg(long, conflicts_with_all = ["aggregate", "sample"])]
    scan_at_exit: bool,
    /// Record only processes whose executable's name matches (* and ? stand for any letters and one letter)
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Do not record processes whose executable's name matches
    #[arg(long, value_name = "GLOB")]
    skip: Vec<String>,
    /// Sample the CPU for the recorded processes and what they fork, too; `run` does that without being told
    #[arg(long, conflicts_with_all = ["no_cpu", "aggregate"])]
    cpu: bool,
    /// Samples of the CPU in each second that a processor works
    #[arg(long, value_name = "HZ", default_value_t = CpuOptions::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    frequency: u32,
    /// Bytes of stack that are copied with each sample of the CPU, instead of 48K, or of 16K with --faults and where little memory may be
    /// locked
    #[arg(long, value_name = "SIZE", value_parser = values::cpu_stack)]
    cpu_stack: Option<u32>,
    /// Keep the registers and the bytes of stack that samples of the CPU were unwound from, so that `dump --unwind` can do it
    /// again: at most 48 MB for a second of a processor, before compression. They hold the program's data
    #[arg(long, conflicts_with_all = ["no_cpu", "aggregate"])]
    keep_stacks: bool,
    /// Sample everything that runs on this machine, not the target alone
    #[arg(long, conflicts_with = "no_cpu")]
    system: bool,
    /// Do not sample the CPU
    #[arg(long)]
    no_cpu: bool,
    /// Record page faults: which pages are resident, and who touched them first, for the command resident
    ///
    /// Of processes that run already, and of those that are started by hand, this needs the right to look at the whole
    /// system, as doctor tells. Pages that were resident before are not known.
    #[arg(long, conflicts_with = "aggregate")]
    faults: bool,
    /// Record where this tracepoint of the kernel is passed, as in `block:block_rq_issue`; may be repeated
    ///
    /// Each time is in the capture with its stack, for `report --by traced`. A number that the tracepoint tells is added up, and
    /// another one says which of them belong together: `SYSTEM:NAME/SIZE/COOKIE`, as in `block:block_rq_issue/bytes/sector`. For
    /// those of block these are the bytes and the sector anyway. This needs root, or `CAP_PERFMON` and tracefs to be readable.
    #[arg(long, value_name = "EVENT", conflicts_with = "aggregate")]
    trace: Vec<Trace>,
    /// Mark a snapshot, a moment that views take by its name, each time that so much has passed
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    snapshot_every: Option<Duration>,
    /// Mark a snapshot when so much memory is live
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    snapshot_over: Option<usize>,
    /// Mark a snapshot when the live memory has grown so much since the last one
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    on_growth: Option<f64>,
    /// Keep totals of each stack at snapshots, not every event: the capture's size does not grow with what happens
    ///
    /// Such a capture answers what each stack allocated, freed and held up to a snapshot and between two, not what became of
    /// single blocks. A snapshot is taken each --every, for marks, and when a process ends. The CPU is not sampled.
    #[arg(long, conflicts_with_all = ["sample", "system"])]
    aggregate: bool,
    /// Time between snapshots of --aggregate, at first: it doubles after each 360
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "aggregate", value_parser = values::duration)]
    every: Duration,
    /// Do not look up function names at the end; views do it then, where the recorded programs and libraries are
    #[arg(long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
    /// Do not store command lines in the capture
    #[arg(long)]
    no_cmdline: bool,
    /// Neither progress nor summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What a thread does when its ring is full.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// Wait for the collector
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
fn failure_of(error: Error) -> Failure {
    match error {
        Error::Output { .. }
        | Error::Capture { .. }
        | Error::OutputExists { .. }
        | Error::Listen { .. }
        | Error::Trace(_) => Failure::usage(error),
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
    /// Keep count of live bytes throughout.
    pub(crate) live: bool,
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
            live: false,
            hears_commands: false,
            on_full: SERVICES_ON_FULL,
        }
    }
}

impl Recording {
    /// Begins the recording. If this fails, nothing has been started.
    pub(crate) fn start(&self, kind: Kind) -> Result<Session, Failure> {
        let aggregates =
            self.aggregate.then(in_memory).transpose().context("cannot get memory for the recording")?;
        let output = kind.output.clone();
        let sent = Stream::of(&output).map(|stream| stream.open()).transpose()?.map(Arc::new);
        let options = self.options(kind, aggregates.clone(), sent.clone());
        let mut session = Session::start(options).map_err(failure_of)?;
        let Some(file) = aggregates else { return Ok(session) };
        match aggregating::begin(&file, self.every, sent.as_deref(), &output, self.force) {
            Ok(begin) => {
                session.distil(begin).map_err(failure_of)?;
                Ok(session)
            }
            Err(failure) => {
                discard(session, None);
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
            distils: aggregates.is_some(),
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
            live: kind.live,
            triggers: Triggers {
                every: self.snapshot_every,
                over: self.snapshot_over.map(|bytes| bytes as u64),
                growth: self.on_growth,
            },
            hears_commands: kind.hears_commands,
            traces: self.trace.clone(),
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
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

    /// True if processes are scanned when they exit.
    pub(crate) fn scans_at_exit(&self) -> bool {
        self.scan_at_exit
    }

    /// True if no single events are kept.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.aggregate
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
            _ if self.aggregate || (self.no_cpu && !self.faults && self.trace.is_empty()) => None,
            _ if self.system => Some(Scope::System),
            Some(pid) => Some(Scope::Tree { pid, follow: kind.follow }),
            None => (self.cpu || self.faults || !self.trace.is_empty()).then_some(Scope::Recorded),
        }
    }
}
