//! Lives of the selected blocks.

use analysis::query::{BlockFilter, Selection};
use analysis::{Birth, Death, Instant, InvalidFree, Life, Mapping, Watch};

/// Tells an observer only of blocks that were born after a moment and pass a filter. Their lives end at the latest
/// with the part of the capture that was asked for.
pub(super) struct Chosen<'f, W> {
    inner: W,
    sieve: BlockFilter<'f>,
    selection: Option<Selection<'f>>,
    /// Events up to and including this one precede the part.
    after: u64,
}

impl<'f, W> Chosen<'f, W> {
    pub(super) fn new(
        inner: W,
        sieve: BlockFilter<'f>,
        selection: Option<Selection<'f>>,
        after: u64,
    ) -> Self {
        Self { inner, sieve, selection, after }
    }

    fn takes(&mut self, birth: &Birth) -> bool {
        let selects =
            |selection: &mut Selection<'f>| selection.contains(birth.process, Some(birth.thread), birth.node);
        self.sieve.takes(birth) && self.selection.as_mut().is_none_or(selects)
    }

    /// The observer.
    pub(super) fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Watch> Watch for Chosen<'_, W> {
    /// None for a block that is not selected.
    type Attached = Option<W::Attached>;

    const LOOKS: bool = W::LOOKS;

    fn born(&mut self, birth: &Birth, old: Option<&Life<Self::Attached>>) -> Self::Attached {
        if birth.at.position <= self.after || !self.takes(birth) {
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
        let Mapping { process, node, .. } = *mapping;
        let selects = |selection: &mut Selection<'_>| selection.contains(process, None, node);
        if self.sieve.takes_stack(process, node) && self.selection.as_mut().is_none_or(selects) {
            self.inner.mapped(at, &Mapping { is_before: at.position <= self.after, ..*mapping });
        }
    }
}

/// A life that the observer knows.
fn known<K: Copy>(life: &Life<Option<K>>) -> Option<Life<K>> {
    life.attached.map(|attached| life.with(attached))
}
