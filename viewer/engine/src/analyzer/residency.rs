//! Which pages are resident at a moment: combines the events with the page faults.

use super::Analyzer;
use super::chosen::Chosen;
use super::pass::Pass;
use crate::error::Error;
use crate::loaded::Loaded;
use crate::symbolize::{Naming, Needed, named};
use analysis::query::{BlockFilter, Expression, Query};
use analysis::{Counters, Look, Names, ProfileBuilder, Residency, ResidencyTable, Span};
use capture::{Error as CaptureError, Fault, Reader};

impl Analyzer {
    /// What is resident at a moment, or what became resident in a range and still is at its end.
    ///
    /// # Errors
    /// As [`Self::profile`].
    pub fn resident(
        mut self,
        query: &Query,
        expression: Option<&Expression>,
        naming: Naming,
    ) -> Result<(Loaded, ResidencyTable), Error> {
        let mut tables = self.reader.tables().clone();
        let looked_up = named(&mut tables, Needed::All, naming);
        let names = Names::new(&tables);
        let selection = expression.map(|expression| expression.select(&tables, &names));
        let span = self.span(&query.part)?;
        let look = match span {
            Span::Whole => Look { since: 0, until: u64::MAX, with_ended: true },
            Span::At(at) => Look { since: 0, until: at.time, with_ended: false },
            Span::Range { from, to } => Look { since: from.time, until: to.time, with_ended: false },
        };
        let during = self.positions_in(&query.filter.during)?;
        let chosen = Chosen { sieve: BlockFilter::new(&query.filter, &tables)?.during(during), selection };
        let mut damage = Ok(());
        let watch = Residency::new(self.reader.tables(), faults(&self.reader, &mut damage), chosen, look);
        let mut pass = Pass::new(ProfileBuilder::watched(self.reader.tables(), watch), None);
        let read = self.run(&mut pass, 0, span);
        let (profile, watch) = self.end_pass(pass, span);
        let table = watch.finish();
        self.note_damage(read)?;
        self.note_damage(damage)?;
        let mut counters = Counters::default();
        // Damage was noted when events were read; whatever precedes it counts.
        let _ = self.reader.for_each_counters(|some| some.iter().for_each(|counter| counters.add(counter)));
        Ok((Loaded { looked_up, counters, ..Loaded::new(tables, profile, self.source) }, table))
    }
}

/// The page faults of a capture, up to the first damage, which is noted. One chunk is in memory at a time.
fn faults<'r>(
    reader: &'r Reader,
    damage: &'r mut Result<(), CaptureError>,
) -> impl FnMut() -> Option<Fault> + 'r {
    let mut chunks = reader.index().iter();
    let mut waiting = Vec::new().into_iter();
    move || loop {
        if let Some(fault) = waiting.next() {
            return Some(fault);
        }
        match reader.faults(chunks.next()?) {
            Ok(some) => waiting = some.into_iter(),
            Err(error) => {
                *damage = Err(error);
                chunks = [].iter();
            }
        }
    }
}
