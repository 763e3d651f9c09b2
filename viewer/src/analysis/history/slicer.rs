//! Cuts time into slices.
//!
//! ```text
//!  width 1   │a│b│c│d│ │ │ │e│f│     the quiet time between d and e is one slice
//!  width 2   │ ab│ cd│     │ ef│     once there are too many: boundaries at multiples of 2 stay
//!
//!  detail        │ a │b│c│d│ e │    of a range, from a boundary before it to one behind it: one slice each around it
//! ```

use super::flow::Flow;
use crate::analysis::cost::Amount;
use crate::analysis::watch::Instant;
use std::cmp::Ordering;

/// Slices of a history, but for the boundaries before ends of processes: more would not be seen on a screen.
pub(super) const MOST_SLICES: usize = 512;

/// Boundaries before ends of processes that stay.
const MOST_KEPT: usize = 32;

/// Slices are not merged below this number for the sake of the changes in them.
const FEWEST_SLICES: usize = 64;

/// A slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its last event, and the time up to which it goes.
    pub end: Instant,
    /// True when a process ends right after it.
    pub before_end: bool,
    /// Live at its end.
    pub live: Amount,
    /// What was live when most bytes were, at its beginning or within it.
    pub most: Amount,
    /// What happened in it, over all stacks.
    pub change: Flow,
    /// Frames of the deepest stack that allocated in it.
    pub deepest: u32,
}

impl Slice {
    /// Both as one slice.
    pub(super) fn followed_by(&self, next: &Self) -> Self {
        let most = if next.most.bytes > self.most.bytes { next.most } else { self.most };
        let mut change = self.change;
        change += next.change;
        Self { most, change, deepest: self.deepest.max(next.deepest), ..*next }
    }
}

/// A closed slice and the changes in it, by the number of the site.
#[derive(Debug, Default)]
struct Closed {
    slice: Slice,
    changes: Vec<(u32, Flow)>,
}

/// Follows time.
#[derive(Debug)]
pub(super) struct Slicer {
    /// Where the first slice begins.
    begin: u64,
    width: u64,
    /// What is cut, beginning and end.
    detail: (u64, u64),
    /// Where the open slice ends at the latest.
    boundary: u64,
    latest: u64,
    done: Vec<Closed>,
    /// Changes in all closed slices.
    entries: usize,
    /// More are too many.
    most_entries: usize,
    open: Slice,
}

impl Slicer {
    /// For a recording that takes about this long; 0 where nobody knows.
    pub(super) fn new(duration_ns: u64) -> Self {
        // A slice less than there may be, for the rounding.
        let width = duration_ns.div_ceil(MOST_SLICES as u64 - 1);
        Self::cutting(0, Amount::ZERO, (0, u64::MAX), width)
    }

    /// For a range of a recording, from a time before it on, when so much is live: the range alone is cut.
    pub(super) fn within(begin: u64, live: Amount, from: u64, to: u64) -> Self {
        // Two more for what is around it.
        Self::cutting(begin, live, (from, to), to.saturating_sub(from).div_ceil(MOST_SLICES as u64 - 3))
    }

    fn cutting(begin: u64, live: Amount, detail: (u64, u64), width: u64) -> Self {
        let mut slicer = Self {
            begin,
            width: width.max(1000),
            detail,
            boundary: 0,
            latest: begin,
            done: Vec::new(),
            entries: 0,
            most_entries: 2_000_000,
            open: Slice { live, most: live, ..Slice::default() },
        };
        slicer.boundary = slicer.next_boundary();
        slicer
    }

    /// True when the open slice ends before an event at this time.
    #[inline]
    pub(super) fn is_over(&self, time: u64) -> bool {
        time > self.boundary
    }

    /// Ends the open slice, and the quiet time after it, before the event at `now`. Gives the changes back to be filled
    /// anew.
    pub(super) fn advance(&mut self, now: Instant, changes: Vec<(u32, Flow)>) {
        // Times of a file that no recording made may fall; its slices stand still then.
        self.latest = self.latest.max(now.time);
        let position = now.position.saturating_sub(1);
        self.close(Instant { position, time: self.boundary }, false, changes);
        let quiet = ((self.latest - 1) / self.width * self.width).min(self.detail.1);
        if quiet > self.last_end() {
            self.close(Instant { position, time: quiet }, false, Vec::new());
        }
        self.boundary = self.next_boundary();
    }

    /// Where a slice that begins now ends at the latest.
    fn next_boundary(&self) -> u64 {
        let (begin, (from, to)) = (self.last_end(), self.detail);
        if begin < from {
            return from;
        }
        if begin >= to {
            return u64::MAX;
        }
        (begin / self.width).saturating_add(1).saturating_mul(self.width).min(to)
    }

    /// Ends the open slice right before the end of a process, the event at `now`.
    pub(super) fn before_end(&mut self, now: Instant, changes: Vec<(u32, Flow)>) {
        let time = now.time.clamp(self.last_end(), self.boundary);
        self.close(Instant { position: now.position.saturating_sub(1), time }, true, changes);
    }

    /// Counts a change of what is live.
    #[inline]
    pub(super) fn change(&mut self, change: Flow) {
        self.open.change += change;
        self.open.live += change.live;
    }

    /// Counts a stack that allocated.
    #[inline]
    pub(super) fn stack(&mut self, frames: u32) {
        self.open.deepest = self.open.deepest.max(frames);
    }

    /// Notes that what is live now was live together.
    #[inline]
    pub(super) fn stand(&mut self) {
        if self.open.live.bytes > self.open.most.bytes {
            self.open.most = self.open.live;
        }
    }

    /// Ends the last slice and gives all of them.
    pub(super) fn finish(
        mut self,
        last: Instant,
        changes: Vec<(u32, Flow)>,
    ) -> Vec<(Slice, Vec<(u32, Flow)>)> {
        if !self.open.change.is_zero() || !changes.is_empty() || self.done.is_empty() {
            let time = last.time.max(self.last_end());
            self.close(Instant { position: last.position, time }, false, changes);
        }
        self.done.into_iter().map(|closed| (closed.slice, closed.changes)).collect()
    }

    fn last_end(&self) -> u64 {
        self.done.last().map_or(self.begin, |closed| closed.slice.end.time)
    }

    fn close(&mut self, end: Instant, before_end: bool, changes: Vec<(u32, Flow)>) {
        let slice = Slice { end, before_end, ..self.open };
        self.open = Slice { live: slice.live, most: slice.live, ..Slice::default() };
        self.entries += changes.len();
        // As many again for the sites themselves: no merging makes them fewer.
        self.most_entries = self.most_entries.max(changes.len().saturating_mul(4));
        self.done.push(Closed { slice, changes });
        if before_end {
            self.keep_the_last_ends();
        }
        while self.done.len() > MOST_SLICES + MOST_KEPT
            || (self.entries > self.most_entries && self.done.len() > FEWEST_SLICES + MOST_KEPT)
        {
            self.coarsen();
        }
    }

    fn keep_the_last_ends(&mut self) {
        let kept = self.done.iter_mut().filter(|closed| closed.slice.before_end);
        let mut kept: Vec<&mut Closed> = kept.collect();
        if kept.len() > MOST_KEPT {
            kept[0].slice.before_end = false;
        }
    }

    /// Doubles the width.
    fn coarsen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let bucket = |closed: &Closed| closed.slice.end.time.saturating_sub(1) / self.width;
        let mut merged: Vec<Closed> = Vec::with_capacity(self.done.len());
        for closed in self.done.drain(..) {
            match merged.last_mut() {
                Some(last) if !last.slice.before_end && bucket(last) == bucket(&closed) => {
                    last.absorb(closed)
                }
                _ => merged.push(closed),
            }
        }
        self.entries = merged.iter().map(|closed| closed.changes.len()).sum();
        self.done = merged;
        self.boundary = self.next_boundary();
    }
}

impl Closed {
    /// Takes the slice that follows.
    fn absorb(&mut self, next: Closed) {
        self.slice = self.slice.followed_by(&next.slice);
        self.changes = joined(&self.changes, &next.changes);
    }
}

/// The sums of two lists, both in order of sites.
fn joined(left: &[(u32, Flow)], right: &[(u32, Flow)]) -> Vec<(u32, Flow)> {
    let mut sum = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return sum,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
        };
        match order {
            Ordering::Less => sum.extend(left.next()),
            Ordering::Greater => sum.extend(right.next()),
            Ordering::Equal => {
                let both = left.next().zip(right.next());
                sum.extend(both.map(|(&(site, mut change), &(_, other))| {
                    change += other;
                    (site, change)
                }));
            }
        }
    }
}
