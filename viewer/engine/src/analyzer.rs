//! Answers questions about a capture: about any part of it, and any blocks.
//!
//! ```text
//!  Query ──► instants ──► replay ──► Profile ──► Loaded ──► every view
//!            positions    events up to there, from the nearest state in the capture;
//!                         none for the whole, whose numbers the capture has
//! ```

mod chosen;
mod function;
mod graph;
mod heap_snapshot;
mod history;
mod instants;
mod lifetimes;
mod pass;
mod recorded;
mod regions;
mod replay;
mod residency;

pub use function::{FunctionDetail, FunctionFrees};
pub use recorded::PeakMemory;

use crate::capture_file::{open_reader, refuse_aggregated};
use crate::error::Error;
use crate::loaded::{Loaded, Source};
use crate::symbolize::{Naming, Needed, named};
use analysis::query::{BlockFilter, Part, Query, Unknown, is_in};
use analysis::{
    Counters, Instant, Profile, Results, SampleSites, Span, Stage, add_idle_threads, name_threads, owners,
    threads,
};
use capture::{Error as CaptureError, NodeId, Reader, StringId, Tables, TaskId};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A capture that can be asked questions.
pub struct Analyzer {
    reader: Reader,
    source: Source,
    /// Number of events before each chunk of the reader's index.
    starts: Vec<u64>,
    /// The selected pool; none: the heaps of the allocators.
    heap: Option<StringId>,
    /// The profile of that heap over the whole capture, once known.
    whole: Option<Profile>,
    /// The numbers and the timeline of the allocators' heaps over the whole capture, once known.
    results: Option<Results>,
    by_threads: bool,
    /// In an aggregated capture, the end of each snapshot, once needed.
    snapshots: Option<Vec<Instant>>,
    /// Set by the caller when it no longer wants the answer.
    stop: Option<Arc<AtomicBool>>,
}

impl Analyzer {
    /// Opens a capture; its events are read when a question is asked.
    ///
    /// # Errors
    /// [`Error::Capture`] when the file cannot be read or is not a capture.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (mut reader, source) = open_reader(path)?;
        name_threads(reader.tables_mut());
        let starts = replay::starts(reader.index());
        Ok(Self {
            reader,
            source,
            starts,
            heap: None,
            whole: None,
            results: None,
            by_threads: false,
            snapshots: None,
            stop: None,
        })
    }

    /// The same, but passes over the events end with an error soon after `stop` is set: for callers who ask something
    /// else before they have their answer.
    #[must_use]
    pub fn until(mut self, stop: Arc<AtomicBool>) -> Self {
        self.give_up_when(stop);
        self
    }

    /// The same for further questions: an answer that is given up leaves the state consistent.
    pub fn give_up_when(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// The profile of what was asked for.
    ///
    /// # Errors
    /// [`Error::Unknown`] when the question names something that the capture does not have, and those of the file.
    pub fn profile(&mut self, query: &Query) -> Result<Profile, Error> {
        self.choose(query.heap.as_deref())?;
        let span = self.span(&query.part)?;
        if query.filter.divides_stacks() {
            self.needs_blocks("threads, sizes and regions of individual blocks")?;
        }
        if !query.filter.threads.is_empty() {
            add_idle_threads(self.reader.tables_mut());
        }
        let mut sieve = BlockFilter::new(&query.filter, self.reader.tables())?;
        let filter = &query.filter;
        // The stack of a free says nothing about the block: only the block's own stack tells whether it counts.
        let divides_frees = self.reader.tables().metadata.has_free_stacks() && filter.chooses_stacks();
        if filter.divides_stacks() || divides_frees {
            let regions = &filter.during;
            sieve = sieve.during(self.positions_in(regions)?);
            let mut profile = self.count(span, Some(&sieve))?;
            // Samples have no size.
            if filter.sizes.is_none() {
                let during = (!regions.is_empty()).then(|| self.times_in(regions));
                self.add_samples(&mut profile, span, during.as_deref(), Some(&sieve))?;
            }
            return Ok(profile);
        }
        let mut profile = match span {
            Span::Whole => self.whole()?.clone(),
            span => self.count(span, None)?,
        };
        self.add_samples(&mut profile, span, None, None)?;
        if !query.filter.is_empty() {
            profile.retain(|process, node| sieve.takes_stack(process, node));
        }
        Ok(profile)
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What the capture says apart from its events, as far as it was written when it was opened.
    pub fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    /// Adds names to a profile, for views.
    pub fn show(self, profile: Profile, naming: Naming) -> Loaded {
        self.show_beside(profile, &[], naming)
    }

    /// The same if stacks of other profiles are shown as well.
    pub(crate) fn show_beside(self, profile: Profile, others: &[&Profile], naming: Naming) -> Loaded {
        let Self { reader, source, heap, .. } = self;
        let mut counters = Counters::default();
        // Damage was noted when events were read; whatever precedes it counts.
        let _ = reader.for_each_counters(|some| some.iter().for_each(|counter| counters.add(counter)));
        let mut tables = reader.into_tables();
        let looked_up = named(&mut tables, Needed::Shown(&[&[&profile], others].concat()), naming);
        Loaded { looked_up, heap, counters, ..Loaded::new(tables, profile, source) }
    }

    /// Counts the CPU samples taken in a part of the recording, during the given times and in threads that pass the
    /// sieve; a moment has none. The times are in order and disjoint.
    fn add_samples(
        &mut self,
        profile: &mut Profile,
        span: Span,
        during: Option<&[Range<u64>]>,
        sieve: Option<&BlockFilter>,
    ) -> Result<(), Error> {
        let tables = self.reader.tables();
        let is_during = |time| during.is_none_or(|during| is_in(during, time));
        let (threads, owners) = sieve.map(|_| (threads(tables), owners(tables))).unwrap_or_default();
        let is_of = |task: TaskId, stack: NodeId| {
            let of = |sieve: &BlockFilter| {
                let process = owners.get(task.index()).copied().flatten();
                sieve.takes_thread(threads.get(task.index()).copied().flatten())
                    && process.is_none_or(|process| sieve.takes_stack(process, stack))
            };
            sieve.is_none_or(of)
        };
        let is_in = |time| match span {
            Span::Whole => is_during(time),
            Span::At(_) => false,
            // As for events: what is on a boundary belongs to the range before it, or to the first one.
            Span::Range { from, to } => {
                (time > from.time || from == Instant::default()) && time <= to.time && is_during(time)
            }
        };
        let mut sites = SampleSites::new(profile, tables);
        if self.by_threads {
            sites = sites.by_threads(tables);
        }
        let read = self.reader.for_each_samples(|samples| {
            let some = samples.iter().filter(|sample| is_of(sample.task, sample.stack) && is_in(sample.time));
            some.for_each(|sample| sites.add(sample));
        });
        self.note_damage(read)
    }

    /// Fails when the capture has no single blocks.
    fn needs_blocks(&self, wanted: &'static str) -> Result<(), Error> {
        refuse_aggregated(self.reader.tables(), &self.source, wanted)
    }

    /// Selects a heap by its name.
    fn choose(&mut self, name: Option<&str>) -> Result<(), Error> {
        if name.is_some() {
            self.needs_blocks("individual blocks of pools (info has their totals)")?;
        }
        let strings = &self.reader.tables().strings;
        // Each name is in a file once. A name that is missing belongs to no pool.
        let place = |name: &str| strings.iter().position(|known| known == name);
        let heap = name.map(|name| place(name).map_or(StringId(u32::MAX), StringId::from_index));
        if heap != self.heap {
            (self.heap, self.whole) = (heap, None);
        }
        let Some(name) = name.filter(|_| self.heap.is_some()) else { return Ok(()) };
        if !self.whole()?.total.allocated.is_zero() {
            return Ok(());
        }
        (self.heap, self.whole) = (None, None);
        let pools = self.whole()?.pools.clone();
        let there = pools.iter().map(|pool| self.reader.tables().string(pool.name).to_owned());
        Err(Unknown::new("heap", name, there).into())
    }

    /// Where a part begins and ends.
    fn span(&mut self, part: &Part) -> Result<Span, Error> {
        Ok(match part {
            Part::Whole => Span::Whole,
            Part::At(when) => Span::At(self.instant(when)?),
            Part::Range(from, to) => {
                let (from, to) = (self.instant(from)?, self.instant(to)?);
                let is_earlier = to.time < from.time && from.time <= self.duration();
                if to.position < from.position || (to.position == from.position && is_earlier) {
                    return Err(Error::Backwards { from: from.time, to: to.time });
                }
                // What was copied does not come back.
                Span::Range { from, to: to.max(from) }
            }
        })
    }

    /// Number of events in the capture.
    fn end(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Damage between the events ends them early, like truncation; anything else is an error.
    fn note_damage(&mut self, read: Result<(), CaptureError>) -> Result<(), Error> {
        match read {
            Ok(()) => Ok(()),
            Err(damage @ CaptureError::Damaged { .. }) => {
                self.source.cut = Some(damage.to_string());
                Ok(())
            }
            Err(error) => Err(Error::Capture { file: self.source.file.clone(), error }),
        }
    }
}

/// The beginning of every capture.
const START: Instant = Instant { position: 0, stage: Stage::Over, time: 0 };
