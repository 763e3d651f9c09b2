//! Lives of the selected blocks.

use analysis::query::{BlockFilter, Selection};
use analysis::{Birth, Choice, Death, Instant, InvalidFree, Life, Mapping, Watch};
use capture::{NodeId, ProcessId};

/// What a query and an expression select.
pub(super) struct Chosen<'f> {
    pub(super) sieve: BlockFilter<'f>,
    pub(super) selection: Option<Selection<'f>>,
}

impl Choice for Chosen<'_> {
    fn takes(&mut self, birth: &Birth) -> bool {
        let Birth { process, thread, node, .. } = *birth;
        let selects = |selection: &mut Selection<'_>| selection.contains(process, Some(thread), node);
        self.sieve.takes(birth) && self.selection.as_mut().is_none_or(selects)
    }

    fn takes_stack(&mut self, process: ProcessId, node: NodeId) -> bool {
        let selects = |selection: &mut Selection<'_>| selection.contains(process, None, node);
        self.sieve.takes_stack(process, node) && self.selection.as_mut().is_none_or(selects)
    }
}

/// Tells an observer only of blocks that were born after a moment and are chosen. Their lives end at the latest with the
/// part of the capture that was asked for.
pub(super) struct OfChosen<'f, W> {
    pub(super) inner: W,
    pub(super) chosen: Chosen<'f>,
    /// Events up to and including this one precede the part.
    pub(super) after: u64,
}

impl<W: Watch> Watch for OfChosen<'_, W> {
    /// None for a block that is not selected.
    type Attached = Option<W::Attached>;

    const LOOKS: bool = W::LOOKS;

    fn born(&mut self, birth: &Birth, old: Option<&Life<Self::Attached>>) -> Self::Attached {
        if birth.at.position <= self.after || !self.chosen.takes(birth) {
            return None;
        }
        let old = old.and_then(known);
        Some(self.inner.born(birth, old.as_ref()))
    }

    fn died(&mut self, life: &Life<Self::Attached>, death: &Death) {
        if let Some(life) = known(life) {
            self.inner.died(&life, death);
        }
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        if at.position > self.after {
            self.inner.freed_invalid(at, free);
        }
    }

    fn mapped(&mut self, at: Instant, mapping: &Mapping) {
        if self.chosen.takes_stack(mapping.process, mapping.node) {
            self.inner.mapped(at, &Mapping { is_before: at.position <= self.after, ..*mapping });
        }
    }
}

/// A life that the observer knows.
fn known<K: Copy>(life: &Life<Option<K>>) -> Option<Life<K>> {
    life.attached.map(|attached| life.with(attached))
}
