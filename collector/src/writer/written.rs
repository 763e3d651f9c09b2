//! How far the writer has come, for other threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How far the writer may be ahead of the aggregator, in bytes.
pub(crate) const LAG: u64 = 64 << 20;

/// The writer's progress, for other threads.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) live_bytes: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) processes: AtomicU32,
    /// Turns the writer has begun.
    turns: AtomicU64,
    /// How far an aggregator has read; [`NOBODY`] without one, [`FAILED`] after it failed.
    read: AtomicU64,
    /// Bytes of the aggregator's output.
    kept: AtomicU64,
}

/// In `read`: there is no aggregator.
const NOBODY: u64 = 0;

/// In `read`: the aggregator has failed.
const FAILED: u64 = u64::MAX;

impl Written {
    /// Counts another turn of the writer.
    pub(crate) fn begin_turn(&self) {
        // Relaxed: readers compare it with an earlier value, and read nothing on the strength of it.
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Turns so far; stays the same while the writer waits for its output.
    pub(crate) fn turns(&self) -> u64 {
        // Relaxed: as above.
        self.turns.load(Ordering::Relaxed)
    }

    /// From now on an aggregator reads what is written.
    pub(crate) fn begin_aggregating(&self) {
        self.aggregated(1, 0);
    }

    /// Notes how far the aggregator has read, and the size of its output.
    pub(crate) fn aggregated(&self, read: u64, kept: u64) {
        // Relaxed: the writer waits for numbers, and reads nothing on the strength of them.
        self.kept.store(kept, Ordering::Relaxed);
        self.read.store(read.clamp(NOBODY + 1, FAILED - 1), Ordering::Relaxed);
    }

    /// Notes that the aggregator has failed.
    pub(crate) fn fail_aggregating(&self) {
        // Relaxed: as above.
        self.read.store(FAILED, Ordering::Relaxed);
    }

    /// Bytes that will remain at the end: of the capture, or of what is kept in its place.
    pub(crate) fn kept(&self) -> u64 {
        // Relaxed: for display, and for limits that are checked twice a second.
        match self.read.load(Ordering::Relaxed) {
            NOBODY => self.bytes.load(Ordering::Relaxed),
            _ => self.kept.load(Ordering::Relaxed),
        }
    }

    /// Waits while the aggregator is far behind. Rings fill up meanwhile, and their policy for full rings applies.
    pub(crate) fn wait_for_aggregator(&self, length: u64) -> Result<(), capture::Error> {
        loop {
            // Relaxed: nothing else is read on the strength of it.
            match self.read.load(Ordering::Relaxed) {
                NOBODY => return Ok(()),
                FAILED => {
                    let source = std::io::Error::other("what is kept of the recording could not be written");
                    return Err(capture::Error::Io { action: "go on".into(), source });
                }
                read if length.saturating_sub(read) <= LAG => return Ok(()),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}
