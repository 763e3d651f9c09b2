//! Counts a part of a capture.

use super::Analyzer;
use crate::error::Error;
use analysis::query::BlockFilter;
use analysis::{Checkpoint, Instant, PoolEvents, Profile, ProfileBuilder, Span, VERSION, Watch};
use capture::{Error as CaptureError, Event, StringId};

/// Counts events for the selected heap.
pub(super) struct Pass<'a, W: Watch = ()> {
    builder: ProfileBuilder<'a, W>,
    of_pool: Option<PoolEvents>,
}

impl<'a, W: Watch> Pass<'a, W> {
    /// Continues a load, for a pool or, without one, for the allocators' heaps.
    pub(super) fn new(builder: ProfileBuilder<'a, W>, heap: Option<StringId>) -> Self {
        match heap {
            Some(pool) => Self { builder: builder.of_pools(), of_pool: Some(PoolEvents::of(pool)) },
            None => Self { builder, of_pool: None },
        }
    }

    #[inline]
    pub(super) fn events(&mut self, events: &[Event]) {
        match &self.of_pool {
            Some(pool) => events.iter().for_each(|event| self.builder.pool_event(pool, event)),
            None => self.builder.events(events),
        }
    }
}

impl<W: Watch> Pass<'_, W> {
    /// Counts the events up to the copy of the `realloc` that is the last of them.
    fn up_to_copy(&mut self, events: &[Event]) {
        let of_pool = self.of_pool.as_ref();
        self.builder.up_to_copy(|builder| match of_pool {
            Some(pool) => events.iter().for_each(|event| builder.pool_event(pool, event)),
            None => builder.events(events),
        });
    }

    /// The peak of a moment is what is held then.
    pub(super) fn hold_peak_at(&mut self, span: Span) {
        if let Span::At(_) = span {
            self.builder.hold_peak();
        }
    }
}

impl Analyzer {
    /// Counts a part, either all blocks or those that pass a sieve.
    pub(super) fn count(&mut self, span: Span, sieve: Option<&BlockFilter>) -> Result<Profile, Error> {
        let (mut builder, begin) = match (sieve, self.first_of(span)) {
            (None, Some(first)) if !self.by_threads => self.load_before(first, |_| ()),
            _ => (ProfileBuilder::new(self.reader.tables()), 0),
        };
        if self.by_threads {
            builder = builder.by_threads();
        }
        if let Some(sieve) = sieve {
            builder = builder.only(|birth| sieve.takes(birth));
        }
        let mut pass = Pass::new(builder, self.heap);
        let read = self.run(&mut pass, begin, span);
        pass.hold_peak_at(span);
        let (profile, ()) = self.end_pass(pass, span);
        self.note_damage(read)?;
        Ok(profile)
    }

    /// The position at which a part needs the state.
    fn first_of(&self, span: Span) -> Option<u64> {
        match span {
            Span::Whole => None,
            Span::At(at) | Span::Range { from: at, .. } => Some(at.whole_events()),
        }
    }

    /// A load at or before a position, and its position.
    pub(super) fn load_before<W: Watch<Attached = ()>>(
        &self,
        position: u64,
        watch: impl Fn(analysis::Amount) -> W,
    ) -> (ProfileBuilder<'_, W>, u64) {
        let tables = self.reader.tables();
        let before = self.reader.states().take_while(|state| *state <= position).last();
        let saved = before
            .filter(|_| self.heap.is_none())
            .and_then(|state| self.reader.state::<Checkpoint>(state, VERSION));
        let resumed = saved.filter(|saved| Some(saved.position()) == before).and_then(|saved| {
            let (begin, held) = (saved.position(), saved.held());
            Some((ProfileBuilder::resume(tables, saved, watch(held))?, begin))
        });
        resumed.unwrap_or_else(|| (ProfileBuilder::watched(tables, watch(analysis::Amount::ZERO)), 0))
    }

    /// Feeds a pass the events of a part, starting from the pass's present position.
    pub(super) fn run<W: Watch>(
        &self,
        pass: &mut Pass<'_, W>,
        begin: u64,
        span: Span,
    ) -> Result<(), CaptureError> {
        match span {
            Span::Whole => self.replay(begin, self.end(), |events| pass.events(events)),
            Span::At(at) => {
                let read = self.run_up_to(pass, begin, at);
                pass.builder.reach(at.time);
                read
            }
            Span::Range { from, to } => {
                let read = self.run_up_to(pass, begin, from);
                pass.builder.reach(from.time);
                pass.builder.begin_range();
                read?;
                if to > from {
                    pass.builder.copied();
                }
                self.run_up_to(pass, from.position, to)
            }
        }
    }

    /// Feeds a pass the events up to a moment.
    fn run_up_to<W: Watch>(
        &self,
        pass: &mut Pass<'_, W>,
        begin: u64,
        to: Instant,
    ) -> Result<(), CaptureError> {
        self.replay(begin, to.whole_events(), |events| pass.events(events))?;
        self.replay(begin.max(to.whole_events()), to.position, |events| pass.up_to_copy(events))
    }

    /// The result of a pass over a part.
    pub(super) fn end_pass<W: Watch>(&self, pass: Pass<'_, W>, span: Span) -> (Profile, W) {
        let is_cut = match span {
            Span::Whole => false,
            Span::At(at) | Span::Range { to: at, .. } => at.whole_events() < self.end(),
        };
        let (mut profile, watch) = if is_cut { pass.builder.cut() } else { pass.builder.finish_watched() };
        profile.span = span;
        (profile, watch)
    }
}
