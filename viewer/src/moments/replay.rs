//! Events from one position to another.
//!
//! ```text
//!  chunks   │ 0 … 65,535 │ tables │ 65,536 … 131,071 │ 131,072 … 140,000 │
//!  starts   0            65,536   65,536             131,072             140,001
//! ```

use super::Moments;
use capture::{Chunk, Error, Event};
use std::io;
use std::sync::atomic::Ordering;

/// Events before each chunk, and at last all of them. Events of kinds that only a later version knows have positions, too.
pub(super) fn starts(chunks: &[Chunk]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(chunks.len() + 1);
    starts.push(0_u64);
    for chunk in chunks {
        let records = if chunk.holds_events() { u64::from(chunk.records()) } else { 0 };
        starts.push(starts[starts.len() - 1].saturating_add(records));
    }
    starts
}

impl Moments {
    /// Hands over the events from a position on, up to another.
    // Cost: decoding, and that of the chunk before the first one.
    pub(super) fn replay(&self, from: u64, to: u64, mut visit: impl FnMut(&[Event])) -> Result<(), Error> {
        if from >= to {
            return Ok(());
        }
        self.batches(from, |position, events| {
            let place = |end: u64| usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
            let (first, last) = (place(from).min(events.len()), place(to).min(events.len()));
            visit(&events[first..last]);
            last == events.len()
        })
    }

    /// Fails when nobody waits for the answer any more.
    pub(super) fn go_on(&self) -> Result<(), Error> {
        // Relaxed: nothing else is read because of it.
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Self::given_up());
        }
        Ok(())
    }

    /// The answer to whoever did not want one any more.
    pub(super) fn given_up() -> Error {
        let source = io::Error::new(io::ErrorKind::Interrupted, "nobody waits for it any more");
        Error::Io { action: "read the events".to_owned(), source }
    }

    /// Hands over batches of events with the position of the first, from the chunk on in which a position lies, as long
    /// as the visitor wants more.
    pub(super) fn batches(
        &self,
        from: u64,
        mut visit: impl FnMut(u64, &[Event]) -> bool,
    ) -> Result<(), Error> {
        let mut cursor = self.reader.cursor()?;
        cursor.seek(self.starts.partition_point(|&start| start <= from).saturating_sub(1));
        let (mut chunk, mut position) = (None, 0);
        loop {
            self.go_on()?;
            if cursor.next_batch()?.is_none() {
                return Ok(());
            }
            if chunk != cursor.chunk() {
                chunk = cursor.chunk();
                position = chunk.and_then(|chunk| self.starts.get(chunk).copied()).unwrap_or(position);
            }
            let events = cursor.batch();
            if !visit(position, events) {
                return Ok(());
            }
            position += events.len() as u64;
        }
    }
}
