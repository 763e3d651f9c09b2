//! For recordings of which something smaller is kept than all events: an *aggregator* reads the capture while it grows,
//! in a thread of its own, and what it has read is given back to the system.
//!
//! ```text
//!  writer ──► capture in memory ──► aggregator ──► what is kept
//!    ▲        ███████░░░░░░░░░░░ read: given back     │
//!    └── waits while more than LAG is not read ◄──────┘   rings fill up then, and their policy holds
//! ```

use super::written::Written;
use crate::base::scheduling;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks at the growing capture.
const TURN: Duration = Duration::from_millis(200);

/// Makes something smaller of a growing capture.
pub trait Aggregator {
    /// Takes in what is there now. Returns how far it has read, which is not needed again, and the size of its
    /// output.
    ///
    /// # Errors
    /// When one of the two cannot be read or written.
    fn refresh(&mut self) -> Result<(u64, u64), capture::Error>;

    /// Takes in the rest; the capture is whole.
    ///
    /// # Errors
    /// As [`Aggregator::refresh`].
    fn finish(self: Box<Self>) -> Result<(), capture::Error>;
}

/// Creates the aggregator, in its own thread.
pub type Begin = Box<dyn FnOnce() -> Box<dyn Aggregator> + Send>;

/// Handle of the aggregating thread.
#[derive(Debug)]
pub(crate) struct AggregatorThread {
    thread: JoinHandle<Result<(), capture::Error>>,
    over: Arc<AtomicBool>,
}

impl AggregatorThread {
    /// Starts aggregating the capture that goes into this file.
    pub(crate) fn start(
        begin: Begin,
        file: Arc<File>,
        written: Arc<Written>,
    ) -> std::io::Result<AggregatorThread> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        written.begin_aggregating();
        let thread = std::thread::Builder::new().name("aggregator".into()).spawn(move || {
            scheduling::give_way();
            let mut aggregator = begin();
            loop {
                // Acquire pairs with the Release of `finish`: the capture is whole then.
                let is_last = is_over.load(Ordering::Acquire);
                let (read, kept) = aggregator.refresh().inspect_err(|_| written.fail_aggregating())?;
                // Where holes cannot be punched, the recording only takes more memory.
                let _ = fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, read);
                written.aggregated(read, kept);
                if is_last {
                    return aggregator.finish();
                }
                std::thread::park_timeout(TURN);
            }
        })?;
        Ok(AggregatorThread { thread, over })
    }

    /// Waits for the aggregator's output to be finished; called when the capture is whole, or never will be.
    pub(crate) fn finish(self) -> Result<(), crate::base::error::Error> {
        // Release pairs with the Acquire of the thread.
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let ended = self.thread.join().map_err(|_| crate::base::error::Error::Crashed)?;
        ended.map_err(|source| crate::base::error::Error::Aggregate { source })
    }
}
