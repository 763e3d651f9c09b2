//! Both ends of an aggregated capture: what a pass over events reports for one, and how a pass over one counts that.
//!
//! Single blocks are unknown there, so a range is net: for a stack that held blocks before it, the blocks freed in
//! the range are first taken to be the range's own.
//!
//! ```text
//!  before the range   held 300                          ┌─ 200 of the range's own
//!  in the range       allocated 250, freed 200 ─────────┘  so it grew by 50; the 300 from before are still there
//! ```

use super::ProfileBuilder;
use crate::base::cost::{Amount, Part};
use crate::base::spread::Spread;
use crate::count::estimate::Counted;
use crate::count::process::Phase;
use crate::count::profile::{PagesPeak, Snapshots};
use crate::count::sites::{SiteId, SiteState};
use crate::count::totals::Figures;
use crate::count::watch::{Instant, Moved, Watch};
use capture::{Action, Ended, Event, FigureKind, Metadata, NodeId, ProcessId, SumKind};
use std::collections::{BTreeMap, HashMap};

/// What a pass over an aggregated capture keeps beside its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Reported {
    /// None in a capture of single events.
    snapshots: Option<Snapshots>,
    /// The end of the last snapshot.
    last: Instant,
    /// Rows of each process.
    rows: HashMap<ProcessId, Vec<SiteId>>,
    uncertain: HashMap<SiteId, Amount>,
    /// In a range, the rows of stacks that held something before it.
    before: HashMap<(ProcessId, NodeId), SiteId>,
    /// A range was begun: its peak is the highest of its snapshots.
    is_range: bool,
    /// In a range, the processes that have changed since the last snapshot.
    moved: Vec<ProcessId>,
}

impl Reported {
    /// The capture has this metadata now.
    pub(super) fn grow(&mut self, metadata: &Metadata) {
        if metadata.aggregate().is_some() {
            self.snapshots.get_or_insert_default();
        }
    }

    pub(super) fn snapshots(&self) -> Option<Snapshots> {
        self.snapshots
    }

    /// Begins a range; `rows` hold what was there before.
    pub(super) fn begin_range(&mut self, rows: &[SiteState]) {
        if let Some(snapshots) = &mut self.snapshots {
            *snapshots = Snapshots::default();
        }
        self.is_range = true;
        self.uncertain.clear();
        let held = (0..).zip(rows).filter(|(_, row)| !row.held.is_zero());
        self.before = held.map(|(place, row)| ((row.process, row.node), SiteId(place))).collect();
    }
}

fn exact(amount: Amount) -> Counted {
    Counted { amount, spread: Spread::ZERO }
}

/// The part of an amount that is there, and the rest of it.
fn split(amount: Amount, there: Amount) -> (Amount, Amount) {
    let taken = Amount {
        blocks: amount.blocks.min(there.blocks.max(0)),
        bytes: amount.bytes.min(there.bytes.max(0)),
    };
    (taken, amount - taken)
}

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Counts an event of an aggregated capture.
    pub(super) fn count_reported(&mut self, event: &Event) {
        let (Some(process), Some(_)) = (self.owner(event.thread), self.reported.snapshots) else {
            self.stray_events += 1;
            return;
        };
        if let Some(state) = self.processes.get_mut(process.index())
            && state.phase == Phase::Unseen
        {
            state.phase = Phase::Running;
        }
        match event.action {
            Action::Sum { kind: kind @ (SumKind::Failed | SumKind::Invalid), stack, blocks, bytes } => {
                self.note_failures(process, stack, kind, (blocks, bytes));
            }
            Action::Sum { kind, stack, blocks, bytes } => {
                let amount = Amount { blocks: blocks.cast_signed(), bytes: bytes.cast_signed() };
                let site = self.sites.of(process, event.thread, stack);
                self.sum(process, site, kind, amount);
            }
            Action::Figure { kind, value } => self.figure(process, kind, value),
            _ => self.snapshot(),
        }
    }

    fn sum(&mut self, process: ProcessId, site: SiteId, kind: SumKind, amount: Amount) {
        let mut moved = Moved::default();
        match kind {
            SumKind::Allocated => {
                if self.sites.get(site).cost.allocated.is_zero() {
                    self.reported.rows.entry(process).or_default().push(site);
                }
                self.sites.count(site, Part::Allocated, exact(amount));
                self.shift(process, site, amount);
                moved = Moved { allocated: amount, live: amount, ..moved };
            }
            SumKind::Freed | SumKind::Displaced => {
                let is_freed = kind == SumKind::Freed;
                let node = self.sites.get(site).node;
                let before =
                    self.reported.before.get(&(process, node)).copied().filter(|before| *before != site);
                let (own, rest) = match before {
                    Some(_) => split(amount, self.sites.get(site).held),
                    None => (amount, Amount::ZERO),
                };
                for (site, part) in [(site, own)].into_iter().chain(before.map(|before| (before, rest))) {
                    if is_freed {
                        self.sites.count(site, Part::Freed, exact(part));
                    }
                    self.shift(process, site, -part);
                }
                let freed = if is_freed { amount } else { Amount::ZERO };
                moved = Moved { freed, live: -amount, ..moved };
            }
            SumKind::Temporary => {
                self.sites.count(site, Part::Temporary, exact(amount));
                moved.temporary = amount;
            }
            SumKind::Uncertain => drop(self.reported.uncertain.insert(site, amount)),
            SumKind::Peak if !self.reported.is_range => self.sites.get_mut(site).cost.peak = amount,
            SumKind::Peak | SumKind::Failed | SumKind::Invalid | SumKind::Unknown => {}
        }
        if W::LOOKS && moved != Moved::default() {
            let (at, node) = (self.instant(), self.sites.get(site).node);
            self.watch.moved(at, process, node, &moved);
        }
    }

    /// Changes what a row and its process hold without updating the peak, which is unknown between snapshots.
    fn shift(&mut self, process: ProcessId, site: SiteId, by: Amount) {
        self.processes[process.index()].held += by;
        if self.reported.is_range && self.reported.moved.last() != Some(&process) {
            self.reported.moved.push(process);
        }
        self.peak.shift(&mut self.sites, site, exact(by));
    }

    fn figure(&mut self, process: ProcessId, kind: FigureKind, value: u64) {
        let position = self.reported.last.position;
        let state = &mut self.processes[process.index()];
        let (signed, is_range) = (value.cast_signed(), self.reported.is_range);
        let add = |count: &mut u64| *count = count.wrapping_add(value);
        let call = |sum: &mut Amount| sum.blocks = sum.blocks.wrapping_add(signed);
        let bytes = |sum: &mut Amount| sum.bytes = sum.bytes.wrapping_add(signed);
        let (anomalies, gaps, mappings) = (&mut state.anomalies, &mut state.gaps, &mut state.mappings);
        match kind {
            FigureKind::PeakBlocks if !is_range => state.top.held.blocks = signed,
            FigureKind::PeakBytes if !is_range => state.top.held.bytes = signed,
            FigureKind::PeakTime if !is_range => state.top.at = Instant::after(position, value),
            FigureKind::WholePeakTime if !is_range => self.peak.set_reported(Instant::after(position, value)),
            FigureKind::PagesPeakBytes if !is_range => self.own_pages_peak.bytes = signed,
            FigureKind::PagesPeakTime if !is_range => self.own_pages_peak.time = value,
            FigureKind::PagesBytes => self.own_pages = signed,
            FigureKind::InReallocBlocks => state.in_realloc.blocks = signed,
            FigureKind::InReallocBytes => state.in_realloc.bytes = signed,
            FigureKind::UnmatchedFrees => add(&mut anomalies.unmatched_frees),
            FigureKind::FreesFromBefore => add(&mut anomalies.frees_from_before),
            FigureKind::InheritedFrees => add(&mut anomalies.inherited_frees),
            FigureKind::LostAllocations => add(&mut anomalies.lost_allocations),
            FigureKind::LostFrees => add(&mut anomalies.lost_frees),
            FigureKind::PausedAllocations => add(&mut anomalies.paused_allocations),
            FigureKind::PausedFrees => add(&mut anomalies.paused_frees),
            FigureKind::Conflicts => add(&mut anomalies.conflicts),
            FigureKind::Gaps => add(&mut gaps.gaps),
            FigureKind::GapAllocations => add(&mut gaps.allocations),
            FigureKind::GapFrees => add(&mut gaps.frees),
            FigureKind::Mapped => call(&mut mappings.mapped),
            FigureKind::MappedBytes => bytes(&mut mappings.mapped),
            FigureKind::InHook => call(&mut mappings.in_hook),
            FigureKind::InHookBytes => bytes(&mut mappings.in_hook),
            FigureKind::Unmapped => call(&mut mappings.unmapped),
            FigureKind::UnmappedBytes => bytes(&mut mappings.unmapped),
            FigureKind::Remapped => call(&mut mappings.remapped),
            FigureKind::RemappedBytes => bytes(&mut mappings.remapped),
            FigureKind::Breaks => call(&mut mappings.breaks),
            FigureKind::BreakBytes => bytes(&mut mappings.breaks),
            _ => {}
        }
    }

    fn snapshot(&mut self) {
        let at = self.instant();
        self.reported.last = at;
        if let Some(snapshots) = &mut self.reported.snapshots {
            snapshots.add(at.time);
        }
        if self.reported.is_range {
            self.peak.look(at);
            for process in self.reported.moved.drain(..) {
                let state = &mut self.processes[process.index()];
                state.top.raise(state.held, at);
            }
        }
    }

    /// Whatever rows of a process still hold when it ends is left.
    pub(super) fn end_reported(&mut self, process: ProcessId, ended: Ended) {
        for site in self.reported.rows.remove(&process).unwrap_or_default() {
            let held = self.sites.get(site).held;
            if held.is_zero() {
                continue;
            }
            let uncertain = self.reported.uncertain.get(&site).copied().unwrap_or_default();
            let (uncertain, _) = split(uncertain, held);
            match ended {
                Ended::Exec => self.sites.count(site, Part::AtExec, exact(held)),
                _ => {
                    self.sites.count(site, Part::Uncertain, exact(uncertain));
                    self.sites.count(site, Part::Leaked, exact(held - uncertain));
                }
            }
            self.peak.shift(&mut self.sites, site, exact(-held));
            if W::LOOKS {
                let (at, node) = (self.instant(), self.sites.get(site).node);
                self.watch.left(at, process, node, held, ended);
            }
        }
    }
}

impl ProfileBuilder<'_> {
    /// Gives rows their shares of the peak so far.
    pub(crate) fn settle(&mut self) {
        self.peak.settle(&mut self.sites);
    }

    /// How often rows were given their shares of a peak.
    pub(crate) fn peaks(&self) -> u64 {
        self.peak.copies()
    }

    pub(crate) fn has_ended(&self, process: ProcessId) -> bool {
        self.processes[process.index()].phase == Phase::Ended
    }

    pub(crate) fn site_states(&self) -> &[SiteState] {
        self.sites.rows()
    }

    /// How many processes there are.
    pub(crate) fn process_count(&self) -> usize {
        self.processes.len()
    }

    pub(crate) fn is_seen(&self, process: ProcessId) -> bool {
        self.processes[process.index()].phase != Phase::Unseen
    }

    /// By row of these processes, the live amount that has lived through a gap or a pause.
    pub(crate) fn uncertain(&self, of: impl Iterator<Item = ProcessId>) -> HashMap<u32, Amount> {
        let mut uncertain: HashMap<u32, Amount> = HashMap::new();
        let states = of.map(|process| &self.processes[process.index()]);
        let has_gaps = states.filter(|state| state.gap_edges != 0 && state.phase != Phase::Ended);
        for state in has_gaps {
            let pending = state.reallocating.iter().flat_map(|thread| &self.threads[thread.index()].pending);
            let moving = pending.filter_map(|pending| pending.block);
            for block in moving.chain(state.heap.iter()).filter(|block| state.lived_through_gap(block)) {
                *uncertain.entry(block.site.0).or_default() += self.estimator.count(block.size).amount;
            }
        }
        uncertain
    }

    /// By stack of a process, and whether the alignment was invalid: its calls that returned no memory, and their
    /// bytes.
    pub(crate) fn failure_sums(&self, process: ProcessId) -> BTreeMap<(NodeId, bool), (u64, u64)> {
        self.processes[process.index()].failures.sums()
    }

    /// The figures of a process.
    pub(crate) fn figures(&self, process: ProcessId) -> Figures {
        let state = &self.processes[process.index()];
        let pending = state.reallocating.iter().flat_map(|thread| &self.threads[thread.index()].pending);
        let moving = pending.filter_map(|pending| pending.block.as_ref());
        let moving = moving.fold(state.in_realloc, |sum, block| sum + Amount::block(block.size));
        let mut figures = [0; _];
        let mut set = |kind: FigureKind, value: u64| figures[kind as usize] = value;
        let (top, anomalies, gaps, pages) = (state.top, state.anomalies, state.gaps, state.mappings);
        set(FigureKind::PeakBlocks, top.held.blocks.cast_unsigned());
        set(FigureKind::PeakBytes, top.held.bytes.cast_unsigned());
        set(FigureKind::PeakTime, top.at.time);
        set(FigureKind::InReallocBlocks, moving.blocks.cast_unsigned());
        set(FigureKind::InReallocBytes, moving.bytes.cast_unsigned());
        set(FigureKind::UnmatchedFrees, anomalies.unmatched_frees);
        set(FigureKind::FreesFromBefore, anomalies.frees_from_before);
        set(FigureKind::InheritedFrees, anomalies.inherited_frees);
        set(FigureKind::LostAllocations, anomalies.lost_allocations);
        set(FigureKind::LostFrees, anomalies.lost_frees);
        set(FigureKind::PausedAllocations, anomalies.paused_allocations);
        set(FigureKind::PausedFrees, anomalies.paused_frees);
        set(FigureKind::Conflicts, anomalies.conflicts);
        set(FigureKind::Gaps, gaps.gaps);
        set(FigureKind::GapAllocations, gaps.allocations);
        set(FigureKind::GapFrees, gaps.frees);
        for (calls, bytes, of) in [
            (FigureKind::Mapped, FigureKind::MappedBytes, pages.mapped),
            (FigureKind::InHook, FigureKind::InHookBytes, pages.in_hook),
            (FigureKind::Unmapped, FigureKind::UnmappedBytes, pages.unmapped),
            (FigureKind::Remapped, FigureKind::RemappedBytes, pages.remapped),
            (FigureKind::Breaks, FigureKind::BreakBytes, pages.breaks),
        ] {
            set(calls, of.blocks.cast_unsigned());
            set(bytes, of.bytes.cast_unsigned());
        }
        figures
    }

    /// The figures of all processes together.
    pub(crate) fn whole_figures(&self) -> [(FigureKind, u64); 4] {
        let PagesPeak { bytes, time } = self.own_pages_peak;
        [
            (FigureKind::WholePeakTime, self.peak.top().at.time),
            (FigureKind::PagesPeakBytes, bytes.cast_unsigned()),
            (FigureKind::PagesPeakTime, time),
            (FigureKind::PagesBytes, self.own_pages.cast_unsigned()),
        ]
    }
}
