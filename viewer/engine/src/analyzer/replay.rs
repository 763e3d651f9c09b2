//! Events from one position to another.
//!
//! ```text
//!  chunks   │ 0 … 65,535 │ tables │ 65,536 … 131,071 │ 131,072 … 140,000 │
//!  starts   0            65,536   65,536             131,072             140,001
//! ```

use super::Analyzer;
use capture::{Chunk, Error, Event};
use std::io;
use std::sync::atomic::Ordering;

/// Number of events before each chunk, followed by the total. Events of unknown kinds, from a later version, have
/// positions, too.
pub(super) fn starts(chunks: &[Chunk]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(chunks.len() + 1);
    starts.push(0_u64);
    for chunk in chunks {
        let records = if chunk.holds_events() { u64::from(chunk.records()) } else { 0 };
        starts.push(starts[starts.len() - 1].saturating_add(records));
    }
    starts
}

impl Analyzer {
    /// Hands over the events from one position up to another.
    // Cost: decoding, including the skipped part of the first chunk.
    pub(super) fn replay(&self, from: u64, to: u64, mut visit: impl FnMut(&[Event])) -> Result<(), Error> {
        self.replay_batches(from, to, |_, events| visit(events))
    }

    /// The same in batches of some thousand, each with the position of its first event. If there are many, another
    /// thread decodes ahead.
    pub(super) fn replay_batches(
        &self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(u64, &[Event]),
    ) -> Result<(), Error> {
        if from >= to {
            return Ok(());
        }
        self.go_on()?;
        let chunks = self.chunk_of(from)..self.starts.partition_point(|&start| start <= to);
        let mut place = Place::default();
        let mut wanted = Ok(());
        let read = self.reader.for_each_batch_ahead(chunks, |chunk, events| {
            let position = place.of(chunk, events, &self.starts);
            let cut = |end: u64| usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
            let (first, last) = (cut(from).min(events.len()), cut(to).min(events.len()));
            visit(position + first as u64, &events[first..last]);
            wanted = self.go_on();
            last == events.len() && wanted.is_ok()
        });
        wanted.and(read)
    }

    /// Fails when the caller no longer waits for the answer.
    pub(super) fn go_on(&self) -> Result<(), Error> {
        // Relaxed: nothing else is read because of it.
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Self::given_up());
        }
        Ok(())
    }

    /// The error for a caller who gave up.
    pub(super) fn given_up() -> Error {
        let source = io::Error::new(io::ErrorKind::Interrupted, "cancelled");
        Error::Io { action: "read the events".to_owned(), source }
    }

    /// Hands over batches of events with the position of the first, starting with the chunk that contains a position,
    /// as long as the visitor wants more, which is usually not long.
    pub(super) fn batches(
        &self,
        from: u64,
        mut visit: impl FnMut(u64, &[Event]) -> bool,
    ) -> Result<(), Error> {
        let mut cursor = self.reader.cursor()?;
        cursor.seek(self.chunk_of(from));
        let mut place = Place::default();
        loop {
            self.go_on()?;
            if cursor.next_batch()?.is_none() {
                return Ok(());
            }
            let events = cursor.batch();
            let position = place.of(cursor.chunk().unwrap_or_default(), events, &self.starts);
            if !visit(position, events) {
                return Ok(());
            }
        }
    }

    /// The index of the last chunk that does not begin after an event's position.
    fn chunk_of(&self, position: u64) -> usize {
        self.starts.partition_point(|&start| start <= position).saturating_sub(1)
    }
}

/// Tracks the positions of batches.
#[derive(Default)]
struct Place {
    /// The chunk of the previous batch.
    chunk: Option<usize>,
    /// The position after its last event.
    end: u64,
}

impl Place {
    /// The position of the first event of the next batch.
    fn of(&mut self, chunk: usize, events: &[Event], starts: &[u64]) -> u64 {
        if self.chunk.replace(chunk) != Some(chunk) {
            self.end = starts.get(chunk).copied().unwrap_or(self.end);
        }
        let position = self.end;
        self.end += events.len() as u64;
        position
    }
}
