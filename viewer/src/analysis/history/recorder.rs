//! The observer of a pass that writes its history.

use super::crossing::Crossings;
use super::flow::Flow;
use super::slicer::Slicer;
use super::spectrum::Spectrum;
use super::{History, SiteHistory, Slice};
use crate::analysis::cost::Amount;
use crate::analysis::estimate::Estimator;
use crate::analysis::hash::Seed;
use crate::analysis::sites::{SiteId, Sites};
use crate::analysis::watch::{Birth, Death, End, Instant, Life, Watch};
use capture::{Ended, Event, NodeId, ProcessId, Sampling, Tables, ThreadId};

/// Writes the history of the pass that it observes.
#[derive(Debug)]
pub struct Recorder {
    estimator: Estimator,
    sites: Sites,
    slicer: Slicer,
    /// By site, its change in the open slice.
    open: Vec<Flow>,
    touched: Vec<SiteId>,
    spectrum: Spectrum,
    crossings: Crossings,
    /// The event that was told of last.
    last: Instant,
}

impl Recorder {
    /// For a pass over the events of the capture that these tables belong to.
    pub fn new(tables: &Tables) -> Self {
        let duration = tables.summary.as_ref().map_or(0, |summary| summary.duration_ns);
        Self::cut_by(tables, Slicer::new(duration))
    }

    /// The same, where slices are spent on a range of time alone, in nanoseconds since the recording began.
    pub fn within(tables: &Tables, from: u64, to: u64) -> Self {
        Self::cut_by(tables, Slicer::within(from, to))
    }

    fn cut_by(tables: &Tables, slicer: Slicer) -> Self {
        Self {
            estimator: Estimator::new(Sampling::new(tables.metadata.sample_interval)),
            sites: Sites::new(Seed::random(), tables.nodes.len(), false),
            slicer,
            open: Vec::new(),
            touched: Vec::new(),
            spectrum: Spectrum::default(),
            crossings: Crossings::default(),
            last: Instant::default(),
        }
    }

    /// The history, when the pass is over.
    pub fn finish(mut self) -> History {
        let changes = self.take_changes();
        let closed = self.slicer.finish(self.last, changes);
        let rows = self.sites.into_rows().0;
        let mut sites: Vec<SiteHistory> = rows
            .iter()
            .map(|row| SiteHistory { process: row.process, node: row.node, first: 0, len: 0 })
            .collect();
        let (slices, changes) = by_site(closed, &mut sites, &self.estimator);
        let spectrum = self.spectrum.whole(&self.estimator);
        History { slices, sites, changes, spectrum, crossings: self.crossings.finish(&self.estimator) }
    }

    fn change(&mut self, process: ProcessId, node: NodeId, change: Flow) {
        // Its rows are not told apart by threads.
        let site = self.sites.of(process, ThreadId(0), node);
        let place = site.0 as usize;
        if place >= self.open.len() {
            self.open.resize(place + 1, Flow::default());
        }
        if self.open[place].is_zero() {
            self.touched.push(site);
        }
        self.open[place] += change;
        self.slicer.change(change);
    }

    #[inline]
    fn advance(&mut self, now: Instant) {
        if self.slicer.is_over(now.time) {
            let changes = self.take_changes();
            self.slicer.advance(now, changes);
        }
    }

    /// What the open slice changed, in order of sites. One that came back to nothing may stand there twice.
    fn take_changes(&mut self) -> Vec<(u32, Flow)> {
        self.touched.sort_unstable_by_key(|site| site.0);
        let open = &mut self.open;
        let changes = self.touched.drain(..).map(|site| (site.0, std::mem::take(&mut open[site.0 as usize])));
        changes.filter(|(_, change)| !change.is_zero()).collect()
    }
}

impl Watch for Recorder {
    /// When the block was born.
    type Kept = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        self.advance(birth.at);
        let block = self.estimator.count(birth.size).amount;
        self.spectrum.size(birth.size).allocated += block;
        let change = Flow { live: block, allocated: block, ..Flow::default() };
        self.change(birth.process, birth.node, change);
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let block = self.estimator.count(life.size).amount;
        let mut change = Flow { live: -block, ..Flow::default() };
        // A block whose free is unknown was gone before its address was handed out again.
        if !matches!(death.end, End::Displaced { .. }) {
            self.slicer.stand();
        }
        match death.end {
            End::Left { ended, .. } => {
                self.spectrum.size(life.size).left += block;
                if ended == Ended::Running {
                    // It still lives when the recording ends.
                    return;
                }
                self.advance(death.at);
                if self.last.position < death.at.position {
                    let changes = self.take_changes();
                    self.slicer.before_end(death.at, changes);
                    self.last = death.at;
                }
            }
            End::Freed { thread, is_temporary, .. } => {
                self.advance(death.at);
                self.crossings.count(life.thread, thread, block);
                *self.spectrum.life(death.at.time.saturating_sub(life.kept)) += block;
                if is_temporary {
                    change.temporary = block;
                    self.spectrum.size(life.size).temporary += block;
                }
            }
            End::Resized { thread, .. } => {
                self.advance(death.at);
                self.crossings.count(life.thread, thread, block);
                *self.spectrum.life(death.at.time.saturating_sub(life.kept)) += block;
            }
            End::Displaced { .. } => self.advance(death.at),
        }
        self.change(life.process, life.node, change);
    }

    fn event(&mut self, at: Instant, _: &Event) {
        self.slicer.stand();
        self.last = at;
    }
}

/// The changes of all slices by site, in whole blocks. Blocks of a sampled capture are no whole numbers: sums are rounded
/// and their differences taken, so that a stack is right to half a block at every boundary.
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

/// Adds to a sum, and gives the difference in whole blocks.
fn step(sum: &mut Flow, change: Flow, estimator: &Estimator) -> Flow {
    let before = sum.whole(estimator);
    *sum += change;
    sum.whole(estimator).since(&before)
}
