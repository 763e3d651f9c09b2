//! The observer that cuts a pass into slices.

use super::flow::Flow;
use super::numbers::Numbers;
use super::slicer::Slicer;
use super::{History, SiteHistory, Slice};
use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use crate::count::watch::{Birth, Death, End, Instant, Life, Moved, Watch};
use capture::{Action, Ended, Event, Frame, NodeId, ProcessId, Sampling, Tables};
use std::ops::Range;

/// Records the slices of the pass that it observes. It keeps nothing with blocks, so the pass may begin at a saved
/// state.
#[derive(Debug)]
pub struct Slices {
    estimator: Estimator,
    sites: Numbers,
    slicer: Slicer,
    /// By site, its change in the open slice.
    open: Vec<Flow>,
    touched: Vec<u32>,
    /// By node, the number of frames on its stack.
    depths: Vec<u32>,
    /// Events up to here are ignored.
    begin: Instant,
    /// The event observed last.
    last: Instant,
    /// The last slice ends no later, in nanoseconds since the recording began.
    end: u64,
    /// True when the stacks of frees were recorded.
    counts_frees: bool,
}

impl Slices {
    /// For a pass over events of the capture that these tables belong to.
    pub(super) fn new(tables: &Tables) -> Self {
        let duration = tables.summary.as_ref().map_or(0, |summary| summary.duration_ns);
        Self::cut_by(tables, Slicer::new(duration), Instant::default(), u64::MAX)
    }

    /// For a pass over part of them, at whose begin `live` was live. Slices are spent on the time of `detail`, in
    /// nanoseconds since the recording began.
    pub(super) fn within(tables: &Tables, part: Range<Instant>, live: Amount, detail: Range<u64>) -> Self {
        let estimator = Estimator::new(Sampling::new(tables.metadata.sample_interval));
        let slicer = Slicer::within(part.start.time, estimator.unrounded(live), detail.start, detail.end);
        Self::cut_by(tables, slicer, part.start, part.end.time)
    }

    fn cut_by(tables: &Tables, slicer: Slicer, begin: Instant, end: u64) -> Self {
        Self {
            estimator: Estimator::new(Sampling::new(tables.metadata.sample_interval)),
            sites: Numbers::new(tables.nodes.len()),
            slicer,
            open: Vec::new(),
            touched: Vec::new(),
            depths: depths(tables),
            begin,
            last: begin,
            end,
            counts_frees: tables.metadata.has_free_stacks(),
        }
    }

    /// Finishes the slices after the pass: a history without the parts that do not come from slices.
    pub(super) fn finish(mut self) -> History {
        let changes = self.take_changes();
        // In forged files the last event may be of a later time than those that follow the part.
        let last = Instant { time: self.last.time.min(self.end), ..self.last };
        let closed = self.slicer.finish(last, changes);
        let met = self.sites.into_met().into_iter();
        let mut sites: Vec<SiteHistory> =
            met.map(|(process, node)| SiteHistory { process, node, first: 0, len: 0 }).collect();
        let (slices, changes) = by_site(closed, &mut sites, &self.estimator);
        History { slices, sites, changes, ..History::default() }
    }

    /// Counts a block that came to life.
    #[inline]
    pub(super) fn block_born(&mut self, birth: &Birth, block: Amount) {
        if birth.at.position <= self.begin.position {
            return;
        }
        self.advance(birth.at);
        let change = Flow { live: block, allocated: block, ..Flow::default() };
        self.slicer.stack(self.depths.get(birth.node.index()).copied().unwrap_or(0));
        self.change(birth.process, birth.node, change);
    }

    /// Counts a block whose life is over.
    pub(super) fn block_died<K>(&mut self, life: &Life<K>, death: &Death, block: Amount) {
        if death.at.position <= self.begin.position {
            return;
        }
        // A displaced block, whose free is unknown, was gone before its address was reused.
        if !matches!(death.end, End::Displaced { .. }) {
            self.slicer.stand();
        }
        let mut change = Flow { live: -block, ..Flow::default() };
        match death.end {
            // It is still live when the recording ends.
            End::Left { ended: Ended::Running, .. } => return,
            End::Left { .. } => {
                self.before_end(death.at);
            }
            End::Freed { is_temporary, .. } => {
                self.advance(death.at);
                if is_temporary {
                    change.temporary = block;
                }
            }
            End::Resized { .. } | End::Displaced { .. } => self.advance(death.at),
        }
        self.change(life.process, life.node, change);
        if self.counts_frees
            && let End::Freed { stack, .. } | End::Resized { stack, .. } = death.end
        {
            self.change(life.process, stack, Flow { frees: block, ..Flow::default() });
        }
    }

    fn change(&mut self, process: ProcessId, node: NodeId, change: Flow) {
        let site = self.sites.of(process, node);
        let place = site as usize;
        if place >= self.open.len() {
            self.open.resize(place + 1, Flow::default());
        }
        if self.open[place].is_zero() {
            self.touched.push(site);
        }
        self.open[place] += change;
        self.slicer.change(change);
    }

    /// Closes the open slice before a process ends, once for each process.
    fn before_end(&mut self, at: Instant) {
        self.advance(at);
        if self.last.position < at.position {
            let changes = self.take_changes();
            self.slicer.before_end(at, changes);
            self.last = at;
        }
    }

    #[inline]
    fn advance(&mut self, now: Instant) {
        if self.slicer.is_over(now.time) {
            let changes = self.take_changes();
            self.slicer.advance(now, changes);
        }
    }

    /// The changes of the open slice, ordered by site. A site that returned to zero may occur twice.
    fn take_changes(&mut self) -> Vec<(u32, Flow)> {
        self.touched.sort_unstable();
        let open = &mut self.open;
        let changes = self.touched.drain(..).map(|site| (site, std::mem::take(&mut open[site as usize])));
        changes.filter(|(_, change)| !change.is_zero()).collect()
    }
}

impl Watch for Slices {
    type Attached = ();
    const SUMS: bool = false;

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let block = self.estimator.count(birth.size).amount;
        self.block_born(birth, block);
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let block = self.estimator.count(life.size).amount;
        self.block_died(life, death, block);
    }

    fn moved(&mut self, at: Instant, process: ProcessId, node: NodeId, moved: &Moved) {
        if at.position > self.begin.position {
            self.advance(at);
            let Moved { allocated, temporary, live, .. } = *moved;
            self.change(process, node, Flow { live, allocated, temporary, ..Flow::default() });
        }
    }

    fn left(&mut self, at: Instant, process: ProcessId, node: NodeId, held: Amount, ended: Ended) {
        if at.position > self.begin.position && ended != Ended::Running {
            self.slicer.stand();
            self.before_end(at);
            self.change(process, node, Flow { live: -held, ..Flow::default() });
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        if at.position > self.begin.position {
            // With sums, what was live at the same time is known only once all of them have arrived.
            if !matches!(event.action, Action::Sum { .. } | Action::Figure { .. }) {
                self.slicer.stand();
            }
            self.last = at;
        }
    }
}

/// By node, the number of frames on its stack, not counting the allocator's function.
fn depths(tables: &Tables) -> Vec<u32> {
    let mut depths = vec![0_u32; tables.nodes.len()];
    // Parents come before their children.
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let is_code = matches!(tables.frames.get(node.frame.index()), Some(Frame::Code { .. }));
        depths[index] = depths.get(node.parent.index()).copied().unwrap_or(0) + u32::from(is_code);
    }
    depths
}

/// The changes of all slices by site, in whole blocks. Blocks of a sampled capture are not whole numbers: running
/// sums are rounded and their differences taken, so that a stack is right to half a block at every boundary.
fn by_site(
    closed: Vec<(Slice, Vec<(u32, Flow)>)>,
    sites: &mut [SiteHistory],
    estimator: &Estimator,
) -> (Vec<Slice>, Vec<(u32, Flow)>) {
    for (_, changes) in &closed {
        changes.iter().for_each(|(site, _)| sites[*site as usize].len += 1);
    }
    let mut first = 0;
    for site in &mut *sites {
        site.first = first;
        first += std::mem::take(&mut site.len);
    }
    let mut all = vec![(0, Flow::default()); first];
    let mut sums = vec![Flow::default(); sites.len()];
    let (mut slices, mut sum) = (Vec::with_capacity(closed.len()), Flow::default());
    for (number, (slice, changes)) in (0..).zip(closed) {
        for (site, change) in changes {
            let (row, of_site) = (&mut sites[site as usize], &mut sums[site as usize]);
            all[row.first + row.len] = (number, step(of_site, change, estimator));
            row.len += 1;
        }
        let change = step(&mut sum, slice.change, estimator);
        let whole = |amount: Amount| estimator.whole(amount);
        slices.push(Slice { live: whole(slice.live), most: whole(slice.most), change, ..slice });
    }
    (slices, all)
}

/// Adds to a running sum, and returns the difference in whole blocks.
fn step(sum: &mut Flow, change: Flow, estimator: &Estimator) -> Flow {
    let whole = |sum: Flow| sum.map(|amount| estimator.whole(amount));
    let before = whole(*sum);
    *sum += change;
    whole(*sum) - before
}
