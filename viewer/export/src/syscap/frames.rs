//! Writes frames in order of time.

use super::frame::Frame;
use std::io::{self, Write};

/// `CLOCK_MONOTONIC` at the start, in nanoseconds: the capture does not have it, and 0 would mean unknown.
pub(super) const START: u64 = 1_000_000_000;

/// The destination of frames.
pub(super) struct Frames<'o> {
    out: &'o mut dyn Write,
    /// The first error; nothing is written after it.
    result: io::Result<()>,
    /// The time of the last frame.
    time: u64,
    end: u64,
}

impl<'o> Frames<'o> {
    /// For a recording that ends at this time.
    pub(super) fn new(out: &'o mut dyn Write, end: u64) -> Self {
        Self { out, result: Ok(()), time: START, end }
    }

    /// The time of the next frame. Times in a capture are rounded, and some samples arrive late, but frames must be
    /// in order.
    pub(super) fn time(&mut self, time: u64) -> u64 {
        self.time = self.time.max(START.saturating_add(time)).min(self.end);
        self.time
    }

    /// Writes a frame, unless there was an error before.
    pub(super) fn write(&mut self, frame: &mut Frame) {
        if self.result.is_ok() {
            self.result = frame.write(self.out);
        }
    }

    /// The result, and the writer to continue with.
    pub(super) fn finish(self) -> io::Result<&'o mut dyn Write> {
        self.result.map(|()| self.out)
    }
}
