//! The current time of the recording.

use crate::base::capture_writer::Writer;
use crate::base::clock::Clock;
use crate::tables::recording_start::RecordingStart;
use capture::{Counter, Error, Metadata};

/// Times of events. Their order is authoritative, so time never runs backwards.
#[derive(Debug)]
pub(crate) struct Timeline {
    clock: Clock,
    /// Time of the last event.
    last: u64,
    start: RecordingStart,
}

impl Timeline {
    pub(super) fn new(clock: Clock) -> Timeline {
        Timeline { clock, last: 0, start: RecordingStart::default() }
    }

    /// The same, for a recording that begins with its first process; until then the capture has this metadata.
    pub(super) fn awaiting(self, metadata: Metadata) -> Timeline {
        Timeline { clock: self.clock.awaiting(), start: RecordingStart::awaited(metadata), ..self }
    }

    /// True while the first process is awaited.
    pub(crate) fn is_awaiting(&self) -> bool {
        self.start.is_awaited()
    }

    /// Notes that a process takes part since `time`, in shifted ticks.
    pub(super) fn met(&mut self, time: u64, writer: &mut Writer) -> Result<(), Error> {
        self.start.met(time, &mut self.clock, writer)
    }

    /// Advances to this time, in shifted ticks; returns it converted, no earlier than any event before.
    // Cost: a multiplication and a comparison.
    #[inline]
    pub(crate) fn advance(&mut self, ticks: u64) -> u64 {
        self.last = self.clock.nanoseconds(ticks).max(self.last);
        self.last
    }

    /// Time of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// True when an event of this time, in ticks, or a later one is written, and so all before it.
    pub(crate) fn has_passed(&self, ticks: u64) -> bool {
        self.last >= self.clock.nanoseconds(ticks)
    }

    /// Nanoseconds since the recording began.
    pub(crate) fn now(&self) -> u64 {
        self.clock.nanoseconds(self.clock.now())
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Measures the clock again.
    pub(super) fn measure(&mut self) {
        self.clock.measure();
    }

    /// Converts a reading by a clock started with the session; `None` if it was taken before the recording began.
    pub(super) fn counter(&self, counter: &Counter) -> Option<Counter> {
        self.start.counter(counter)
    }
}
