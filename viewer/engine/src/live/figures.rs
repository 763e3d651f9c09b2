//! The numbers of a stack, at a moment and between two.

use analysis::{Amount, RowTotals, parts};

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
}

parts!(Figures { held, allocated, freed, temporary });

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

parts!(Change { now, step, since });
