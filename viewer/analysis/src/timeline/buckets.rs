//! The heap over time, in a bounded number of steps.
//!
//! ```text
//!  held                ┌───peak───┐                       a step keeps what was held at its end, the most that was
//!            ┌─────────┘          └──┐                    held in it, and what was allocated and freed
//!   ─────────┘                       └──────── held
//!  │  step 0  │  step 1  │  step 2  │  step 3  │
//! ```
//!
//! The length of a recording is unknown until its end. Steps begin narrow; when there are too many, pairs are joined
//! into steps twice as wide. So there are always between half the maximum and the maximum, and no event is visited
//! twice.

use super::tracks::TrackSet;
use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use crate::count::watch::{Birth, Death, End, Instant, Life, Moved, Watch};
use capture::{Action, Ended, Event, NodeId, ProcessId, Sampling};
use serde::{Deserialize, Serialize};

/// A step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Held at its end.
    pub held: Amount,
    /// The most bytes held in it, including at its beginning, and the blocks held then.
    pub peak: Amount,
    /// Allocated in it.
    pub allocated: Amount,
    /// Freed in it.
    pub freed: Amount,
}

impl Bucket {
    /// Joins two successive steps.
    fn join(&mut self, next: &Self) {
        self.held = next.held;
        if next.peak.bytes > self.peak.bytes {
            self.peak = next.peak;
        }
        self.allocated += next.allocated;
        self.freed += next.freed;
    }
}

/// The heap over time, built by observing a pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timeline {
    /// Where the first step begins, nanoseconds since the recording began.
    pub start: u64,
    /// Width of a step in nanoseconds.
    pub width: u64,
    /// The steps. Each has the events after its beginning, up to and including its end.
    #[serde(with = "super::bucket_columns")]
    pub buckets: Vec<Bucket>,
    /// What happened apart from the heap; filled in when it is shown.
    #[serde(skip)]
    pub beside: TrackSet,
    most: usize,
    /// Earlier events only matter for what they leave held.
    from: u64,
    #[serde(skip, default = "exact")]
    estimator: Estimator,
    held: Amount,
    /// Held after the last event.
    settled: Amount,
    /// The first time after the last step; 0 when not known.
    #[serde(skip)]
    next: u64,
}

fn exact() -> Estimator {
    Estimator::new(None)
}

/// Narrowest step: captures store times in microseconds.
const NARROWEST: u64 = 1000;

impl Timeline {
    /// For a whole recording, with at most this many steps.
    pub fn new(most: usize, sampling: Option<Sampling>) -> Self {
        Self {
            start: 0,
            width: NARROWEST,
            buckets: Vec::new(),
            beside: TrackSet::default(),
            most: most.max(2),
            from: 0,
            estimator: Estimator::new(sampling),
            held: Amount::ZERO,
            settled: Amount::ZERO,
            next: 0,
        }
    }

    /// For a range of it; `held` is live at its beginning and unseen by the pass.
    pub fn between(from: Instant, to: u64, most: usize, sampling: Option<Sampling>, held: Amount) -> Self {
        let most = most.max(2);
        let width = to.saturating_sub(from.time).div_ceil(most as u64).max(NARROWEST);
        let (start, from) = (from.time, from.position);
        Self { start, width, buckets: Vec::new(), from, held, settled: held, ..Self::new(most, sampling) }
    }

    /// Ends the recording, or the part of it that is shown, at this time: what was held stays held up to there.
    /// Numbers of blocks are whole from now on.
    #[must_use]
    pub fn ended(mut self, end: u64) -> Self {
        self.held = self.settled;
        self.reach(end.max(self.start.saturating_add(1)));
        self.settle();
        let estimator = self.estimator;
        for Bucket { held, peak, allocated, freed } in &mut self.buckets {
            for amount in [held, peak, allocated, freed] {
                *amount = estimator.whole(*amount);
            }
        }
        self
    }

    /// True for the timeline of a whole recording with at most this many steps.
    pub(crate) fn is_sound(&self, most: usize) -> bool {
        self.start == 0 && self.width >= NARROWEST && self.buckets.len() <= most
    }

    /// The timeline with at most this many steps.
    #[must_use]
    pub fn narrowed(mut self, most: usize) -> Self {
        while self.buckets.len() > most.max(1) {
            self.halve();
        }
        self
    }

    /// When a step ends.
    pub fn end_of(&self, bucket: usize) -> u64 {
        self.start.saturating_add(self.width.saturating_mul(bucket as u64 + 1))
    }

    /// Makes the step that contains a time the last one.
    // Cost: a comparison, unless a step begins.
    #[inline]
    fn reach(&mut self, time: u64) {
        if time >= self.next {
            self.begin(time);
        }
    }

    /// Gives the last step what is held at its end. That is what was held after the last event: blocks that die after
    /// all events were held to the end.
    fn settle(&mut self) {
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.held = self.settled;
        }
    }

    #[cold]
    fn begin(&mut self, time: u64) {
        // A step includes its end and excludes its beginning, except for the first.
        let place = |width: u64| (time.saturating_sub(self.start).saturating_sub(1) / width) as usize;
        let mut width = self.width;
        while place(width) >= self.most {
            width = width.saturating_mul(2);
        }
        let last = place(width);
        self.settle();
        while self.width < width {
            self.halve();
        }
        while self.buckets.len() <= last {
            let (held, none) = (self.held, Amount::ZERO);
            self.buckets.push(Bucket { held, peak: held, allocated: none, freed: none });
        }
        self.next = self.end_of(self.buckets.len() - 1).saturating_add(1);
    }

    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let joined = self.buckets.chunks(2).map(|pair| {
            let mut first = pair[0];
            pair[1..].iter().for_each(|next| first.join(next));
            first
        });
        self.buckets = joined.collect();
    }

    fn is_in(&self, at: Instant) -> bool {
        at.position > self.from
    }
}

impl Watch for Timeline {
    type Attached = ();

    #[inline]
    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let block = self.estimator.count(birth.size).amount;
        if !self.is_in(birth.at) {
            self.held += block;
            return;
        }
        self.reach(birth.at.time);
        self.held += block;
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.allocated += block;
            if self.held.bytes > bucket.peak.bytes {
                bucket.peak = self.held;
            }
        }
    }

    #[inline]
    fn died(&mut self, life: &Life<()>, death: &Death) {
        if let End::Left { ended: Ended::Running, .. } = death.end {
            // The process goes on and still has the block.
            return;
        }
        let block = self.estimator.count(life.size).amount;
        if self.is_in(death.at) {
            self.reach(death.at.time);
            let is_freed = matches!(death.end, End::Freed { .. } | End::Resized { .. });
            if let Some(bucket) = self.buckets.last_mut().filter(|_| is_freed) {
                bucket.freed += block;
            }
        }
        self.held -= block;
    }

    fn moved(&mut self, at: Instant, _: ProcessId, _: NodeId, moved: &Moved) {
        if self.is_in(at) {
            self.reach(at.time);
            if let Some(bucket) = self.buckets.last_mut() {
                bucket.allocated += moved.allocated;
                bucket.freed += moved.freed;
            }
        }
        self.held += moved.live;
    }

    fn left(&mut self, at: Instant, _: ProcessId, _: NodeId, held: Amount, ended: Ended) {
        if ended == Ended::Running {
            return;
        }
        if self.is_in(at) {
            self.reach(at.time);
        }
        self.held -= held;
    }

    #[inline]
    fn event(&mut self, _: Instant, event: &Event) {
        self.settled = self.held;
        // With sums, what was held at the same time is known only once all of them have arrived.
        if event.action == Action::Snapshot
            && let Some(bucket) = self.buckets.last_mut()
            && self.held.bytes > bucket.peak.bytes
        {
            bucket.peak = self.held;
        }
    }
}
