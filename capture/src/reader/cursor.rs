//! Reads the events of a capture in order.

use std::ops::Range;

use super::Reader;
use crate::chunk::Chunk;
use crate::error::Error;
use crate::event::Event;
use crate::events::{Bounds, Decoder};
use crate::fetch::Fetcher;
use crate::source::ReadAt;

/// A position among the events of a capture. It has its own buffers, up to about twenty megabytes, and shares nothing
/// with other cursors of the same reader.
pub struct Cursor<'r, S> {
    reader: &'r Reader<S>,
    bounds: Bounds,
    fetcher: Fetcher,
    decoder: Decoder,
    batch: Vec<Event>,
    /// Position in the index of the next chunk to read.
    next: usize,
    /// Position in the index at which to stop.
    end: usize,
    /// Where the chunk being read begins.
    offset: u64,
}

impl<'r, S: ReadAt> Cursor<'r, S> {
    pub(crate) fn new(reader: &'r Reader<S>) -> Result<Self, Error> {
        Self::within(reader, 0..usize::MAX)
    }

    /// A cursor over these chunks only, by their positions in [`Reader::index`].
    pub(crate) fn within(reader: &'r Reader<S>, chunks: Range<usize>) -> Result<Self, Error> {
        let tables = reader.tables();
        let bounds = Bounds {
            threads: tables.threads.len(),
            nodes: tables.nodes.len(),
            processes: tables.processes.len(),
            strings: tables.strings.len(),
            marks: tables.marks.len(),
        };
        let (fetcher, decoder) = (Fetcher::new()?, Decoder::new());
        let Range { start: next, end } = chunks;
        Ok(Cursor { reader, bounds, fetcher, decoder, batch: Vec::new(), next, end, offset: 0 })
    }

    /// Moves before the first event at or after position `chunk` of [`Reader::index`].
    pub fn seek(&mut self, chunk: usize) {
        self.next = chunk;
        self.decoder.payload();
    }

    /// The next events, some thousand from one chunk; `None` after the last.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`]; the cursor then stands after the last event.
    pub fn next_batch(&mut self) -> Result<Option<&[Event]>, Error> {
        let result = self.fill();
        if result.is_err() {
            self.seek(self.reader.index().len());
        }
        result.map(|any| any.then_some(self.batch.as_slice()))
    }

    /// The batch that [`Cursor::next_batch`] returned last.
    pub fn batch(&self) -> &[Event] {
        &self.batch
    }

    /// Gives that batch away, and reuses the memory of `spare` for the next.
    pub(crate) fn exchange_batch(&mut self, spare: Vec<Event>) -> Vec<Event> {
        std::mem::replace(&mut self.batch, spare)
    }

    /// Position in [`Reader::index`] of the chunk that the batch comes from.
    pub fn chunk(&self) -> Option<usize> {
        self.next.checked_sub(1)
    }

    /// Number of skipped events so far, of kinds that this version does not know.
    pub fn skipped(&self) -> u64 {
        self.decoder.unknown()
    }

    fn fill(&mut self) -> Result<bool, Error> {
        loop {
            let offset = self.offset;
            self.decoder
                .next_batch(self.bounds, &mut self.batch)
                .map_err(|malformed| malformed.at(offset))?;
            if !self.batch.is_empty() {
                return Ok(true);
            }
            if !self.start_chunk()? {
                return Ok(false);
            }
        }
    }

    /// Begins the next event chunk; false when there is none.
    fn start_chunk(&mut self) -> Result<bool, Error> {
        let index = self.reader.index();
        let rest = index.get(self.next..self.end.min(index.len())).unwrap_or_default();
        let Some(found) = rest.iter().position(Chunk::holds_events) else {
            self.next = self.reader.index().len();
            return Ok(false);
        };
        let chunk = rest[found];
        self.next += found + 1;
        self.offset = chunk.offset;
        self.fetcher
            .fetch_indexed(self.reader.source(), &chunk)
            .map_err(|missing| missing.at(chunk.offset))?;
        self.fetcher
            .unpack(&chunk.header, self.decoder.payload())
            .and_then(|()| self.decoder.start(chunk.header.records as usize))
            .map_err(|malformed| malformed.at(chunk.offset))?;
        Ok(true)
    }
}

/// The events of a capture one by one. The iterator ends after the first error.
pub struct Events<'r, S> {
    cursor: Cursor<'r, S>,
    position: usize,
}

impl<'r, S: ReadAt> Events<'r, S> {
    pub(crate) fn new(cursor: Cursor<'r, S>) -> Self {
        Events { cursor, position: 0 }
    }

    /// Number of skipped events so far, of kinds that this version does not know.
    pub fn skipped(&self) -> u64 {
        self.cursor.skipped()
    }
}

impl<S: ReadAt> Iterator for Events<'_, S> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position == self.cursor.batch.len() {
            self.position = 0;
            match self.cursor.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => {
                    self.cursor.batch.clear();
                    return Some(Err(error));
                }
            }
        }
        self.position += 1;
        Some(Ok(self.cursor.batch[self.position - 1]))
    }
}
