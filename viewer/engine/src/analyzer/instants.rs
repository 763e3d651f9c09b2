//! Translates moments, as users name them, to positions among the events.

use super::{Analyzer, START};
use crate::error::Error;
use analysis::query::{Anchor, Unknown, When, shifted};
use analysis::{Instant, Share};
use capture::{Action, Mark, MarkId, TIME_UNIT_NS};

impl Analyzer {
    /// The position of a moment.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a mark that the capture does not have, and those of the file.
    pub fn instant(&mut self, when: &When) -> Result<Instant, Error> {
        if let Anchor::Mark(name) = &when.anchor
            && !self.has_mark(name)
            && let Some((name, offset)) = self.shifted_mark(name)
        {
            let anchor = Anchor::Mark(name.to_owned());
            return self.instant(&When { anchor, offset: when.offset.saturating_add(offset) });
        }
        let instant = match &when.anchor {
            Anchor::Start => START,
            Anchor::End => Instant::after(self.end(), self.duration()),
            Anchor::Peak => self.whole()?.peak.at,
            Anchor::Time(time) => self.at_time(*time)?,
            Anchor::Share(share) => self.at_time(part_of(*share, self.duration()))?,
            Anchor::Mark(name) => self.at_mark(name)?,
        };
        let instant = match when.offset {
            0 => instant,
            offset => self.at_time(instant.time.saturating_add_signed(offset))?,
        };
        match when.anchor {
            Anchor::Mark(_) | Anchor::End if when.offset == 0 => Ok(instant),
            _ => self.known(instant),
        }
    }

    /// The moment itself; in an aggregated capture, the last snapshot before it.
    fn known(&mut self, instant: Instant) -> Result<Instant, Error> {
        if self.reader.tables().metadata.aggregate().is_none() {
            return Ok(instant);
        }
        if self.snapshots.is_none() {
            let mut snapshots = Vec::new();
            let read = self.batches(0, |position, events| {
                let ends = (position + 1..).zip(events).filter(|(_, event)| event.action == Action::Snapshot);
                snapshots.extend(ends.map(|(position, event)| Instant::after(position, event.time)));
                true
            });
            self.note_damage(read)?;
            self.snapshots = Some(snapshots);
        }
        let snapshots = self.snapshots.get_or_insert_default();
        // Stored times differ from those of the events by less than a unit.
        let is_before = |snapshot: &Instant| snapshot.time < instant.time.saturating_add(TIME_UNIT_NS);
        let last = snapshots.partition_point(is_before).checked_sub(1);
        Ok(last.map_or(START, |last| snapshots[last]))
    }

    /// The moment just before the first event that is later than this time.
    fn at_time(&mut self, time: u64) -> Result<Instant, Error> {
        let chunks = self.reader.index();
        // Bounds of chunks may be a little wider than their events.
        let chunk = chunks.iter().position(|chunk| chunk.times().is_some_and(|times| *times.end() > time));
        let mut found = self.end();
        if let Some(chunk) = chunk {
            let read = self.batches(self.starts[chunk], |position, events| {
                let later = events.iter().position(|event| event.time > time);
                if let Some(later) = later {
                    found = position + later as u64;
                }
                later.is_none()
            });
            self.note_damage(read)?;
        }
        Ok(Instant::after(found, time))
    }

    fn has_mark(&self, name: &str) -> bool {
        let tables = self.reader.tables();
        tables.marks.iter().any(|mark| tables.string(mark.name) == name)
    }

    /// The marks that a name without a match refers to: a mark with times added or subtracted; returns the mark's
    /// name and the sum of the times.
    fn shifted_mark<'n>(&self, mut name: &'n str) -> Option<(&'n str, i64)> {
        let mut offset = 0_i64;
        while !self.has_mark(name) {
            let (before, more) = shifted(name)?;
            (name, offset) = (before, offset.saturating_add(more));
        }
        Some((name, offset))
    }

    /// Just after the first mark of this name.
    fn at_mark(&mut self, name: &str) -> Result<Instant, Error> {
        let tables = self.reader.tables();
        let of_name = |mark: &&Mark| tables.string(mark.name) == name;
        let Some((place, mark)) = tables.marks.iter().enumerate().find(|(_, mark)| of_name(mark)) else {
            let there = tables.marks.iter().map(|mark| tables.string(mark.name).to_owned());
            let mut unknown = Unknown::new("mark", name, there);
            unknown.others += ". A moment can also be a time (12.5s), a share (50%), start, end or peak";
            return Err(unknown.into());
        };
        let (id, time) = (MarkId::from_index(place), mark.time);
        // Bounds of chunks are rounded outwards, so the mark is in none that ends before it.
        let chunks = self.reader.index();
        let chunk = chunks.iter().position(|chunk| chunk.times().is_some_and(|times| *times.end() >= time));
        let mut found = None;
        let read = self.batches(chunk.map_or(0, |chunk| self.starts[chunk]), |position, events| {
            let place = events.iter().position(|event| event.action == Action::Mark { mark: id });
            found = place.map(|place| position + place as u64 + 1);
            found.is_none()
        });
        self.note_damage(read)?;
        match found {
            Some(position) => Ok(Instant::after(position, time)),
            // The file was truncated between the mark's row and its event.
            None => self.at_time(time),
        }
    }

    /// Length of the recording in nanoseconds; for a file without an end, up to its last event.
    pub(super) fn duration(&self) -> u64 {
        let last =
            || self.reader.index().iter().filter_map(|chunk| chunk.times()).map(|times| *times.end()).max();
        let summary = self.reader.tables().summary.as_ref();
        summary.map_or_else(|| last().unwrap_or(0), |summary| summary.duration_ns)
    }
}

fn part_of(share: Share, whole: u64) -> u64 {
    (share.as_percent() / 100.0 * whole as f64).round() as u64
}
