//! What the drain thread hands to the writer: records in merged order, still encoded as in the rings.
//!
//! ```text
//!   runs     ring 0, 3 words, from 100    ring 7, 2 words, from 90    ring 0, …
//!   words    w w w                        w w                         …
//!   notes    before run 1: process started
//! ```

use super::message::{Lifecycle, Message};
use crate::image::ImageId;

/// Consecutive records of one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) image: ImageId,
    pub(crate) ring: u32,
    /// Shifted ticks of the ring's record before these.
    pub(crate) time: u64,
    /// Words in the batch.
    words: usize,
}

/// A part of a batch.
#[derive(Debug)]
pub(crate) enum Part<'b> {
    /// Whole records of one ring.
    Run(Run, &'b [u64]),
    /// A message that is not a record.
    Note(Message),
}

/// Runs and notes in merged order. A cleared batch keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    runs: Vec<Run>,
    words: Vec<u64>,
    /// Each with the index of the run it precedes.
    notes: Vec<(usize, Message)>,
}

impl Batch {
    // Cost: a few nanoseconds plus the copy.
    #[inline]
    pub(crate) fn run(&mut self, image: ImageId, ring: u32, time: u64, words: &[u64]) {
        self.runs.push(Run { image, ring, time, words: words.len() });
        match words {
            // Typical of threads that alternate; calling memcpy would cost more than the copy.
            [one] => self.words.push(*one),
            [one, two] => self.words.extend([*one, *two]),
            _ => self.words.extend_from_slice(words),
        }
    }

    pub(crate) fn note(&mut self, message: Message) {
        self.notes.push((self.runs.len(), message));
    }

    /// True when it tells of nothing but images that connected.
    pub(crate) fn has_only_images(&self) -> bool {
        self.runs.is_empty()
            && self.notes.iter().all(|(_, message)| matches!(message.event, Lifecycle::Image(_)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.notes.is_empty()
    }

    /// Bytes of records and run headers.
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.runs.len() * size_of::<Run>()
    }

    /// Takes all parts out, in order.
    pub(crate) fn take(&mut self, mut part: impl FnMut(Part<'_>)) {
        let mut rest = self.words.as_slice();
        let mut notes = self.notes.drain(..).peekable();
        for (number, run) in self.runs.iter().enumerate() {
            while let Some((_, message)) = notes.next_if(|(before, _)| *before <= number) {
                part(Part::Note(message));
            }
            let (words, after) = rest.split_at(run.words);
            rest = after;
            part(Part::Run(*run, words));
        }
        notes.for_each(|(_, message)| part(Part::Note(message)));
        self.runs.clear();
        self.words.clear();
    }
}
