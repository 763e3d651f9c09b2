//! An older capture beside that of a page.
//!
//! ```text
//!  OLD ── Loaded ─┐                     ┌─► Loaded    numbers of NEW, names of both
//!                 ├─ as `diff` does it ─┤
//!  NEW ── Loaded ─┘                     └─► Beside    what each stack had, and what both captures say of themselves
//! ```

use super::overview::{Overview, overview};
use crate::analysis::{Diff, Spelling};
use crate::compare::compare_shown;
use crate::loaded::Loaded;
use crate::query::Lens;
use std::io;

/// What a page compares its capture with.
#[derive(Debug)]
pub struct Beside {
    /// What changed, by stack.
    pub(super) diff: Diff,
    /// What the older capture says of itself.
    pub(super) older: Overview,
    /// What the newer one said before their tables became one.
    pub(super) newer: Overview,
}

impl Beside {
    /// Puts an older capture beside a newer one, which comes back with names for the stacks of both. Its own stacks,
    /// processes and threads keep their numbers.
    ///
    /// # Errors
    /// None that a capture could cause.
    pub fn new(old: Loaded, new: Loaded, spelling: Spelling) -> io::Result<(Loaded, Self)> {
        let (older, newer) = (overview(&old)?, overview(&new)?);
        let compared = compare_shown(old, new, &Lens::default(), spelling);
        Ok((compared.loaded, Self { diff: compared.diff, older, newer }))
    }
}
