//! A capture, counted and named: the input of every view.

mod rule;
mod seen;
mod suppressed;

pub use rule::{Origin, Rule};
pub use seen::{Grouping, Seen};
pub use suppressed::{Suppressed, Use};

use crate::symbolize::LookedUp;
use analysis::{Counters, Failure, LabelId, MarkName, Names, Point, Profile, Reason, marks_by_name};
use capture::{CounterKind, Frame, Lost, Mark, Process, ProcessId, StringId, Tables, Thread};
use heap_graph::Reach;

/// Where the events came from, as far as views tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file, as the user named it.
    pub file: String,
    /// Why the file ends before its recording did; none for a complete file.
    pub cut: Option<String>,
    /// Chunks of a kind that this version does not know.
    pub unknown_chunks: u64,
}

/// A capture in memory: its tables and numbers, not its events.
#[derive(Debug)]
pub struct Loaded {
    /// Processes, threads, stacks and strings.
    pub tables: Tables,
    /// The numbers.
    pub profile: Profile,
    /// The names.
    pub names: Names,
    /// What was read from counters over time.
    pub counters: Counters,
    /// The file.
    pub source: Source,
    /// How the search for names that the capture lacks went.
    pub looked_up: LookedUp,
    /// The pool whose blocks were counted; none: the heap of the process.
    pub heap: Option<StringId>,
    /// What part of the capture is shown, and how; none when all of it is shown as recorded.
    pub seen: Option<Seen>,
    /// Leaks that were suppressed; none when no rule was asked for.
    pub suppressed: Option<Suppressed>,
    /// How far reachability can be trusted, where unreachable blocks stand in place of leaked ones.
    pub reach: Option<Reach>,
}

/// A mark with its ids resolved.
#[derive(Clone, Copy, Debug)]
pub struct MarkRow<'a> {
    /// Its name, as the program gave it.
    pub name: &'a str,
    /// Its kind, and its time in nanoseconds since the recording began.
    pub mark: &'a Mark,
    /// Who set it.
    pub thread: Option<&'a Thread>,
    /// The process of that thread.
    pub process: Option<&'a Process>,
}

/// The most memory that was resident in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeakRss {
    /// How much it was.
    pub bytes: u64,
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// What it is known from.
    pub kind: PeakKind,
}

/// What a maximum is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakKind {
    /// Read at this time.
    At,
    /// The kernel's maximum: reached at some time before this one.
    Before,
    /// The largest reading: in between there may have been more.
    Reading,
}

impl Loaded {
    /// Adds names to what was counted.
    pub fn new(tables: Tables, profile: Profile, source: Source) -> Self {
        let names = Names::new(&tables);
        let (looked_up, counters) = (LookedUp::default(), Counters::default());
        Self {
            tables,
            profile,
            names,
            counters,
            source,
            looked_up,
            heap: None,
            seen: None,
            suppressed: None,
            reach: None,
        }
    }

    /// The marks of all programs, in the order of the recording.
    pub fn marks(&self) -> impl Iterator<Item = MarkRow<'_>> {
        let tables = &self.tables;
        tables.marks.iter().map(move |mark| {
            let thread = tables.threads.get(mark.thread.index());
            let process = thread.and_then(|thread| tables.processes.get(thread.process.index()));
            MarkRow { name: tables.string(mark.name), mark, thread, process }
        })
    }

    /// The same marks grouped by name, with the regions that they bound.
    pub fn marks_by_name(&self) -> Vec<MarkName> {
        marks_by_name(&self.tables, self.duration_ns())
    }

    /// Name of the pool whose blocks were counted.
    pub fn heap_name(&self) -> Option<&str> {
        self.heap.map(|heap| self.tables.string(heap))
    }

    /// Length of the recording in nanoseconds; for a file without an end, up to its last event.
    pub fn duration_ns(&self) -> u64 {
        self.tables.summary.as_ref().map_or(self.profile.last_time, |summary| summary.duration_ns)
    }

    /// When the recording ended; none when unknown, as in a truncated file.
    pub fn ended(&self) -> Option<u64> {
        self.tables.summary.as_ref().map(|summary| summary.duration_ns).filter(|&duration| duration > 0)
    }

    /// The most memory that was resident in a process, in the whole recording; none where nothing was read.
    ///
    /// The kernel knows the maximum of a program up to each reading. Of a process that the recording has waited for, it
    /// knows that up to the end, but also of programs that the process was before, and of those that it waited for.
    pub fn peak_rss(&self, process: ProcessId) -> Option<PeakRss> {
        let read = self.counters.peak(process, CounterKind::Rss);
        let pid = self.tables.processes.get(process.index()).map(|row| row.pid);
        let others = self.tables.processes.iter().enumerate().filter(|(index, _)| *index != process.index());
        let is_alone =
            others.into_iter().all(|(_, other)| other.parent != Some(process) && Some(other.pid) != pid);
        let at_end = self.counters.peak(process, CounterKind::FamilyPeakRss).filter(|_| is_alone);
        let known = [self.counters.peak(process, CounterKind::PeakRss), at_end];
        let known = known.into_iter().flatten().max_by_key(|point| point.value);
        let (Point { time, value: bytes }, kind) = match (read, known) {
            (Some(read), Some(known)) if read.value >= known.value => (read, PeakKind::At),
            (_, Some(known)) => (known, PeakKind::Before),
            (Some(read), None) => (read, PeakKind::Reading),
            (None, None) => return None,
        };
        Some(PeakRss { bytes, time, kind })
    }

    /// The recorded process in which most was resident, as far as is known.
    pub fn most_resident_process(&self) -> Option<(ProcessId, PeakRss)> {
        let seen = self.profile.processes.iter().enumerate().filter(|(_, process)| process.seen);
        let ids = seen.map(|(index, _)| ProcessId::from_index(index));
        ids.filter_map(|id| Some((id, self.peak_rss(id)?))).max_by_key(|(_, peak)| peak.bytes)
    }

    /// The most that was resident in all processes that allocated, the maxima of several added; none if one of them is
    /// unknown.
    pub fn most_resident(&self) -> Option<i64> {
        let seen = self.profile.processes.iter().enumerate().filter(|(_, process)| process.seen);
        let mut peaks = seen.map(|(index, _)| self.peak_rss(ProcessId::from_index(index))).peekable();
        peaks.peek()?;
        let sum = peaks.try_fold(0_u64, |sum, peak| Some(sum.saturating_add(peak?.bytes)))?;
        Some(i64::try_from(sum).unwrap_or(i64::MAX))
    }

    /// The resident size that the kernel reported last for a process, up to the moment shown.
    pub fn last_rss(&self, process: ProcessId) -> Option<u64> {
        let (_, until) = self.profile.span.times(u64::MAX);
        let series = self.counters.series(Some(process), CounterKind::Rss, 0);
        series.iter().rev().find(|point| point.time <= until).map(|point| point.value)
    }

    /// Number of frees of addresses without a live block; 0 for an aggregated capture, which has no single blocks to
    /// explain them by.
    pub fn invalid_frees(&self) -> u64 {
        let has_blocks = self.tables.metadata.aggregate().is_none();
        if has_blocks { self.profile.anomalies().unmatched_frees } else { 0 }
    }

    /// Calls that returned no memory, by stack: the most recent failure first, then those that memory was not to
    /// blame for.
    pub fn failures(&self) -> Vec<&Failure> {
        let mut rows: Vec<&Failure> = self.profile.failures.iter().collect();
        rows.sort_by_key(|row| (row.reason == Reason::Alignment, std::cmp::Reverse(row.last), row.node));
        rows
    }

    /// True when the stacks of frees were recorded, too.
    pub fn has_free_stacks(&self) -> bool {
        self.tables.metadata.has_free_stacks()
    }

    /// True when CPU samples stand for cycles, and not for time.
    pub fn counts_cycles(&self) -> bool {
        self.tables.summary.as_ref().is_some_and(|summary| summary.cpu.event == "cycles")
    }

    /// The path of the binary that contains a function, if known.
    pub fn module_of(&self, label: LabelId) -> Option<&str> {
        let module = self.tables.modules.get(self.names.label(label).module()?.index())?;
        Some(&module.path)
    }

    /// Distinct code addresses on the stacks.
    pub fn addresses(&self) -> u64 {
        self.tables.frames.iter().filter(|frame| matches!(frame, Frame::Code { .. })).count() as u64
    }

    /// Events that were not recorded, by reason.
    pub fn lost(&self) -> &[Lost] {
        self.tables.summary.as_ref().map_or(&[], |summary| &summary.lost)
    }

    /// Events that were not recorded, whatever the reason.
    pub fn lost_events(&self) -> u64 {
        sum_of(self.lost())
    }
}

/// The sum over all reasons.
pub(crate) fn sum_of(lost: &[Lost]) -> u64 {
    lost.iter().fold(0, |sum, lost| sum.saturating_add(lost.events))
}
