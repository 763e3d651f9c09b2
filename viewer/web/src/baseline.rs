//! An older capture that a page compares its own with.
//!
//! ```text
//!  OLD ── Loaded ─┐                     ┌─► Loaded    numbers of NEW, names of both
//!                 ├─ as `diff` does it ─┤
//!  NEW ── Loaded ─┘                     └─► Baseline  what each stack had, and both overviews
//! ```

use super::overview::{Overview, overview};
use analysis::{Diff, Spelling};
use engine::lens::Lens;
use engine::{Loaded, compare_shown};
use std::io;

/// The older side of a page's comparison.
#[derive(Debug)]
pub struct Baseline {
    /// The changes, by stack.
    pub(super) diff: Diff,
    /// The older capture's overview.
    pub(super) baseline_overview: Overview,
    /// The newer capture's overview, from before the tables were merged.
    pub(super) newer: Overview,
}

impl Baseline {
    /// Compares a newer capture with an older one. The newer one is returned with names for the stacks of both; its
    /// own stacks, processes and threads keep their numbers.
    ///
    /// # Errors
    /// None that a capture could cause.
    pub fn new(old: Loaded, new: Loaded, spelling: Spelling) -> io::Result<(Loaded, Self)> {
        let (baseline_overview, newer) = (overview(&old)?, overview(&new)?);
        let compared = compare_shown(old, new, &Lens::default(), spelling);
        Ok((compared.loaded, Self { diff: compared.diff, baseline_overview, newer }))
    }
}
