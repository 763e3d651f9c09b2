//! The whole of a capture: its profile and its timeline.

use super::Analyzer;
use super::pass::Pass;
use crate::error::Error;
use analysis::query::Part;
use analysis::{
    Amount, Counters, Profile, ProfileBuilder, Results, STEPS, Span, Timeline, Track, TrackSet, VERSION,
    busy_processors,
};
use capture::Sampling;

impl Analyzer {
    /// The profile of the whole capture.
    pub(super) fn whole(&mut self) -> Result<&Profile, Error> {
        if self.whole.is_none() {
            let profile = if self.by_threads || self.heap.is_some() {
                self.count(Span::Whole, None)?
            } else {
                self.results()?.profile.clone()
            };
            self.whole = Some(profile);
        }
        Ok(self.whole.get_or_insert_default())
    }

    /// The numbers and the timeline of the allocators' heaps over the whole capture: what the capture has, or else
    /// what a pass over its events finds.
    fn results(&mut self) -> Result<&Results, Error> {
        let results = match self.results.take().or_else(|| self.stored_results()) {
            Some(results) => results,
            None => self.count_all()?,
        };
        Ok(self.results.insert(results))
    }

    /// What the capture has of its events.
    pub(super) fn stored_results(&self) -> Option<Results> {
        let tables = self.reader.tables();
        let results = self.reader.results::<Results>(VERSION).filter(|results| results.fit(tables))?;
        let sampling = Sampling::new(tables.metadata.sample_interval);
        Some(Results { profile: Profile { sampling, ..results.profile }, ..results })
    }

    fn count_all(&mut self) -> Result<Results, Error> {
        let sampling = Sampling::new(self.reader.tables().metadata.sample_interval);
        let timeline = Timeline::new(STEPS, sampling);
        let mut pass = Pass::new(ProfileBuilder::watched(self.reader.tables(), timeline), None);
        let read = self.run(&mut pass, 0, Span::Whole);
        let (profile, timeline) = self.end_pass(pass, Span::Whole);
        self.note_damage(read)?;
        let timeline = timeline.ended(self.end_of(&profile));
        Ok(Results { profile, timeline })
    }

    /// When the recording ended.
    fn end_of(&self, profile: &Profile) -> u64 {
        let summary = self.reader.tables().summary.as_ref();
        profile.last_time.max(summary.map_or(0, |summary| summary.duration_ns))
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
    fn beside(&mut self, timeline: &Timeline) -> Result<TrackSet, Error> {
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
        Ok(TrackSet { tracks: tracks.collect() })
    }

    fn heap_over_time(&mut self, part: &Part, steps: usize) -> Result<(Timeline, Profile), Error> {
        let span = match self.span(part)? {
            Span::At(_) => Span::Whole,
            span => span,
        };
        if span == Span::Whole && self.heap.is_none() {
            let timeline = self.results()?.timeline.clone().narrowed(steps);
            return Ok((timeline, self.whole()?.clone()));
        }
        let sampling = self.sampling();
        let (builder, begin) = match span {
            Span::Range { from, to } => self
                .load_before(from.position, |held| Timeline::between(from, to.time, steps, sampling, held)),
            _ => (ProfileBuilder::watched(self.reader.tables(), Timeline::new(steps, sampling)), 0),
        };
        let mut pass = Pass::new(builder, self.heap);
        let read = self.run(&mut pass, begin, span);
        let (profile, timeline) = self.end_pass(pass, span);
        self.note_damage(read)?;
        let end = match span {
            Span::Range { to, .. } => to.time,
            _ => self.end_of(&profile),
        };
        Ok((timeline.ended(end), profile))
    }

    /// How the selected heap was sampled: programs report all blocks of their pools.
    fn sampling(&self) -> Option<Sampling> {
        Sampling::new(self.reader.tables().metadata.sample_interval).filter(|_| self.heap.is_none())
    }
}
