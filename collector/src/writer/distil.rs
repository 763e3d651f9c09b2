//! For recordings of which something smaller is kept than all events: a *distiller* reads the capture while it grows,
//! in a thread of its own, and what it has read is given back to the system.
//!
//! ```text
//!  writer ──► capture in memory ──► distiller ──► what is kept
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
pub trait Distil {
    /// Takes in what is there now. Returns how far it has read, which is not needed again, and the size of its
    /// output.
    ///
    /// # Errors
    /// When one of the two cannot be read or written.
    fn refresh(&mut self) -> Result<(u64, u64), capture::Error>;

    /// Takes in the rest; the capture is whole.
    ///
    /// # Errors
    /// As [`Distil::refresh`].
    fn finish(self: Box<Self>) -> Result<(), capture::Error>;
}

/// Creates the distiller, in its own thread.
pub type Begin = Box<dyn FnOnce() -> Box<dyn Distil> + Send>;

/// Handle of the distilling thread.
#[derive(Debug)]
pub(crate) struct Distiller {
    thread: JoinHandle<Result<(), capture::Error>>,
    over: Arc<AtomicBool>,
}

impl Distiller {
    /// Starts distilling the capture that goes into this file.
    pub(crate) fn start(begin: Begin, file: Arc<File>, written: Arc<Written>) -> std::io::Result<Distiller> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        written.begin_distilling();
        let thread = std::thread::Builder::new().name("distiller".into()).spawn(move || {
            scheduling::give_way();
            let mut distil = begin();
            loop {
                // Acquire pairs with the Release of `finish`: the capture is whole then.
                let is_last = is_over.load(Ordering::Acquire);
                let (read, kept) = distil.refresh().inspect_err(|_| written.fail_distilling())?;
                // Where holes cannot be punched, the recording only takes more memory.
                let _ = fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, read);
                written.distilled(read, kept);
                if is_last {
                    return distil.finish();
                }
                std::thread::park_timeout(TURN);
            }
        })?;
        Ok(Distiller { thread, over })
    }

    /// Waits for the distiller's output to be finished; called when the capture is whole, or never will be.
    pub(crate) fn finish(self) -> Result<(), crate::base::error::Error> {
        // Release pairs with the Acquire of the thread.
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let ended = self.thread.join().map_err(|_| crate::base::error::Error::Crashed)?;
        ended.map_err(|source| crate::base::error::Error::Distil { source })
    }
}
