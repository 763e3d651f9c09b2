//! When a recording begins: with the session, or with the first process attached to, however long that takes.

use crate::base::capture_writer::Writer;
use crate::base::clock::Clock;
use capture::{Counter, Error, Metadata};

/// The beginning of a recording.
#[derive(Debug, Default)]
pub(crate) struct RecordingStart {
    /// The capture's metadata, while the first process is awaited.
    awaited: Option<Metadata>,
    /// How long the first process was awaited, in nanoseconds.
    waited: u64,
}

impl RecordingStart {
    /// A recording that awaits its first process.
    pub(crate) fn awaited(metadata: Metadata) -> RecordingStart {
        RecordingStart { awaited: Some(metadata), waited: 0 }
    }

    /// True while the first process is awaited.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.is_some()
    }

    /// Notes that a process takes part since `time`, in shifted ticks. The first one begins the recording, and the
    /// capture's start is set.
    pub(crate) fn met(&mut self, time: u64, clock: &mut Clock, writer: &mut Writer) -> Result<(), Error> {
        let Some(metadata) = self.awaited.take() else { return Ok(()) };
        self.waited = clock.begin(time).unwrap_or_default();
        let started_unix_ns = metadata.started_unix_ns.saturating_add(self.waited);
        writer.metadata(&Metadata { started_unix_ns, ..metadata })
    }

    /// Converts a reading by a clock started with the session; `None` if it was taken before the recording began.
    pub(crate) fn counter(&self, counter: &Counter) -> Option<Counter> {
        let time = counter.time.checked_sub(self.waited).filter(|_| !self.is_awaited())?;
        Some(Counter { time, ..*counter })
    }
}
