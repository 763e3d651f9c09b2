//! What the observer has computed: results at the end, and states while the file grows.

use super::Writer;
use crate::chunk::Label;
use crate::error::Error;
use crate::format::ChunkKind;
use crate::model::Summary;
use crate::observer::Observer;
use crate::sink::Sink;
use serde::Serialize;

/// Most bytes of a value in one chunk.
const PART: usize = 8 << 20;

/// Part of the distance between two states from which on a capture has results.
const FEW: u64 = 64;

/// Bytes of a state for each unit of its weight, while none was written.
const WEIGHT: u64 = 6;

/// How far the next state is.
#[derive(Debug)]
pub(super) struct Spacing {
    /// Events between two states, at least.
    pub(super) events: u64,
    /// Bytes of events between two states for each byte of a state.
    pub(super) share: u64,
    /// Bytes of events since the last state.
    pub(super) bytes: u64,
    /// Number of events before the last state.
    position: u64,
    /// Bytes and weight of the last state.
    last: Option<(u64, u64)>,
}

impl Default for Spacing {
    /// Replaying this many events takes a tenth of a second, and states make a file at most a fortieth longer.
    fn default() -> Self {
        Spacing { events: 1 << 21, share: 40, bytes: 0, position: 0, last: None }
    }
}

impl Spacing {
    /// True when a state of this weight is worth its bytes.
    fn is_due(&self, position: u64, weight: u64) -> bool {
        let (bytes, of) = self.last.unwrap_or((WEIGHT, 1));
        let expected = u128::from(weight) * u128::from(bytes) / u128::from(of.max(1));
        let is_far = u128::from(self.bytes) >= expected * u128::from(self.share);
        is_far && position - self.position >= self.events
    }
}

impl<W: Sink, O: Observer> Writer<W, O> {
    /// Writes a state each `events` events, or for each `share` times its bytes in events if that is later. Only when a
    /// chunk of events ends is there a state.
    #[must_use]
    pub fn with_states(mut self, events: u64, share: u64) -> Self {
        self.states = Spacing { events, share, ..self.states };
        self
    }

    /// Writes the observer's state if the last one is far enough away.
    pub(super) fn write_state_if_due(&mut self) -> Result<(), Error> {
        let Some(weight) = self.observer.weight().filter(|weight| self.states.is_due(self.events, *weight))
        else {
            return Ok(());
        };
        let state = encode(O::VERSION, &self.observer.state());
        let before = self.output.offset;
        self.write_parts(ChunkKind::State, &state)?;
        let bytes = self.output.offset - before;
        self.states = Spacing { bytes: 0, position: self.events, last: Some((bytes, weight)), ..self.states };
        Ok(())
    }

    /// Writes the observer's results, if there are any, and so many events that counting them takes longer than reading
    /// what was counted.
    pub(super) fn write_results(&mut self, summary: &Summary) -> Result<(), Error> {
        if self.events < self.states.events / FEW {
            return Ok(());
        }
        match self.observer.results(summary.duration_ns) {
            Some(results) => self.write_parts(ChunkKind::Results, &encode(O::VERSION, &results)),
            None => Ok(()),
        }
    }

    fn write_parts(&mut self, kind: ChunkKind, bytes: &[u8]) -> Result<(), Error> {
        for (number, part) in bytes.chunks(PART).enumerate() {
            let label = Label { kind, records: 1, first: self.events, last: number as u64 };
            let chunk = self.output.chunk(label, &[part])?;
            self.enter(chunk)?;
        }
        Ok(())
    }
}

/// A value with its version, as `computed.rs` reads it.
fn encode(version: u32, value: &impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec((version, value), bincode::config::standard())
        .expect("the values are plain data, and a vector takes any length")
}
