//! The result of a pass.

use super::failures::Failure;
use super::mappings::Mappings;
use super::peak::Moment;
use super::watch::Instant;
use crate::base::cost::{Amount, Cost};
use crate::base::parts::counts;
use crate::base::spread::Spread;
use capture::{Ended, NodeId, ProcessId, Sampling, StringId, Tables, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::AddAssign;

/// The numbers of a whole capture.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// One row per stack and process that allocated, in order of first use.
    #[serde(with = "super::site_columns")]
    pub sites: Vec<Site>,
    /// How it was sampled; none when everything was recorded, and every number is exact.
    #[serde(skip)]
    pub sampling: Option<Sampling>,
    /// By position in `sites`, the variances of its cost; empty when everything was recorded.
    pub spreads: Vec<Cost<Spread>>,
    /// The variances of `total`.
    pub total_spread: Cost<Spread>,
    /// By [`ProcessId`].
    pub processes: Vec<ProcessProfile>,
    /// The sum over `sites`, which is also the sum over `processes`.
    pub total: Cost,
    /// The maximum of the sum over all processes.
    pub peak: Moment,
    /// The most that all processes together had mapped apart from their allocators.
    pub own_pages: PagesPeak,
    /// Which part of the capture was counted.
    pub span: Span,
    /// The programs' own heaps, in the order of first use; empty when a range, or one of them, was counted.
    pub pools: Vec<PoolProfile>,
    /// Calls that should have returned memory and returned none, ordered by process and stack. They are not part of
    /// any other number.
    pub failures: Vec<Failure>,
    /// The snapshots in the part that was counted; none in a capture of single events.
    pub snapshots: Option<Snapshots>,
    /// Events read.
    pub events: u64,
    /// Events that were not counted: of threads that the capture does not define, and of processes that had ended.
    pub stray_events: u64,
    /// Samples of processes that the capture does not name: not counted.
    pub stray_samples: u64,
    /// Time of the last event, nanoseconds since the recording began.
    pub last_time: u64,
    /// How many other captures were [added](Profile::add): their moments have nothing in common.
    #[serde(skip)]
    pub others: u32,
}

/// The part of a capture that numbers are about; [`crate::query`] says what they mean for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Span {
    /// All of it.
    #[default]
    Whole,
    /// What had happened up to a moment, and what was live then.
    At(Instant),
    /// What happened after one moment and up to another.
    Range {
        /// The first moment.
        from: Instant,
        /// The second moment.
        to: Instant,
    },
}

impl Span {
    /// When it begins and ends, in nanoseconds, in a recording that ends then. A moment has no duration.
    pub fn times(self, end: u64) -> (u64, u64) {
        match self {
            Span::Whole => (0, end),
            Span::At(at) => (at.time, at.time),
            Span::Range { from, to } => (from.time, to.time),
        }
    }
}

/// A maximum of mapped pages and its time. This is address space: whether the pages are in memory is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesPeak {
    /// How much was mapped.
    pub bytes: i64,
    /// Nanoseconds since the recording began.
    pub time: u64,
}

/// What one stack of one process cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The process.
    pub process: ProcessId,
    /// The thread, if rows are told apart by threads: see [`ProfileBuilder::by_threads`](crate::count::builder::ProfileBuilder::by_threads).
    #[serde(skip)]
    pub thread: Option<ThreadId>,
    /// The stack.
    pub node: NodeId,
    /// What it cost.
    pub cost: Cost,
}

/// The numbers of one process image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessProfile {
    /// False when no event of it was recorded.
    pub seen: bool,
    /// How it ended.
    pub ended: Ended,
    /// The sum over its stacks; its `peak` is its share of the capture's peak.
    pub cost: Cost,
    /// The variances of `cost`, zero when everything was recorded.
    pub spread: Cost<Spread>,
    /// The most that this process held, whatever the others held then. It does not include inherited blocks.
    pub peak: Moment,
    /// Of the blocks alive at the end, those that a `realloc` had begun to move.
    pub in_realloc: Amount,
    /// Events that contradict each other.
    pub anomalies: Anomalies,
    /// Pages, which are not part of the heap's numbers.
    pub mappings: Mappings,
    /// Intervals in which events were lost.
    pub gaps: GapTotals,
    /// Intervals in which the program had paused the recording.
    pub pauses: PauseTotals,
}

/// Events that contradict each other, by reason as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// Frees of blocks whose allocation was not recorded, though everything was recorded since the process began.
    pub unmatched_frees: u64,
    /// The same in a process that was attached to while running: the blocks may be from before.
    pub frees_from_before: u64,
    /// Frees, in a forked child, of blocks that it inherited. These are fine.
    pub inherited_frees: u64,
    /// Frees of unknown blocks after a gap: the allocation was lost in it.
    pub lost_allocations: u64,
    /// Blocks whose address was reused after a gap without a recorded free: the free was lost in it.
    pub lost_frees: u64,
    /// Frees of unknown blocks after a pause: they were allocated during it, or before the first start.
    pub paused_allocations: u64,
    /// Blocks whose address was reused after a pause without a recorded free: they were freed during it.
    pub paused_frees: u64,
    /// Blocks whose address was reused without any gap or pause: they were freed by a function that is not recorded,
    /// or the order of these events is ambiguous.
    pub conflicts: u64,
}

counts!(Anomalies {
    unmatched_frees,
    frees_from_before,
    inherited_frees,
    lost_allocations,
    lost_frees,
    paused_allocations,
    paused_frees,
    conflicts,
});

/// The snapshots of an aggregated capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshots {
    /// Their number.
    pub count: u64,
    /// When the first one was, nanoseconds since the recording began.
    pub first: u64,
    /// When the last one was.
    pub last: u64,
}

impl Snapshots {
    /// Adds the next snapshot.
    pub(crate) fn add(&mut self, time: u64) {
        if self.count == 0 {
            self.first = time;
        }
        self.last = time;
        self.count += 1;
    }
}

/// Totals of the gaps of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapTotals {
    /// How many.
    pub gaps: u64,
    /// Allocations that were not recorded.
    pub allocations: u64,
    /// Frees that were not recorded.
    pub frees: u64,
}

counts!(GapTotals { gaps, allocations, frees });

/// Totals of the intervals in which a process had paused the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseTotals {
    /// How many.
    pub pauses: u64,
    /// Nanoseconds in total.
    pub time: u64,
}

counts!(PauseTotals { pauses, time });

/// A heap that programs manage themselves, by its name: the sum over all processes that have one. It is exact in
/// sampled captures, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolProfile {
    /// Its name.
    pub name: StringId,
    /// Blocks that the program reported.
    pub allocated: Amount,
    /// Of these, those that were returned.
    pub freed: Amount,
    /// The most that was held at once.
    pub peak: Moment,
    /// Alive when their process ended or executed another program.
    pub leaked: Amount,
    /// Of what would be leaked, the part that has lived through a gap or a pause.
    pub uncertain: Amount,
}

impl PoolProfile {
    /// Adds the pool of the same name of another capture.
    fn add(&mut self, other: &Self) {
        self.allocated += other.allocated;
        self.freed += other.freed;
        self.peak.held += other.peak.held;
        self.leaked += other.leaked;
        self.uncertain += other.uncertain;
    }
}

impl Profile {
    /// The rows with the variances of their costs, which are zero when everything was recorded.
    pub fn sites_with_spread(&self) -> impl Iterator<Item = (&Site, Cost<Spread>)> {
        let spreads = self.spreads.iter().copied().chain(std::iter::repeat(Cost::default()));
        self.sites.iter().zip(spreads)
    }

    /// The variances of a row's costs, by its index.
    pub(crate) fn spread(&self, site: usize) -> Cost<Spread> {
        self.spreads.get(site).copied().unwrap_or_default()
    }

    /// Keeps the rows that pass a test, and recomputes all sums. The time of the peak stays.
    pub fn retain(&mut self, mut takes: impl FnMut(ProcessId, NodeId) -> bool) {
        self.keep(|site| takes(site.process, site.node).then_some(site.node));
    }

    /// Keeps the rows that are given a stack, under that stack, and recomputes the sums. What is only known for whole
    /// processes, such as their own peaks and anomalies, stays.
    pub fn keep(&mut self, mut stack: impl FnMut(&Site) -> Option<NodeId>) {
        let sites = std::mem::take(&mut self.sites);
        let spreads = std::mem::take(&mut self.spreads);
        let mut kept = Vec::new();
        (self.total, self.total_spread) = Default::default();
        for process in &mut self.processes {
            (process.cost, process.spread) = Default::default();
        }
        for (index, site) in sites.into_iter().enumerate() {
            let Some(node) = stack(&site) else { continue };
            self.total += site.cost;
            self.processes[site.process.index()].cost += site.cost;
            kept.extend(spreads.get(index));
            self.sites.push(Site { node, ..site });
        }
        self.peak.held = self.total.peak;
        self.set_spreads(kept);
    }

    /// Adds the numbers of another capture, whose ids are those of the same tables. The peak is the sum of both peaks,
    /// each at its own time.
    pub fn add(&mut self, mut other: Profile) {
        let is_sampled = !(self.spreads.is_empty() && other.spreads.is_empty());
        if is_sampled {
            self.spreads.resize(self.sites.len(), Cost::default());
            other.spreads.resize(other.sites.len(), Cost::default());
        }
        self.sites.append(&mut other.sites);
        self.spreads.append(&mut other.spreads);
        self.processes.extend(other.processes.into_iter().skip(self.processes.len()));
        self.total += other.total;
        self.total_spread += other.total_spread;
        self.peak.held += other.peak.held;
        self.own_pages.bytes = self.own_pages.bytes.saturating_add(other.own_pages.bytes);
        for pool in other.pools {
            match self.pools.iter_mut().find(|known| known.name == pool.name) {
                Some(known) => known.add(&pool),
                None => self.pools.push(pool),
            }
        }
        self.failures.append(&mut other.failures);
        self.snapshots = match (self.snapshots, other.snapshots) {
            (Some(ours), Some(others)) => Some(Snapshots {
                count: ours.count + others.count,
                first: ours.first.min(others.first),
                last: ours.last.max(others.last),
            }),
            (ours, others) => ours.or(others),
        };
        let samplings = self.sampling.into_iter().chain(other.sampling);
        self.sampling = samplings.max_by_key(|sampling| sampling.interval());
        self.events = self.events.saturating_add(other.events);
        self.stray_events = self.stray_events.saturating_add(other.stray_events);
        self.stray_samples = self.stray_samples.saturating_add(other.stray_samples);
        self.last_time = self.last_time.max(other.last_time);
        self.others += 1 + other.others;
    }

    /// True when it can belong to a capture with these tables: every id is in range.
    pub(crate) fn fits(&self, tables: &Tables) -> bool {
        let is_known = |process: ProcessId, node: NodeId| {
            process.index() < tables.processes.len() && node.index() < tables.nodes.len().max(1)
        };
        let is_thread = |thread: &ThreadId| thread.index() < tables.threads.len();
        self.processes.len() == tables.processes.len()
            && self.span == Span::Whole
            && (self.spreads.is_empty() || self.spreads.len() == self.sites.len())
            && self.sites.iter().all(|site| is_known(site.process, site.node))
            && self.pools.iter().all(|pool| pool.name.index() < tables.strings.len())
            && self.failures.iter().all(|failure| {
                is_known(failure.process, failure.node) && failure.threads.iter().all(is_thread)
            })
    }

    /// Replaces the leaked amounts and recomputes the sums; the amounts beside it, such as uncertain ones, are
    /// cleared.
    pub fn set_leaked(&mut self, mut leaked: impl FnMut(&Site) -> Amount) {
        for site in &mut self.sites {
            site.cost.leaked = leaked(site);
            (site.cost.uncertain, site.cost.at_exec) = Default::default();
        }
        for process in &mut self.processes {
            process.in_realloc = Amount::ZERO;
        }
        self.keep(|site| Some(site.node));
    }

    /// Merges the rows of one stack of one process over all threads. Sums stay the same.
    pub fn merge_rows(&mut self) {
        let sites = std::mem::take(&mut self.sites);
        let spreads = std::mem::take(&mut self.spreads);
        let mut places: HashMap<(ProcessId, NodeId), usize> = HashMap::new();
        for (index, site) in sites.into_iter().enumerate() {
            let place = *places.entry((site.process, site.node)).or_insert(self.sites.len());
            let spread = spreads.get(index).copied();
            if let Some(known) = self.sites.get_mut(place) {
                known.cost += site.cost;
                self.spreads.get_mut(place).zip(spread).into_iter().for_each(|(sum, spread)| *sum += spread);
            } else {
                self.sites.push(Site { thread: None, ..site });
                self.spreads.extend(spread);
            }
        }
    }

    /// Sets the variances of the rows, and sums them up.
    pub(crate) fn set_spreads(&mut self, spreads: Vec<Cost<Spread>>) {
        for (site, spread) in self.sites.iter().zip(&spreads) {
            self.total_spread += *spread;
            self.processes[site.process.index()].spread += *spread;
        }
        self.spreads = spreads;
    }

    /// The sum of all processes' anomalies.
    pub fn anomalies(&self) -> Anomalies {
        self.sum(|process| process.anomalies)
    }

    /// Number of calls that returned no memory.
    pub fn failed_calls(&self) -> u64 {
        self.failures.iter().fold(0, |sum, failure| sum.saturating_add(failure.calls))
    }

    /// The sum of all processes' mappings.
    pub fn mappings(&self) -> Mappings {
        self.sum(|process| process.mappings)
    }

    /// The sum of all processes' gaps.
    pub fn gaps(&self) -> GapTotals {
        self.sum(|process| process.gaps)
    }

    /// The sum of all processes' pauses.
    pub fn pauses(&self) -> PauseTotals {
        self.sum(|process| process.pauses)
    }

    fn sum<T: AddAssign + Default>(&self, of: impl Fn(&ProcessProfile) -> T) -> T {
        let mut sum = T::default();
        self.processes.iter().for_each(|process| sum += of(process));
        sum
    }

    /// The variances of [`Self::still_running`].
    pub fn still_running_spread(&self) -> Spread {
        self.left_by(|ended| ended == Ended::Running).1
    }

    /// What processes held that still ran when the recording ended: part of `leaked`, though they may free it yet.
    pub fn still_running(&self) -> Amount {
        self.left_by(|ended| ended == Ended::Running).0
    }

    /// What processes held that a signal ended, and its variance: part of `leaked`, though they had no chance to free
    /// it.
    pub fn killed(&self) -> (Amount, Spread) {
        self.left_by(|ended| matches!(ended, Ended::Signaled(_)))
    }

    /// What processes with such an end have left.
    fn left_by(&self, has_ended: impl Fn(Ended) -> bool) -> (Amount, Spread) {
        let processes = self.processes.iter().filter(|process| has_ended(process.ended));
        processes.fold((Amount::ZERO, Spread::ZERO), |(sum, spread), process| {
            (sum + process.cost.leaked, spread + process.spread.leaked)
        })
    }
}
