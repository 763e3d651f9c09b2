//! Merges many rings into one order.
//!
//! Each ring is in order. Between rings, time orders: an allocation's time is taken after the call and a free's
//! before it, each behind whatever its thread had seen, so time increases along both chains: allocation → hand-over →
//! free, and free → reuse. Nothing later than the *watermark*, a moment before the sweep began, is merged: a record
//! with an earlier time was committed before its successors took their times, so the sweep has seen everything it
//! depends on. A test (`merge/tests/interleavings`) tries every order of the steps of some threads and of a sweep.
//!
//! Times have a resolution of some nanoseconds, so two records may have the same one. Then records that begin a block
//! come before those that end one: see [`Rank`].
//!
//! The stream with the earliest record contributes everything up to the next stream's turn, as one slice:
//!
//! ```text
//!   ring 0   1 4 9    ►  run of ring 0: 1   run of ring 1: 2 3   run of ring 0: 4 9
//!   ring 1   2 3 12      watermark 9: 12 stays
//! ```

use super::batch::Batch;
use super::loser_tree::LoserTree;
use super::merge_key::{MergeKey, Rank};
use super::message::Message;
use super::stream::Stream;
use crate::image::ImageId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of one batch: enough that handing it over costs nothing, few enough to stay in the processor's caches.
const FULL: usize = 256 << 10;

/// Identifies a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId(u32);

/// All records and notes waiting for their turn.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    /// By number; closed ones are reused.
    streams: Vec<Stream>,
    free: Vec<u32>,
    notes: BinaryHeap<Reverse<Note>>,
    /// Serial number of the next note.
    serial: u64,
    tree: LoserTree,
}

/// A timed message that is not a ring's record.
#[derive(Debug)]
struct Note {
    key: MergeKey,
    serial: u64,
    message: Message,
}

impl Merger {
    /// Opens a stream for a ring.
    pub(crate) fn open(&mut self, image: ImageId, ring: u32) -> StreamId {
        let stream = Stream::new(image, ring);
        match self.free.pop() {
            Some(number) => {
                if let Some(place) = self.streams.get_mut(number as usize) {
                    *place = stream;
                }
                StreamId(number)
            }
            None => {
                self.streams.push(stream);
                StreamId(self.streams.len() as u32 - 1)
            }
        }
    }

    /// Releases the stream for another ring.
    pub(crate) fn close(&mut self, StreamId(number): StreamId) {
        self.free.push(number);
    }

    /// Shifted ticks of a stream's last record.
    pub(crate) fn time(&self, StreamId(number): StreamId) -> u64 {
        self.streams.get(number as usize).map_or(0, Stream::time)
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self, StreamId(number): StreamId) -> &mut Stream {
        &mut self.streams[number as usize]
    }

    /// Adds a message that happened at `message.time`.
    pub(crate) fn note(&mut self, message: Message, rank: Rank) {
        let key = MergeKey::new(message.time, rank);
        self.notes.push(Reverse(Note { key, serial: self.serial, message }));
        self.serial += 1;
    }

    /// Words that wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.streams.iter().map(Stream::waiting).sum()
    }

    /// True when nothing of the image, which has these streams, waits.
    pub(crate) fn has_nothing_of(&self, image: ImageId, mut streams: impl Iterator<Item = StreamId>) -> bool {
        streams.all(|StreamId(number)| self.streams.get(number as usize).is_none_or(Stream::is_empty))
            && self.notes.iter().all(|Reverse(note)| note.message.image != image)
    }

    /// Moves what is not later than `watermark` to `batch` until that is full; false when nothing is left to move.
    // Cost: for each run two climbs of the tree of streams and a copy; see `Stream::move_until`.
    pub(crate) fn merge(&mut self, watermark: u64, batch: &mut Batch) -> bool {
        let end = MergeKey::new(watermark, Rank::Last).after();
        let keys = self.streams.iter().map(Stream::key).zip(0..);
        self.tree.fill(keys.filter(|(key, _)| *key < end));
        loop {
            // On a tie, notes come first within their rank.
            let note = self.notes.peek().map_or(MergeKey::LAST, |Reverse(note)| note.key);
            let Some((_, number)) = self.tree.first().filter(|(first, _)| *first < note) else {
                let Some(Reverse(note)) = (note < end).then(|| self.notes.pop()).flatten() else {
                    return false;
                };
                batch.note(note.message);
                continue;
            };
            if batch.bytes() >= FULL {
                return true;
            }
            let stop = self.tree.second().after().min(note).min(end);
            let Some(stream) = self.streams.get_mut(number as usize) else { return false };
            let (image, ring) = (stream.image, stream.ring);
            let (moved, next) = stream.move_until(stop);
            batch.run(image, ring, moved.time, moved.words);
            self.tree.replace_first(if next < end { next } else { MergeKey::LAST });
        }
    }

    /// Frees merged records in all streams; each keeps `keep` words of capacity.
    pub(crate) fn compact(&mut self, keep: usize) {
        self.streams.iter_mut().for_each(|stream| stream.compact(keep));
    }
}

impl PartialEq for Note {
    fn eq(&self, other: &Note) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Note {}

impl PartialOrd for Note {
    fn partial_cmp(&self, other: &Note) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Note {
    fn cmp(&self, other: &Note) -> std::cmp::Ordering {
        (self.key, self.serial).cmp(&(other.key, other.serial))
    }
}

#[cfg(test)]
mod tests;
