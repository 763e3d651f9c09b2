//! The moment when most bytes were held, and who held them, in the same pass that counts.
//!
//! Copying every row at each new maximum would cost rows × events. Instead, rows that changed since the last copy
//! stand in a list, and the copy is taken just before the first fall after a maximum:
//!
//! ```text
//!  live  100  150  300  290 …            dirty list at that point
//!        new  new  new  falls            {a, b}: a and b are copied now, with what they held at 300
//! ```
//!
//! Each event puts at most one row on the list, and a copy empties it, so the work is constant per event.

use super::cost::Amount;
use super::estimate::Counted;
use super::sites::{SiteId, Sites};
use super::watch::Instant;
use serde::{Deserialize, Serialize};

/// A maximum and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// What was held.
    pub held: Amount,
    /// Events up to and including the one that reached it.
    pub position: u64,
    /// Nanoseconds since the recording began.
    pub time: u64,
}

impl Moment {
    /// Takes the place of an earlier maximum when more bytes are held now, and says so.
    pub(super) fn raise(&mut self, held: Amount, at: Instant) -> bool {
        let higher = held.bytes > self.held.bytes;
        if higher {
            *self = Moment { held, position: at.position, time: at.time };
        }
        higher
    }
}

/// Follows the sum over all processes.
#[derive(Debug, Default)]
pub(super) struct Peak {
    held: Amount,
    top: Moment,
    dirty: Vec<SiteId>,
    /// The present moment is the maximum, and the rows' copies are not taken yet.
    standing: bool,
    /// How often they were.
    copies: u64,
}

impl Peak {
    // Cost: a few adds; amortised one push and one copy of a row's two numbers.
    pub(super) fn hold(&mut self, sites: &mut Sites, site: SiteId, block: Counted, at: Instant) {
        if self.standing && block.amount.bytes <= 0 {
            self.copy(sites);
        }
        self.change(sites, site, block);
        if self.top.raise(self.held, at) {
            self.standing = true;
        }
    }

    pub(super) fn release(&mut self, sites: &mut Sites, site: SiteId, block: Counted) {
        if self.standing {
            self.copy(sites);
        }
        let gone = Counted { amount: -block.amount, spread: -block.spread };
        self.change(sites, site, gone);
    }

    /// Goes on where so much is held.
    pub(super) fn resume(held: Amount) -> Self {
        Self { held, ..Self::default() }
    }

    /// Changes what a row holds, as part of a step of which only the end is known.
    pub(super) fn shift(&mut self, sites: &mut Sites, site: SiteId, by: Counted) {
        self.settle(sites);
        self.change(sites, site, by);
    }

    /// The end of such a step.
    pub(super) fn look(&mut self, at: Instant) {
        self.standing |= self.top.raise(self.held, at);
    }

    /// Takes the moment of the peak from somebody who knows it, and the rows' shares, too.
    pub(super) fn told(&mut self, at: Instant) {
        self.top = Moment { held: self.top.held, position: at.position, time: at.time };
    }

    /// The peak so far.
    pub(super) fn top(&self) -> Moment {
        self.top
    }

    /// How often rows got their shares.
    pub(super) fn copies(&self) -> u64 {
        self.copies
    }

    /// Gives rows their shares of the peak so far.
    pub(super) fn settle(&mut self, sites: &mut Sites) {
        if self.standing {
            self.copy(sites);
        }
    }

    /// What is held now.
    pub(super) fn held(&self) -> Amount {
        self.held
    }

    /// Forgets every earlier maximum: what is held now is the highest so far.
    pub(super) fn restart(&mut self, sites: &mut Sites, at: Instant) {
        self.top = Moment { held: self.held, position: at.position, time: at.time };
        self.standing = false;
        self.dirty.clear();
        sites.hold_peak();
    }

    /// The maximum; the rows have their share of it from now on.
    pub(super) fn finish(mut self, sites: &mut Sites) -> Moment {
        if self.standing {
            self.copy(sites);
        }
        self.top
    }

    fn change(&mut self, sites: &mut Sites, site: SiteId, by: Counted) {
        let row = sites.hold(site, by);
        self.held += by.amount;
        if !row.dirty {
            row.dirty = true;
            self.dirty.push(site);
        }
    }

    fn copy(&mut self, sites: &mut Sites) {
        for site in self.dirty.drain(..) {
            sites.copy_peak(site);
        }
        self.standing = false;
        self.copies += 1;
    }
}
