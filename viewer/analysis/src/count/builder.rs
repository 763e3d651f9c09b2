//! One streaming pass over the events.
//!
//! Memory is bounded by live blocks and distinct stacks, never by events. The order of events is authoritative: times
//! are shown, never compared.

mod ahead;
mod calls;
mod failed;
mod gaps;
mod grow;
mod life;
mod observer;
mod pages;
mod pools;
mod range;
mod realloc;
mod resume;
mod totals;

use super::estimate::{Estimator, Rounding};
use super::heap::Block;
use super::peak::{Moment, Peak};
use super::pools::Pools;
use super::process::{Phase, ProcessState};
use super::profile::{PagesPeak, ProcessProfile, Profile, Site};
use super::sites::{SiteId, Sites};
use super::thread::ThreadState;
use super::watch::{Birth, Instant, Stage, Watch};
use crate::base::cost::{Cost, Part};
use calls::Allocation;
use capture::Seed;
use capture::{
    Action, BlockNumber, Ended, Event, Metadata, ProcessId, ReallocOutcome, Sampling, Tables, ThreadId,
};
use realloc::Copying;
use std::sync::Arc;
use totals::Reported;

/// Tells whether a block counts.
type BlockTest<'a> = dyn Fn(&Birth) -> bool + Send + Sync + 'a;

/// Counts events.
///
/// ```
/// # use capture::{Event, Tables};
/// # let (tables, events): (Tables, Vec<Event>) = Default::default();
/// let mut builder = analysis::ProfileBuilder::new(&tables);
/// for event in &events {
///     builder.event(event);
/// }
/// let profile = builder.finish();
/// assert_eq!(profile.total.allocated.blocks, 0);
/// ```
///
/// An observer is told of every block's birth and death: see [`Watch`].
#[derive(Clone)]
pub struct ProfileBuilder<'a, W: Watch = ()> {
    /// The process of each thread.
    owners: Vec<ProcessId>,
    sampling: Option<Sampling>,
    estimator: Estimator,
    sites: Sites,
    peak: Peak,
    /// Bytes that all processes have mapped apart from their allocators.
    own_pages: i64,
    own_pages_peak: PagesPeak,
    pools: Pools,
    processes: Vec<ProcessState<W::Attached>>,
    threads: Vec<ThreadState<W::Attached>>,
    watch: W,
    /// The stacks of frees were recorded, and rows say how much each of them freed.
    counts_frees: bool,
    /// Which blocks count; none: all of them.
    only: Option<Arc<BlockTest<'a>>>,
    /// Events before the range that is counted.
    skipped: u64,
    events: u64,
    /// New blocks so far.
    blocks: u64,
    /// Time of the event that is being counted.
    now: u64,
    stray_events: u64,
    last_time: u64,
    reported: Reported,
    /// How much of the event that is being counted has happened.
    stage: Stage,
    /// A moving `realloc` is counted up to its copy only.
    stops_at_copy: bool,
    /// The rest of one.
    copying: Option<Copying>,
}

impl<'a> ProfileBuilder<'a> {
    /// A pass over the events of the capture that these tables belong to.
    pub fn new(tables: &Tables) -> Self {
        Self::watched(tables, ())
    }

    /// Ends the processes that still run and returns the result.
    pub fn finish(self) -> Profile {
        self.finish_watched().0
    }
}

impl<'a, W: Watch> ProfileBuilder<'a, W> {
    /// A pass with an observer.
    pub fn watched(tables: &Tables, watch: W) -> Self {
        let mut builder = Self::of_recording(&tables.metadata, watch);
        builder.grow(tables);
        builder
    }

    /// A pass over the events of a recording that has just begun: see [`ProfileBuilder::grow`].
    pub fn of_recording(metadata: &Metadata, watch: W) -> Self {
        let seed = Seed::random();
        let sampling = Sampling::new(metadata.sample_interval);
        let estimator = Estimator::new(sampling);
        let mut reported = Reported::default();
        reported.grow(metadata);
        Self {
            owners: Vec::new(),
            sampling,
            estimator,
            sites: Sites::new(seed, 0, estimator.is_sampled()),
            peak: Peak::default(),
            own_pages: 0,
            own_pages_peak: PagesPeak::default(),
            pools: Pools::new(seed),
            processes: Vec::new(),
            threads: Vec::new(),
            watch,
            counts_frees: metadata.has_free_stacks(),
            only: None,
            skipped: 0,
            events: 0,
            blocks: 0,
            now: 0,
            stray_events: 0,
            last_time: 0,
            reported,
            stage: Stage::Over,
            stops_at_copy: false,
            copying: None,
        }
    }

    /// Counts no frees at the stacks that freed.
    #[must_use]
    pub fn without_frees(mut self) -> Self {
        self.counts_frees = false;
        self
    }

    /// Gives each thread rows of its own; to be called before the first event. The sums are the same.
    pub fn by_threads(mut self) -> Self {
        self.sites.tell_threads_apart();
        self
    }

    /// Counts the next event. Returns the block that it frees or begins to resize, if that is known.
    // Cost: 20 to 40 ns for an allocation or a free if the heap fits into the cache, 100 ns with a million blocks;
    // `events` takes a third off the latter.
    #[inline]
    pub fn event(&mut self, event: &Event) -> Option<BlockNumber> {
        self.advance(event);
        let freed = self.count(event);
        if W::LOOKS {
            let at = self.instant();
            self.watch.event(at, event);
        }
        freed
    }

    /// Makes this the event that is being counted.
    #[inline]
    fn advance(&mut self, event: &Event) {
        self.events += 1;
        if let Action::Alloc { .. } | Action::ReallocEnd { outcome: ReallocOutcome::Block { .. }, .. } =
            event.action
        {
            self.blocks += 1;
        }
        self.now = event.time;
        self.last_time = self.last_time.max(event.time);
    }

    #[inline]
    fn count(&mut self, event: &Event) -> Option<BlockNumber> {
        match event.action {
            Action::ProcessStart { process, fork } => self.start(process, fork),
            Action::ProcessEnd { process } => self.end(process, Ended::Unknown),
            Action::Sum { .. } | Action::Figure { .. } | Action::Snapshot => self.count_reported(event),
            _ => match self.running(event.thread) {
                Some(process) => return self.thread_event(process, event),
                None => self.stray_events += 1,
            },
        }
        None
    }

    /// Ends the processes that still run, and returns the result and the observer.
    pub fn finish_watched(mut self) -> (Profile, W) {
        self.now = self.last_time;
        for index in 0..self.processes.len() {
            if self.processes[index].phase == Phase::Running {
                self.end(ProcessId::from_index(index), Ended::Running);
            }
        }
        let failures = self.failures();
        let top = self.peak.finish(&mut self.sites);
        let mut profile = Profile {
            sampling: self.sampling,
            peak: top,
            own_pages: self.own_pages_peak,
            pools: self.pools.profiles(),
            failures,
            snapshots: self.reported.snapshots(),
            events: self.events - self.skipped,
            stray_events: self.stray_events,
            last_time: self.last_time,
            ..Profile::default()
        };
        let mut rounding = Rounding::new(self.estimator);
        let (rows, spreads) = self.sites.into_rows();
        profile.sites.reserve_exact(rows.size_hint().1.unwrap_or(0));
        for row in rows {
            let cost = rounding.row(row.cost);
            profile.total += cost;
            self.processes[row.process.index()].cost += cost;
            profile.sites.push(Site { process: row.process, thread: row.thread(), node: row.node, cost });
        }
        // Exactly the sum of the rows' shares.
        profile.peak.held = profile.total.peak;
        profile.processes =
            self.processes.iter().map(|state| process_profile(state, self.estimator)).collect();
        profile.set_spreads(spreads);
        (profile, self.watch)
    }

    /// The process of a thread that the capture has.
    pub fn owner(&self, thread: ThreadId) -> Option<ProcessId> {
        self.owners.get(thread.index()).copied()
    }

    /// The process of a thread, if the capture defines both and it has not ended. A process whose first event is
    /// missing starts with the first one there is.
    fn running(&mut self, thread: ThreadId) -> Option<ProcessId> {
        let process = self.owner(thread)?;
        let state = self.processes.get_mut(process.index())?;
        if state.phase == Phase::Unseen {
            state.phase = Phase::Running;
        }
        (state.phase == Phase::Running).then_some(process)
    }

    #[inline]
    fn thread_event(&mut self, process: ProcessId, event: &Event) -> Option<BlockNumber> {
        let thread = event.thread;
        match event.action {
            Action::Alloc { address, size, alignment, stack } => {
                self.allocate(Allocation { process, thread, address, size, alignment, stack }, None);
                None
            }
            Action::Free { address, stack } => self.free(process, thread, address, stack),
            _ => self.rarer_event(process, event),
        }
    }

    #[inline(never)]
    fn rarer_event(&mut self, process: ProcessId, event: &Event) -> Option<BlockNumber> {
        let thread = event.thread;
        match event.action {
            Action::ReallocBegin { address, serial } => {
                return self.realloc_begin(process, thread, address, serial);
            }
            Action::ReallocEnd { serial, outcome } => {
                self.realloc_end(process, thread, serial, outcome);
            }
            Action::AllocFailed { .. } => self.note_failure(process, event),
            Action::Fork { fork } => self.processes[process.index()].lineage.note_fork(fork),
            Action::Unsampled => self.threads[thread.index()].allocates(None),
            Action::GapBegin => self.gap_begin(process, thread),
            Action::GapEnd { allocations, frees } => {
                self.gap_end(process, thread);
                let gaps = &mut self.processes[process.index()].gaps;
                gaps.allocations = gaps.allocations.wrapping_add(allocations);
                gaps.frees = gaps.frees.wrapping_add(frees);
            }
            Action::ThreadEnd if self.threads[thread.index()].in_gap => self.gap_end(process, thread),
            Action::Pause => self.processes[process.index()].pause(self.now),
            Action::Resume => self.processes[process.index()].resume(self.now),
            Action::PoolAlloc { .. } | Action::PoolFree { .. } | Action::PoolRealloc { .. } => {
                self.note_pool(process, event);
            }
            // Another thread may have had this id before.
            Action::ThreadStart => self.threads[thread.index()].allocates(None),
            Action::ThreadEnd | Action::Mark { .. } => {}
            mapping => {
                self.processes[process.index()].mappings.note(&mapping);
                self.note_pages(process, &mapping, event.time);
            }
        }
        None
    }

    /// Adds a block to one part of its row's cost.
    #[inline]
    fn count_part(&mut self, site: SiteId, part: Part, size: u64) {
        if W::SUMS {
            self.sites.count(site, part, self.estimator.count(size));
        }
    }

    fn hold(&mut self, process: ProcessId, site: SiteId, size: u64) {
        if !W::SUMS {
            return;
        }
        let block = self.estimator.count(size);
        let state = &mut self.processes[process.index()];
        state.held += block.amount;
        let at = Instant { stage: self.stage, ..Instant::after(self.events, self.now) };
        state.top.raise(state.held, at);
        self.peak.hold(&mut self.sites, site, block, at);
    }

    fn release(&mut self, process: ProcessId, block: &Block<W::Attached>) {
        if !W::SUMS {
            return;
        }
        let counted = self.estimator.count(block.size);
        self.processes[process.index()].held -= counted.amount;
        self.peak.release(&mut self.sites, block.site, counted);
    }
}

fn process_profile<K>(state: &ProcessState<K>, estimator: Estimator) -> ProcessProfile {
    ProcessProfile {
        seen: state.phase != Phase::Unseen,
        ended: state.ended,
        cost: state.cost,
        spread: Cost::default(),
        peak: Moment { held: estimator.whole(state.top.held), ..state.top },
        in_realloc: estimator.whole(state.in_realloc),
        anomalies: state.anomalies,
        mappings: state.mappings,
        gaps: state.gaps,
        pauses: state.pauses,
    }
}
