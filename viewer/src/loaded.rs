//! A capture, counted and named: what every view is made from.

use crate::analysis::{Amount, Counters, Failure, MarkName, Names, Profile, Reason, Span, marks_by_name};
use crate::graph::Reach;
use crate::query::Seen;
use crate::suppression::Suppressed;
use crate::symbolize::LookedUp;
use capture::{
    CounterKind, Frame, Lost, Mark, Process, ProcessId, StringId, Tables, Thread, Tracepoint, TracepointId,
};

/// Where the events came from, as far as a view says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file, as the user named it.
    pub file: String,
    /// Why the file ends before its recording did; none for a whole file.
    pub cut: Option<String>,
    /// Chunks of a kind that this version does not know.
    pub unknown_chunks: u64,
}

/// A capture in memory: its tables and numbers, not its events.
#[derive(Debug)]
pub struct Loaded {
    /// Who, where, and under which name.
    pub tables: Tables,
    /// The numbers.
    pub profile: Profile,
    /// The names.
    pub names: Names,
    /// What was read from counters over time.
    pub counters: Counters,
    /// The file.
    pub source: Source,
    /// The search for names that the capture lacks.
    pub looked_up: LookedUp,
    /// The pool whose blocks were counted; none: the heap of the process.
    pub heap: Option<StringId>,
    /// The tracepoint whose hits were counted; none: the capture has none.
    pub tracepoint: Option<TracepointId>,
    /// Hits of each tracepoint and their sizes, in the whole recording.
    pub hits: Vec<Amount>,
    /// What of it is shown, and how; none when it is all of it, as it is.
    pub seen: Option<Seen>,
    /// What of the leaks is left out; none where no rule was asked for.
    pub suppressed: Option<Suppressed>,
    /// Where what was unreachable stands in the place of what was leaked: how far that can be believed.
    pub reach: Option<Reach>,
}

/// A mark with what its ids stand for.
#[derive(Clone, Copy, Debug)]
pub struct MarkRow<'a> {
    /// Its name, as the program gave it.
    pub name: &'a str,
    /// Its kind, and its time in nanoseconds since the recording began.
    pub mark: &'a Mark,
    /// Who set it.
    pub thread: Option<&'a Thread>,
    /// In which process.
    pub process: Option<&'a Process>,
}

impl Loaded {
    /// Names what was counted.
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
            tracepoint: None,
            hits: Vec::new(),
            seen: None,
            suppressed: None,
            reach: None,
        }
    }

    /// The moments that programs named, in the order in which they came.
    pub fn marks(&self) -> impl Iterator<Item = MarkRow<'_>> {
        let tables = &self.tables;
        tables.marks.iter().map(move |mark| {
            let thread = tables.threads.get(mark.thread.index());
            let process = thread.and_then(|thread| tables.processes.get(thread.process.index()));
            MarkRow { name: tables.string(mark.name), mark, thread, process }
        })
    }

    /// The same by name, with the regions that they bound.
    pub fn marks_by_name(&self) -> Vec<MarkName> {
        marks_by_name(&self.tables, self.duration_ns())
    }

    /// Name of the pool whose blocks were counted.
    pub fn heap_name(&self) -> Option<&str> {
        self.heap.map(|heap| self.tables.string(heap))
    }

    /// The tracepoint whose hits were counted.
    pub fn traced(&self) -> Option<&Tracepoint> {
        self.tables.tracepoints.get(self.tracepoint?.index())
    }

    /// Length of the recording in nanoseconds; of a file without an end, up to its last event.
    pub fn duration_ns(&self) -> u64 {
        self.tables.summary.as_ref().map_or(self.profile.last_time, |summary| summary.duration_ns)
    }

    /// When the recording ended; none where that is not known, as of a file that is cut.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.tables.summary.as_ref().map(|summary| summary.duration_ns).filter(|&duration| duration > 0)
    }

    /// What the kernel said last that a process had resident, up to the moment that is shown.
    pub(crate) fn last_rss(&self, process: ProcessId) -> Option<u64> {
        let until = match self.profile.span {
            Span::Whole => u64::MAX,
            Span::At(at) => at.time,
            Span::Range { to, .. } => to.time,
        };
        let series = self.counters.series(Some(process), CounterKind::Rss, 0);
        series.iter().rev().find(|point| point.time <= until).map(|point| point.value)
    }

    /// Frees of what was no live block, where single blocks are known that could say more of them.
    pub(crate) fn invalid_frees(&self) -> u64 {
        let has_blocks = self.tables.metadata.aggregate().is_none();
        if has_blocks { self.profile.anomalies().unmatched_frees } else { 0 }
    }

    /// Calls that returned no memory, by stack: what failed last comes first, behind it what was no fault of the memory.
    pub(crate) fn failures(&self) -> Vec<&Failure> {
        let mut rows: Vec<&Failure> = self.profile.failures.iter().collect();
        rows.sort_by_key(|row| (row.reason == Reason::Alignment, std::cmp::Reverse(row.last), row.node));
        rows
    }

    /// True when the stacks of frees were recorded, too.
    pub fn traces_frees(&self) -> bool {
        self.tables.metadata.traces_frees()
    }

    /// Different addresses of code on the stacks.
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

/// Events of all reasons.
pub(crate) fn sum_of(lost: &[Lost]) -> u64 {
    lost.iter().fold(0, |sum, lost| sum.saturating_add(lost.events))
}
