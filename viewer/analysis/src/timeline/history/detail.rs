//! Shows a range of time in detail without a pass over everything.
//!
//! ```text
//!  whole      │    │    │    │    │    │    │    │     coarse slices of everything, from one pass
//!  range                  ├────┤
//!  pass                │    │││││││    │               from the boundary before the range to the one after it:
//!                      begin           end             the heap is known at both
//!  result     │        │    │││││││    │         │     what surrounds the range is merged, from the whole
//! ```

use super::flow::Flow;
use super::slicer::MOST_SLICES;
use super::slices::Slices;
use super::{History, SiteHistory, Slice};
use crate::base::cost::Amount;
use crate::count::watch::Instant;
use capture::Tables;
use hashbrown::HashMap;
use std::ops::Range;

/// Which events a range needs, and what is already known from the history of the whole recording.
#[derive(Debug)]
pub struct Detail<'a> {
    whole: &'a History,
    /// Slices of the whole that are replaced by finer ones.
    slices: Range<usize>,
    from: u64,
    to: u64,
}

impl<'a> Detail<'a> {
    /// For a range in nanoseconds since the recording began; none where the whole is about as fine as it can be
    /// there.
    pub fn of(whole: &'a History, from: u64, to: u64) -> Option<Self> {
        let ends = |time| whole.slices.partition_point(move |slice| slice.end.time <= time);
        let first = ends(from).min(whole.slices.len());
        let last = whole.slices.partition_point(|slice| slice.end.time < to);
        let end = last.saturating_add(1).min(whole.slices.len()).max(first);
        (end - first < MOST_SLICES / 2).then_some(Self { whole, slices: first..end, from, to })
    }

    /// The boundary up to which the history is known: events after it are to be handed to [`Self::slices`].
    pub fn begin(&self) -> Instant {
        self.before().map_or(Instant::default(), |slice| slice.end)
    }

    /// The last event that is to be handed over.
    pub fn end(&self) -> Instant {
        let last = self.slices.end.checked_sub(1).and_then(|last| self.whole.slices.get(last));
        last.map_or(Instant::default(), |slice| slice.end)
    }

    /// The observer of the pass.
    pub fn slices(&self, tables: &Tables) -> Slices {
        let live = self.before().map_or(Amount::ZERO, |slice| slice.live);
        Slices::within(tables, self.begin()..self.end(), live, self.from..self.to)
    }

    /// The slices and changes of the whole, refined by what the pass found. Whatever else a history has does not
    /// depend on slices and stays with the whole.
    pub fn join(&self, found: Slices) -> History {
        let fine = found.finish();
        let before = pieces(&self.whole.slices[..self.slices.start], 0);
        let after = pieces(&self.whole.slices[self.slices.end..], self.slices.end);
        let first_fine = before.len();
        let first_after = first_fine + fine.slices.len();
        let mut of_whole = vec![0_u32; self.whole.slices.len()];
        for (number, (piece, _)) in (0..).zip(&before).chain((first_after as u32..).zip(&after)) {
            of_whole[piece.clone()].fill(number);
        }
        let fine_sites: HashMap<_, &SiteHistory> =
            fine.sites.iter().map(|site| ((site.process, site.node), site)).collect();
        let mut history = History::default();
        history.sites.reserve(self.whole.sites.len());
        history.changes.reserve(fine.changes.len() + self.whole.changes.len());
        for site in &self.whole.sites {
            let first = history.changes.len();
            let of_site = self.whole.changes(site);
            let is_before = of_site.partition_point(|(slice, _)| (*slice as usize) < self.slices.start);
            let is_after = of_site.partition_point(|(slice, _)| (*slice as usize) < self.slices.end);
            history.add(&of_site[..is_before], |slice| of_whole[slice as usize]);
            if let Some(site) = fine_sites.get(&(site.process, site.node)) {
                history.changes.extend(
                    fine.changes(site).iter().map(|(slice, change)| (slice + first_fine as u32, *change)),
                );
            }
            history.add(&of_site[is_after..], |slice| of_whole[slice as usize]);
            let len = history.changes.len() - first;
            history.sites.push(SiteHistory { first, len, ..*site });
        }
        let slices = before.into_iter().map(|(_, slice)| slice);
        history.slices = slices.chain(fine.slices).chain(after.into_iter().map(|(_, slice)| slice)).collect();
        history
    }

    fn before(&self) -> Option<&'a Slice> {
        self.slices.start.checked_sub(1).and_then(|last| self.whole.slices.get(last))
    }
}

impl History {
    /// Adds changes, joining those of one piece.
    fn add(&mut self, changes: &[(u32, Flow)], piece: impl Fn(u32) -> u32) {
        for of_piece in changes.chunk_by(|(a, _), (b, _)| piece(*a) == piece(*b)) {
            let mut sum = Flow::default();
            of_piece.iter().for_each(|(_, change)| sum += *change);
            self.changes.extend(of_piece.first().map(|(slice, _)| (piece(*slice), sum)));
        }
    }
}

/// Merges slices into one piece, except those before the end of a process; each piece with the totals of its slices.
fn pieces(slices: &[Slice], first: usize) -> Vec<(Range<usize>, Slice)> {
    let mut pieces: Vec<(Range<usize>, Slice)> = Vec::new();
    for (number, slice) in (first..).zip(slices) {
        match pieces.last_mut() {
            Some((range, sum)) if !sum.before_end => {
                range.end = number + 1;
                *sum = sum.followed_by(slice);
            }
            _ => pieces.push((number..number + 1, *slice)),
        }
    }
    pieces
}
