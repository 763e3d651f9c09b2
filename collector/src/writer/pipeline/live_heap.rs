//! The numbers of the recording while it goes on, for whoever asks for them.

use super::Pipeline;
use crate::drain::image_drain::Counts;
use crate::writer::live_heap::LiveHeap;
use capture::{Counter, Summary};
use std::path::PathBuf;

impl Pipeline {
    /// The state at this moment, with these counts of the drain thread; its tables are in `capture`, if they are kept.
    pub(crate) fn live_heap(
        &mut self,
        drained: &Counts,
        capture: Option<PathBuf>,
    ) -> Result<LiveHeap, capture::Error> {
        let profile = self.writer.observer().so_far();
        let (mut length, mut end) = (0, Vec::new());
        if capture.is_some() {
            end = self.writer.index_so_far(&Summary::default())?;
            length = self.writer.length();
        }
        let processes = self.processes.with_starts().filter(|(_, process, _)| process.end.is_none());
        let lost = self.totals.losses(drained);
        Ok(LiveHeap {
            time: self.timeline.now(),
            profile,
            processes: processes.map(|(id, process, _)| (id, process.clone())).collect(),
            counters: self.counters.clone(),
            lost: lost.iter().fold(0, |sum, lost| sum.saturating_add(lost.events)),
            overhead: self.overhead(),
            capture,
            length,
            end,
        })
    }

    /// Notes the last value of a counter. Of processes that have ended little is kept.
    pub(super) fn note_counter(&mut self, counter: &Counter) {
        self.counters.insert((counter.process, counter.kind), counter.value);
        if self.counters.len() == self.counters.capacity() {
            let alive = self.processes.with_starts().filter(|(_, process, _)| process.end.is_none());
            let alive: Vec<_> = alive.map(|(id, ..)| id).collect();
            self.counters.retain(|(process, _), _| process.is_none_or(|process| alive.contains(&process)));
        }
    }
}
