//! Cuts time into slices.
//!
//! ```text
//!  width 1   │a│b│c│d│ │ │ │e│f│     the quiet time between d and e is one slice
//!  width 2   │ ab│ cd│     │ ef│     once there are too many: boundaries at multiples of 2 stay
//!
//!  detail        │ a │b│c│d│ e │    of a range, from a boundary before it to one after it: one slice on either side
//! ```

use super::flow::Flow;
use crate::base::cost::Amount;
use crate::base::parts::add_by_key;
use crate::count::watch::Instant;

/// Most slices of a history, apart from boundaries before process ends: a screen would not show more.
pub(super) const MOST_SLICES: usize = 512;

/// Most boundaries before process ends that are kept.
const MOST_KEPT: usize = 32;

/// Slices are not merged below this number merely because of the changes in them.
const FEWEST_SLICES: usize = 64;

/// A slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its last event, and the time at which it ends.
    pub end: Instant,
    /// True when a process ends right after it.
    pub before_end: bool,
    /// Live at its end.
    pub live: Amount,
    /// What was live when the most bytes were, at its beginning or within it.
    pub most: Amount,
    /// Its change, over all stacks.
    pub change: Flow,
    /// Frames of the deepest stack that allocated in it.
    pub deepest: u32,
}

impl Slice {
    /// Joins two successive slices.
    pub(super) fn followed_by(&self, next: &Self) -> Self {
        let most = if next.most.bytes > self.most.bytes { next.most } else { self.most };
        let mut change = self.change;
        change += next.change;
        Self { most, change, deepest: self.deepest.max(next.deepest), ..*next }
    }
}

/// A closed slice and its changes, by site number.
#[derive(Debug, Default)]
struct Closed {
    slice: Slice,
    changes: Vec<(u32, Flow)>,
}

/// Follows time and closes slices.
#[derive(Debug)]
pub(super) struct Slicer {
    /// Where the first slice begins.
    begin: u64,
    width: u64,
    /// The range that is cut into slices, begin and end.
    detail: (u64, u64),
    /// Where the open slice ends at the latest.
    boundary: u64,
    latest: u64,
    done: Vec<Closed>,
    /// Changes in all closed slices.
    entries: usize,
    /// The limit at which slices are merged.
    most_entries: usize,
    open: Slice,
}

impl Slicer {
    /// For a recording of about this length; 0 if unknown.
    pub(super) fn new(duration_ns: u64) -> Self {
        // One slice fewer than allowed, because of rounding.
        let width = duration_ns.div_ceil(MOST_SLICES as u64 - 1);
        Self::cutting(0, Amount::ZERO, (0, u64::MAX), width)
    }

    /// For a range of a recording, starting from an earlier time at which `live` was live: only the range is cut.
    pub(super) fn within(begin: u64, live: Amount, from: u64, to: u64) -> Self {
        // Two more for the slices around it.
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

    /// Closes the open slice, with these changes, and the quiet time after it, before the event at `now`.
    pub(super) fn advance(&mut self, now: Instant, changes: Vec<(u32, Flow)>) {
        // In forged files time may go backwards; slices stand still then.
        self.latest = self.latest.max(now.time);
        let position = now.position.saturating_sub(1);
        self.close(Instant::after(position, self.boundary), false, changes);
        let quiet = ((self.latest - 1) / self.width * self.width).min(self.detail.1);
        if quiet > self.last_end() {
            self.close(Instant::after(position, quiet), false, Vec::new());
        }
        self.boundary = self.next_boundary();
    }

    /// The latest end of a slice that begins now.
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

    /// Closes the open slice just before a process ends, at the event `now`.
    pub(super) fn before_end(&mut self, now: Instant, changes: Vec<(u32, Flow)>) {
        let time = now.time.clamp(self.last_end(), self.boundary);
        self.close(Instant::after(now.position.saturating_sub(1), time), true, changes);
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

    /// Notes that everything live now was live at the same time.
    #[inline]
    pub(super) fn stand(&mut self) {
        if self.open.live.bytes > self.open.most.bytes {
            self.open.most = self.open.live;
        }
    }

    /// Closes the last slice and returns all of them.
    pub(super) fn finish(
        mut self,
        last: Instant,
        changes: Vec<(u32, Flow)>,
    ) -> Vec<(Slice, Vec<(u32, Flow)>)> {
        if !self.open.change.is_zero() || !changes.is_empty() || self.done.is_empty() {
            let time = last.time.max(self.last_end());
            self.close(Instant::after(last.position, time), false, changes);
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
        // As much again for the sites themselves: merging cannot reduce these.
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

    /// Doubles the slice width.
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
    /// Appends the following slice.
    fn absorb(&mut self, next: Closed) {
        self.slice = self.slice.followed_by(&next.slice);
        add_by_key(&mut self.changes, &next.changes);
    }
}
