//! What was computed from the events when they were written: a version and one value as bincode writes it, in parts.
//!
//! The value belongs to those who compute it, so this crate does not know what is in it. It need not be understood: all
//! of it can be computed from the events.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use serde::de::DeserializeOwned;

use crate::chunk::Chunk;
use crate::fetch::Fetcher;
use crate::format::ChunkKind;
use crate::reader::Reader;
use crate::source::ReadAt;

/// Most bytes of a value for each byte that it takes in the file, and in addition: as for tables.
const GROWTH: (usize, usize) = (64, 256 << 20);

const CONFIG: Configuration<LittleEndian, Varint, Limit<{ 4 << 30 }>> =
    bincode::config::standard().with_limit::<{ 4 << 30 }>();

impl<S: ReadAt> Reader<S> {
    /// What the writer's observer, of this [version](crate::Observer::VERSION), has computed from all events; `None`
    /// when the capture does not have it, or has something else there.
    pub fn results<T: DeserializeOwned>(&self, version: u32) -> Option<T> {
        self.computed(ChunkKind::Results, self.event_count(), version)
    }

    /// Numbers of events before which the capture has a state, rising.
    pub fn states(&self) -> impl Iterator<Item = u64> {
        let first = self.index().iter().filter(|chunk| chunk.is(ChunkKind::State) && chunk.header.last == 0);
        first.map(|chunk| chunk.header.first)
    }

    /// The state after so many events, as [`Reader::results`].
    pub fn state<T: DeserializeOwned>(&self, position: u64, version: u32) -> Option<T> {
        self.computed(ChunkKind::State, position, version)
    }

    fn computed<T: DeserializeOwned>(&self, kind: ChunkKind, position: u64, version: u32) -> Option<T> {
        let is_part = |chunk: &&Chunk| chunk.is(kind) && chunk.header.first == position;
        let (mut value, mut part, mut stored) = (Vec::new(), Vec::new(), 0_usize);
        let mut fetcher = Fetcher::new().ok()?;
        for (number, chunk) in self.index().iter().filter(is_part).enumerate() {
            if chunk.header.last != number as u64 {
                return None;
            }
            fetcher.fetch_indexed(self.source(), chunk).ok()?;
            fetcher.unpack(&chunk.header, &mut part).ok()?;
            stored += chunk.header.stored_length as usize;
            value.append(&mut part);
            if value.len() > GROWTH.0.saturating_mul(stored).saturating_add(GROWTH.1) {
                return None;
            }
        }
        let (of, start): (u32, usize) = bincode::serde::decode_from_slice(&value, CONFIG).ok()?;
        let rest = value.get(start..).filter(|_| of == version)?;
        let (decoded, length) = bincode::serde::decode_from_slice(rest, CONFIG).ok()?;
        (length == rest.len()).then_some(decoded)
    }
}
