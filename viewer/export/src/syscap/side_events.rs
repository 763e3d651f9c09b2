//! What comes between the allocations: samples, values of counters, and marks.

use super::counters::Counters;
use super::frame::{Frame, Kind, LONGEST_TEXT};
use super::frames::{Frames, START};
use super::pid_of;
use super::stacks::Stacks;
use crate::events::counted_samples;
use crate::notes::{Note, notes_of};
use crate::readings::Readings;
use capture::{ProcessId, Sample};
use engine::{Error, Events, Loaded};
use std::iter::Peekable;
use std::vec::IntoIter;

/// Bytes of a mark's name.
const NAME: usize = 40;

/// All of it, by time.
pub(super) struct SideEvents<'a> {
    loaded: &'a Loaded,
    samples: Peekable<Box<dyn Iterator<Item = (ProcessId, Sample)> + 'a>>,
    readings: Readings<'a>,
    notes: Peekable<IntoIter<Note>>,
    stacks: Stacks<'a>,
    counters: Counters,
    /// The time of the next item; none: there are no more.
    next: Option<u64>,
}

impl<'a> SideEvents<'a> {
    pub(super) fn new(
        loaded: &'a Loaded,
        events: &'a dyn Events,
        frames: &mut Frames<'_>,
    ) -> Result<Self, Error> {
        let samples: Box<dyn Iterator<Item = (ProcessId, Sample)> + 'a> =
            Box::new(counted_samples(loaded, events)?);
        let mut beside = Self {
            loaded,
            samples: samples.peekable(),
            readings: Readings::new(&loaded.counters),
            notes: notes_of(loaded).into_iter().peekable(),
            stacks: Stacks::new(loaded),
            counters: Counters::define(loaded, frames),
            next: None,
        };
        beside.next = beside.earliest();
        Ok(beside)
    }

    /// The counters, for writers with values of their own.
    pub(super) fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn earliest(&mut self) -> Option<u64> {
        let sample = self.samples.peek().map(|(_, sample)| sample.time);
        let (reading, note) = (self.readings.next_time(), self.notes.peek().map(|note| note.from));
        [sample, reading, note].into_iter().flatten().min()
    }

    /// Writes everything that happened up to this time.
    // Cost: one comparison, unless something did.
    pub(super) fn until(&mut self, time: u64, frames: &mut Frames<'_>) {
        while let Some(next) = self.next.filter(|next| *next <= time) {
            while let Some((process, sample)) = self.samples.next_if(|(_, sample)| sample.time <= next) {
                self.sample(process, &sample, frames);
            }
            while self.readings.next_time().is_some_and(|time| time <= next) {
                let Some(reading) = self.readings.next() else { break };
                self.counters.read(&reading);
            }
            self.counters.write(next, frames);
            while let Some(note) = self.notes.next_if(|note| note.from <= next) {
                let time = frames.time(note.from);
                frames.write(&mut mark(self.loaded, &note, time));
            }
            self.next = self.earliest();
        }
    }

    fn sample(&mut self, process: ProcessId, sample: &Sample, frames: &mut Frames<'_>) {
        let task = self.loaded.tables.tasks.get(sample.task.index());
        let tid = task.map_or(-1, |task| task.tid.cast_signed());
        let stack = self.stacks.of_sample(process, sample.stack);
        let time = frames.time(sample.time);
        let mut frame = Frame::new(Kind::Sample, pid_of(self.loaded, process), time);
        frame.cpu(i16::try_from(sample.cpu).unwrap_or(-1));
        frame.u16(stack.len() as u16).u16(0).u32(tid.cast_unsigned());
        stack.iter().for_each(|&address| {
            frame.u64(address);
        });
        frames.write(&mut frame);
    }
}

/// A mark whose end has become known; it has the time of its beginning, as in Sysprof itself.
pub(super) fn late_mark(loaded: &Loaded, note: &Note) -> Frame {
    mark(loaded, note, START.saturating_add(note.from))
}

/// ```text
///  24  duration i64   32  group, 24 bytes   56  name, 40   96  message
/// ```
fn mark(loaded: &Loaded, note: &Note, time: u64) -> Frame {
    let pid = note.process.map_or(-1, |process| pid_of(loaded, process));
    let mut frame = Frame::new(Kind::Mark, pid, time);
    // What does not fit into the name is in the message.
    let mut message = match (note.name.len() < NAME, note.text.is_empty()) {
        (true, _) => note.text.clone(),
        (false, true) => note.name.clone(),
        (false, false) => format!("{}: {}", note.name, note.text),
    };
    message.truncate(message.floor_char_boundary(LONGEST_TEXT));
    frame.u64(note.to.saturating_sub(note.from)).short_text(note.kind.name(), 24);
    frame.short_text(&note.name, NAME).text(&message);
    frame
}
