//! Where among the events the regions that programs mark are.

use super::Analyzer;
use crate::error::Error;
use analysis::query::Unknown;
use analysis::{Inside, marks_by_name};
use capture::StringId;
use std::ops::Range;

impl Analyzer {
    /// The positions of the events inside regions of any of these names, as disjoint ranges in order; none when no
    /// name was given.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that no region has, and those of the file.
    pub(super) fn positions_in(&mut self, names: &[String]) -> Result<Option<Vec<Range<u64>>>, Error> {
        if names.is_empty() {
            return Ok(None);
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut inside = Inside::new(self.reader.tables(), &self.names_of_regions(names)?);
        let mut position = 0;
        // Only decodes: a fraction of the cost of counting.
        let read = self.replay(0, self.end(), |events| {
            for event in events {
                position += 1;
                let was_in = inside.is_in_any();
                inside.event(event);
                match (was_in, inside.is_in_any()) {
                    (false, true) => ranges.push(position..u64::MAX),
                    (true, false) => {
                        ranges.iter_mut().next_back().into_iter().for_each(|last| last.end = position)
                    }
                    _ => {}
                }
            }
        });
        self.note_damage(read)?;
        Ok(Some(ranges))
    }

    /// The same as times, in nanoseconds since the recording began, for what is not ordered with events.
    pub(super) fn times_in(&self, names: &[String]) -> Vec<Range<u64>> {
        let tables = self.reader.tables();
        let marks = marks_by_name(tables, self.duration());
        let wanted = marks.iter().filter(|row| names.iter().any(|name| tables.string(row.name) == name));
        let mut times: Vec<Range<u64>> =
            wanted.flat_map(|row| &row.regions).map(|region| region.from..region.to).collect();
        times.sort_unstable_by_key(|times| times.start);
        // Overlapping ones are merged.
        let mut union: Vec<Range<u64>> = Vec::new();
        for times in times {
            match union.last_mut().filter(|last| times.start <= last.end) {
                Some(last) => last.end = last.end.max(times.end),
                None => union.push(times),
            }
        }
        union
    }

    fn names_of_regions(&self, names: &[String]) -> Result<Vec<StringId>, Error> {
        let tables = self.reader.tables();
        let marks = marks_by_name(tables, 0);
        let with_regions = || marks.iter().filter(|row| !row.regions.is_empty()).map(|row| row.name);
        let find = |name: &String| {
            let found = with_regions().find(|&id| tables.string(id) == name);
            let there = || with_regions().map(|id| tables.string(id).to_owned());
            found.ok_or_else(|| Unknown::new("region", name, there()).into())
        };
        names.iter().map(find).collect()
    }
}
