//! Finds the moment when the most bytes were held, and who held them, in the same pass that counts.
//!
//! Copying every row at each new maximum would cost rows × events. Instead, rows that changed since the last copy are
//! kept in a list, and the copy is made just before the first decrease after a maximum:
//!
//! ```text
//!  live  100  150  300  290 …            dirty list at that point
//!        new  new  new  falls            {a, b}: a and b are copied now, with what they held at 300
//! ```
//!
//! Each event adds at most one row to the list, and a copy empties it, so the amortised work per event is constant.

use super::estimate::Counted;
use super::sites::{SiteId, Sites};
use super::watch::Instant;
use crate::base::cost::Amount;
use serde::{Deserialize, Serialize};

/// A maximum and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// What was held.
    pub held: Amount,
    /// When it was reached.
    pub at: Instant,
}

impl Moment {
    /// Replaces an earlier maximum if more bytes are held now, and returns whether it did.
    pub(crate) fn raise(&mut self, held: Amount, at: Instant) -> bool {
        let higher = held.bytes > self.held.bytes;
        if higher {
            *self = Moment { held, at };
        }
        higher
    }
}

/// Follows the sum over all processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peak {
    held: Amount,
    top: Moment,
    dirty: Vec<SiteId>,
    /// The present moment is the maximum, and rows have not been copied for it yet.
    standing: bool,
    /// How often rows were copied.
    copies: u64,
}

impl Peak {
    // Cost: a few adds; amortised one push and one copy of a row's two numbers. Inlined, as what is counted is passed in
    // memory otherwise: see `Estimator::count`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, sites: &mut Sites, site: SiteId, block: Counted, at: Instant) {
        if self.standing && block.amount.bytes <= 0 {
            self.copy(sites);
        }
        self.change(sites, site, block);
        if self.top.raise(self.held, at) {
            self.standing = true;
        }
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, sites: &mut Sites, site: SiteId, block: Counted) {
        if self.standing {
            self.copy(sites);
        }
        let gone = Counted { amount: -block.amount, spread: -block.spread };
        self.change(sites, site, gone);
    }

    /// Continues from this amount held.
    pub(crate) fn resume(held: Amount) -> Self {
        Self { held, ..Self::default() }
    }

    /// Changes what a row holds, as part of a step of which only the end result is known.
    pub(crate) fn shift(&mut self, sites: &mut Sites, site: SiteId, by: Counted) {
        self.settle(sites);
        self.change(sites, site, by);
    }

    /// Ends such a step.
    pub(crate) fn look(&mut self, at: Instant) {
        self.standing |= self.top.raise(self.held, at);
    }

    /// Sets the moment of the peak as reported by a capture, which reports the rows' shares as well.
    pub(crate) fn set_reported(&mut self, at: Instant) {
        self.top = Moment { held: self.top.held, at };
    }

    /// The peak so far.
    pub(crate) fn top(&self) -> Moment {
        self.top
    }

    /// How often rows were given their shares.
    pub(crate) fn copies(&self) -> u64 {
        self.copies
    }

    /// Gives rows their shares of the peak so far.
    pub(crate) fn settle(&mut self, sites: &mut Sites) {
        if self.standing {
            self.copy(sites);
        }
    }

    /// What is held now.
    pub(crate) fn held(&self) -> Amount {
        self.held
    }

    /// Forgets every earlier maximum: what is held now is the highest so far.
    pub(crate) fn restart(&mut self, sites: &mut Sites, at: Instant) {
        self.top = Moment { held: self.held, at };
        self.standing = false;
        self.dirty.clear();
        sites.hold_peak();
    }

    /// The maximum; gives rows their shares of it.
    pub(crate) fn finish(mut self, sites: &mut Sites) -> Moment {
        if self.standing {
            self.copy(sites);
        }
        self.top
    }

    #[inline(always)]
    fn change(&mut self, sites: &mut Sites, site: SiteId, by: Counted) {
        let row = sites.hold(site, by);
        self.held += by.amount;
        if !row.dirty {
            row.dirty = true;
            self.dirty.push(site);
        }
    }

    #[inline(never)]
    fn copy(&mut self, sites: &mut Sites) {
        for site in self.dirty.drain(..) {
            sites.copy_peak(site);
        }
        self.standing = false;
        self.copies += 1;
    }
}
