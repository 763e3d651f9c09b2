//! Views through a lens, with suppression rules, or of single blocks.

use super::Analyzer;
use super::chosen::{Chosen, OfChosen};
use super::pass::Pass;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use crate::suppression::{Suppressions, YoungBlockFilter, YoungLeaks, rules_of_targets};
use crate::symbolize::{Naming, Needed, named};
use analysis::lifetimes::{InvalidFreeRow, Suspects};
use analysis::query::{BlockFilter, Expression, Part, Query, Selection};
use analysis::{Names, Profile, ProfileBuilder, Span, Watch, add_idle_threads};
use capture::Tables;

impl Analyzer {
    /// Prepares counting for a lens.
    ///
    /// # Errors
    /// [`Error::Aggregated`] if it needs something that an aggregated capture does not have.
    pub(crate) fn be_ready_for(&mut self, lens: &Lens) -> Result<(), Error> {
        if lens.asks_for_threads() {
            self.needs_blocks("threads of individual blocks")?;
            self.tell_threads_apart();
        }
        Ok(())
    }

    /// Gives each thread rows of its own from now on.
    pub(crate) fn tell_threads_apart(&mut self) {
        self.by_threads = true;
        self.whole = None;
        add_idle_threads(self.reader.tables_mut());
    }

    /// What was asked for, seen through a lens.
    ///
    /// # Errors
    /// As [`Self::profile`].
    pub fn seen(mut self, query: &Query, lens: &Lens, naming: Naming) -> Result<Loaded, Error> {
        self.be_ready_for(lens)?;
        let profile = self.profile(query)?;
        Ok(lens.show(self.show(profile, naming)))
    }

    /// The same, without the leaks that rules suppress.
    ///
    /// # Errors
    /// As [`Self::profile`].
    pub fn leaks(
        mut self,
        query: &Query,
        lens: &Lens,
        suppressions: &Suppressions,
        naming: Naming,
    ) -> Result<Loaded, Error> {
        let by_threads = lens.asks_for_threads();
        if by_threads {
            self.needs_blocks("threads of individual blocks")?;
            self.tell_threads_apart();
        }
        let (profile, young) = match suppressions.older_than_ns {
            None => (self.profile(query)?, None),
            Some(limit) => {
                self.choose(query.heap.as_deref())?;
                let (_, end) = self.span(&query.part)?.times(u64::MAX);
                let end = end.min(self.duration());
                let (profile, young) = self
                    .watched(query, None, |tables| YoungBlockFilter::new(limit, by_threads, end, tables))?;
                (profile, Some(young.finish()))
            }
        };
        Ok(without_leaks_that_are_meant(self.show(profile, naming), lens, suppressions, young.as_ref()))
    }

    /// Runs a pass with an observer, which is told of the blocks that were allocated in this part, pass the filter
    /// and have a stack that the expression selects.
    ///
    /// # Errors
    /// As [`Self::profile`].
    pub fn lifetimes<W: Watch>(
        mut self,
        query: &Query,
        expression: Option<&Expression>,
        naming: Naming,
        watch: impl FnOnce(&Tables) -> W,
    ) -> Result<(Loaded, W), Error> {
        // Names come first: expressions refer to them.
        let mut tables = self.reader.tables().clone();
        let looked_up = named(&mut tables, Needed::All, naming);
        let names = Names::new(&tables);
        let selection = expression.map(|expression| expression.select(&tables, &names));
        if expression.is_some_and(Expression::asks_for_threads) {
            self.tell_threads_apart();
        }
        let (profile, watch) = self.watched(query, selection, watch)?;
        let loaded = Loaded { looked_up, heap: self.heap, ..Loaded::new(tables, profile, self.source) };
        Ok((Lens { filter: expression.cloned(), ..Lens::default() }.apply(loaded), watch))
    }

    /// The first `limit` frees of addresses without a live block in a part, with what was there before, and how many
    /// more there were. If there are none, single blocks are not visited; in an aggregated capture they cannot be.
    ///
    /// # Errors
    /// As [`Self::profile`].
    pub fn invalid_frees(
        mut self,
        part: &Part,
        limit: usize,
        naming: Naming,
    ) -> Result<(Loaded, Vec<InvalidFreeRow>, u64), Error> {
        let profile = self.profile(&Query { part: part.clone(), ..Query::default() })?;
        let is_aggregated = self.reader.tables().metadata.aggregate().is_some();
        if is_aggregated || profile.anomalies().unmatched_frees == 0 {
            return Ok((self.show(profile, naming), Vec::new(), 0));
        }
        // Blocks are followed from the start: one of them may be freed again much later.
        let until = match part {
            Part::Range(_, to) => Part::At(to.clone()),
            part => part.clone(),
        };
        let query = Query { part: until, ..Query::default() };
        let (_, suspects) = self.watched(&query, None, |_| Suspects::new(limit))?;
        let (_, frees) = self.watched(&query, None, |_| suspects.finish())?;
        let (mut rows, more) = frees.finish();
        if let Span::Range { from, .. } = profile.span {
            rows.retain(|row| row.at.time >= from.time);
        }
        Ok((self.show(profile, naming), rows, more))
    }

    pub(super) fn watched<'f, W: Watch>(
        &mut self,
        query: &'f Query,
        selection: Option<Selection<'f>>,
        watch: impl FnOnce(&Tables) -> W,
    ) -> Result<(Profile, W), Error> {
        self.needs_blocks("lifetimes of individual blocks")?;
        self.choose(query.heap.as_deref())?;
        let span = self.span(&query.part)?;
        let during = self.positions_in(&query.filter.during)?;
        let tables = self.reader.tables();
        let sieve = || BlockFilter::new(&query.filter, tables).map(|sieve| sieve.during(during.clone()));
        let (of_births, of_watch) = (sieve()?, sieve()?);
        let after = if let Span::Range { from, .. } = span { from.position } else { 0 };
        // States do not have what an observer keeps with blocks, so this pass begins at the start.
        let chosen = Chosen { sieve: of_watch, selection };
        let mut builder = ProfileBuilder::watched(tables, OfChosen { inner: watch(tables), chosen, after });
        if self.by_threads {
            builder = builder.by_threads();
        }
        if !query.filter.is_empty() {
            builder = builder.only(|birth| of_births.takes(birth));
        }
        let mut pass = Pass::new(builder, self.heap);
        let read = self.run(&mut pass, 0, span);
        pass.hold_peak_at(span);
        let (profile, watch) = self.end_pass(pass, span);
        drop(of_births);
        self.note_damage(read)?;
        Ok((profile, watch.inner))
    }
}

/// Stacks seen through a lens, without the leaks that rules suppress.
pub(super) fn without_leaks_that_are_meant(
    loaded: Loaded,
    lens: &Lens,
    suppressions: &Suppressions,
    young: Option<&YoungLeaks>,
) -> Loaded {
    let of_programs = match suppressions.of_programs {
        true => rules_of_targets(&loaded.tables),
        false => Default::default(),
    };
    // Rules refer to recorded stacks, so they are applied before stacks are rewritten.
    let (filter, rest) = lens.clone().split();
    rest.apply(suppressions.apply(filter.apply(loaded), of_programs, young))
}
