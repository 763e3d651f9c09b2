//! Sampled stacks, each once.

use super::batch::{Batch, Step};
use capture::Pseudo;
use rustc_hash::FxHashMap;
use unwind::End;

/// The stack without frames.
pub(super) const EMPTY: u32 = 0;

/// The stacks seen so far.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    ids: FxHashMap<(u32, Step), u32>,
}

impl Stacks {
    /// The stack of `step`, called from `parent`.
    pub(super) fn node(&mut self, parent: u32, step: Step, batch: &mut Batch) -> u32 {
        let next = self.ids.len() as u32 + 1;
        *self.ids.entry((parent, step)).or_insert_with(|| {
            batch.nodes.push((parent, step));
            next
        })
    }
}

/// The outermost frame of a stack that ends so; none where it is complete.
pub(crate) fn marker(end: End) -> Option<Pseudo> {
    match end {
        End::Root => None,
        End::Truncated => Some(Pseudo::Truncated),
        End::NoUnwindInfo => Some(Pseudo::NoUnwindInfo),
        End::Broken | End::Unreadable => Some(Pseudo::Broken),
    }
}
