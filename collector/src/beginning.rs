//! When a recording begins: with the session, or with the first process that is attached to, however long that is waited for.

use crate::clock::Clock;
use capture::{Counter, Error, Metadata, Writer};

/// The beginning of a recording.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    /// What the capture says of itself while the first process is waited for.
    awaited: Option<Metadata>,
    /// For how long that was waited for, in nanoseconds.
    waited: u64,
}

impl Beginning {
    /// The first process is waited for.
    pub(crate) fn awaited(metadata: Metadata) -> Beginning {
        Beginning { awaited: Some(metadata), waited: 0 }
    }

    /// True while it is.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.is_some()
    }

    /// A process takes part since this moment, in shifted ticks. With the first one the recording begins, and the capture says when.
    pub(crate) fn met(&mut self, time: u64, clock: &mut Clock, writer: &mut Writer) -> Result<(), Error> {
        let Some(metadata) = self.awaited.take() else { return Ok(()) };
        self.waited = clock.begin(time).unwrap_or_default();
        let started_unix_ns = metadata.started_unix_ns.saturating_add(self.waited);
        writer.metadata(&Metadata { started_unix_ns, ..metadata })
    }

    /// A reading by a clock that was started with the session; `None` when it was taken before the recording.
    pub(crate) fn counter(&self, counter: &Counter) -> Option<Counter> {
        let time = counter.time.checked_sub(self.waited).filter(|_| !self.is_awaited())?;
        Some(Counter { time, ..*counter })
    }
}
