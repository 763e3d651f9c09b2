//! The whole of a capture: its profile, its timeline, and the index that makes both cheap next time.

use super::Analyzer;
use super::pass::Pass;
use crate::error::Error;
use crate::side_index::{Building, STEPS, SideIndex};
use analysis::query::Part;
use analysis::{Amount, Beside, Counters, Load, Profile, Span, Timeline, Track, busy_processors};
use capture::Sampling;

impl Analyzer {
    /// The profile of the whole capture.
    pub(super) fn whole(&mut self) -> Result<&Profile, Error> {
        if self.whole.is_none() {
            self.prepare()?;
            let profile = match self.indexed().filter(|_| !self.by_threads) {
                Some(index) => {
                    let sampling = Sampling::new(self.reader.tables().metadata.sample_interval);
                    Profile { sampling, ..index.whole().clone() }
                }
                None => self.count(Span::Whole, None)?,
            };
            self.whole = Some(profile);
        }
        Ok(self.whole.get_or_insert_default())
    }

    /// The heap over the time of a part, in at most `steps` steps. A moment has no timeline: it is replaced by the
    /// whole.
    ///
    /// # Errors
    /// Those of the file, and of moments that the capture does not have.
    pub fn timeline(&mut self, part: &Part, steps: usize) -> Result<(Timeline, Profile), Error> {
        let (mut timeline, profile) = self.heap_over_time(part, steps)?;
        timeline.beside = self.beside(&timeline)?;
        Ok((timeline, profile))
    }

    /// What happened apart from the heap: processor activity.
    fn beside(&mut self, timeline: &Timeline) -> Result<Beside, Error> {
        let mut work = Track::new("CPU samples", timeline);
        let mut counters = Counters::default();
        let read = self.reader.for_each_samples(|samples| {
            samples.iter().for_each(|sample| work.add(timeline, sample.time, Amount::block(sample.weight)));
        });
        let read = read.and_then(|()| {
            self.reader.for_each_counters(|some| some.iter().for_each(|one| counters.add(one)))
        });
        self.note_damage(read)?;
        let ends: Vec<u64> = (0..timeline.buckets.len()).map(|step| timeline.end_of(step)).collect();
        let processors = busy_processors(&counters, &ends).into_iter().map(|(processor, busy)| {
            let steps = busy.into_iter().map(|time| Amount { blocks: time, bytes: time }).collect();
            let top = Some(i64::try_from(timeline.width).unwrap_or(i64::MAX));
            Track { name: format!("processor {processor}"), steps, top }
        });
        let work = Some(work).filter(|work| !work.is_empty());
        let tracks = work.into_iter().chain(processors);
        Ok(Beside { tracks: tracks.collect() })
    }

    fn heap_over_time(&mut self, part: &Part, steps: usize) -> Result<(Timeline, Profile), Error> {
        let span = match self.span(part)? {
            Span::At(_) => Span::Whole,
            span => span,
        };
        self.prepare()?;
        if let (Span::Whole, Some(index)) = (span, self.indexed()) {
            let timeline = index.timeline().clone().narrowed(steps);
            return Ok((timeline, self.whole()?.clone()));
        }
        let sampling = self.sampling();
        let (load, begin) = match span {
            Span::Range { from, to } => self
                .load_before(from.position, |held| Timeline::between(from, to.time, steps, sampling, held)),
            _ => (Load::watched(self.reader.tables(), Timeline::new(steps, sampling)), 0),
        };
        let mut pass = Pass::new(load, self.heap);
        let read = self.run(&mut pass, begin, span);
        let (profile, timeline) = self.end_pass(pass, span);
        self.note_damage(read)?;
        let end = match span {
            Span::Range { to, .. } => to.time,
            _ => profile
                .last_time
                .max(self.reader.tables().summary.as_ref().map_or(0, |summary| summary.duration_ns)),
        };
        Ok((timeline.ended(end), profile))
    }

    /// How the selected heap was sampled: programs report all blocks of their pools.
    fn sampling(&self) -> Option<Sampling> {
        Sampling::new(self.reader.tables().metadata.sample_interval).filter(|_| self.heap.is_none())
    }

    /// The index of the selected heap.
    fn indexed(&self) -> Option<&SideIndex> {
        self.index.as_ref().filter(|_| self.heap.is_none())
    }

    /// Loads the index of a large capture, or builds it in a pass over everything. Otherwise the first moment or
    /// range that is asked for does this.
    ///
    /// # Errors
    /// Those of the file.
    pub fn prepare(&mut self) -> Result<(), Error> {
        // Totals are counted as fast as an index is loaded.
        let is_aggregated = self.reader.tables().metadata.aggregate().is_some();
        if self.is_prepared || self.heap.is_some() || is_aggregated {
            return Ok(());
        }
        self.is_prepared = true;
        let events = self.end();
        self.index = SideIndex::open(&self.cache, &self.path, events);
        if self.index.is_some() {
            return Ok(());
        }
        let Some(mut building) = Building::begin(&self.cache, &self.path, events) else { return Ok(()) };
        let mut load = Load::watched(self.reader.tables(), Timeline::new(STEPS, self.sampling()));
        let read = self.replay_batches(0, events, |position, events| {
            load.events(events);
            building.look(&load, position + events.len() as u64);
        });
        let (profile, timeline) = load.finish_watched();
        let is_whole = read.is_ok();
        let noted = self.note_damage(read);
        // A pass that was given up is repeated next time.
        self.is_prepared = noted.is_ok();
        noted?;
        if is_whole {
            let summary = self.reader.tables().summary.as_ref();
            let end = profile.last_time.max(summary.map_or(0, |summary| summary.duration_ns));
            building.end(&profile, &timeline.ended(end));
            self.index = SideIndex::open(&self.cache, &self.path, events);
        }
        self.whole = Some(profile);
        Ok(())
    }
}
