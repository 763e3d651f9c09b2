//! The numbers of a stack, at a moment and between two.

use analysis::{Amount, RowTotals};
use std::ops::{AddAssign, Sub};

/// The numbers of a stack, or their changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Allocated and not freed.
    pub held: Amount,
    /// Allocated so far.
    pub allocated: Amount,
    /// Of these, freed so far.
    pub freed: Amount,
    /// Of these, freed by the thread that allocated them before its next allocation.
    pub temporary: Amount,
}

impl Figures {
    /// The numbers of a row. What a process left when it ended counts as held if `holds_what_is_left`.
    pub(super) fn of(row: &RowTotals, holds_what_is_left: bool) -> Self {
        let left = if holds_what_is_left { row.left } else { Amount::ZERO };
        Self { held: row.held + left, allocated: row.allocated, freed: row.freed, temporary: row.temporary }
    }

    /// Applies a function to each amount.
    pub(super) fn map(self, mut each: impl FnMut(Amount) -> Amount) -> Self {
        Self {
            held: each(self.held),
            allocated: each(self.allocated),
            freed: each(self.freed),
            temporary: each(self.temporary),
        }
    }
}

impl Sub for Figures {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            held: self.held - other.held,
            allocated: self.allocated - other.allocated,
            freed: self.freed - other.freed,
            temporary: self.temporary - other.temporary,
        }
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.held += other.held;
        self.allocated += other.allocated;
        self.freed += other.freed;
        self.temporary += other.temporary;
    }
}

/// The numbers of a stack and how they changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Counted from the beginning of the recording.
    pub now: Figures,
    /// The change since the previous look.
    pub step: Figures,
    /// The change since the beginning, or since the last reset.
    pub since: Figures,
}

impl Change {
    pub(super) fn map(self, mut each: impl FnMut(Amount) -> Amount) -> Self {
        Self {
            now: self.now.map(&mut each),
            step: self.step.map(&mut each),
            since: self.since.map(&mut each),
        }
    }
}

impl AddAssign for Change {
    fn add_assign(&mut self, other: Self) {
        self.now += other.now;
        self.step += other.step;
        self.since += other.since;
    }
}
