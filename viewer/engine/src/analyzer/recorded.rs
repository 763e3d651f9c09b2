//! How the heap evolved.

use super::Analyzer;
use super::pass::Pass;
use crate::error::Error;
use analysis::lifetimes::{AddressMap, MapTable, PageTable, Pages};
use analysis::{Detail, History, Profile, ProfileBuilder, Recorder, Span, Watch};
use capture::Tables;

/// Memory at the peak.
#[derive(Clone, Debug, Default)]
pub struct PeakMemory {
    /// Where blocks were.
    pub map: MapTable,
    /// Whose blocks kept which pages.
    pub pages: PageTable,
}

impl Analyzer {
    /// The profile of all of the allocators' heaps, and their history, from one pass.
    ///
    /// # Errors
    /// Those of the file.
    pub fn history(&mut self) -> Result<(Profile, History), Error> {
        self.history_beside(|_| ()).map(|(profile, history, ())| (profile, history))
    }

    /// The same, with another observer in this pass.
    ///
    /// # Errors
    /// Those of the file.
    pub fn history_beside<W: Watch>(
        &mut self,
        watch: impl FnOnce(&Tables) -> W,
    ) -> Result<(Profile, History, W), Error> {
        let tables = self.reader.tables();
        let mut pass =
            Pass::new(ProfileBuilder::watched(tables, (Recorder::new(tables), watch(tables))), None);
        let read = self.run(&mut pass, 0, Span::Whole);
        let (counted, (recorder, watch)) = self.end_pass(pass, Span::Whole);
        self.note_damage(read)?;
        // A recording has counted by times that are up to a microsecond beside the stored ones: one of both, everywhere.
        let mut profile = self.stored_results().map_or(counted, |results| results.profile);
        self.add_samples(&mut profile, Span::Whole, None, None)?;
        Ok((profile, recorder.finish(), watch))
    }

    /// Where the blocks held at the peak of the whole capture's profile were, in at most `most` cells, and which
    /// pages they kept; none when single blocks are not known.
    ///
    /// # Errors
    /// Those of the file.
    // Cost: a pass over the events up to the peak.
    pub fn map_at_peak(&mut self, whole: &Profile, most: usize) -> Result<Option<PeakMemory>, Error> {
        let metadata = &self.reader.tables().metadata;
        if metadata.aggregate().is_some() || metadata.sample_interval > 0 {
            return Ok(None);
        }
        let tables = self.reader.tables();
        let watch = (AddressMap::default(), Pages::new(false, tables));
        let mut pass = Pass::new(ProfileBuilder::watched(tables, watch), None);
        let read = self.run(&mut pass, 0, Span::At(whole.peak.at));
        let (_, (map, pages)) = self.end_pass(pass, Span::At(whole.peak.at));
        self.note_damage(read)?;
        Ok(Some(PeakMemory { map: map.finish(most), pages: pages.finish() }))
    }

    /// A history whose slices are as fine as possible between two times, in nanoseconds since the recording began,
    /// with one merged slice before and one after; the rest is taken from the given history. None if that is about as
    /// fine already.
    ///
    /// # Errors
    /// Those of the file.
    // Cost: proportional to the events in the range, plus those since the nearest state before it.
    pub fn history_within(&mut self, whole: &History, from: u64, to: u64) -> Result<Option<History>, Error> {
        let Some(detail) = Detail::of(whole, from, to) else { return Ok(None) };
        let (mut builder, begin) =
            self.load_before(detail.begin().position, |_| detail.slices(self.reader.tables()));
        let end = detail.end().position;
        let read = self.replay(begin, end, |events| builder.events(events));
        let (_, found) = if end < self.end() { builder.cut() } else { builder.finish_watched() };
        self.note_damage(read)?;
        Ok(Some(detail.join(found)))
    }
}
