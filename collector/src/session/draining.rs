//! The drain thread, from the outside.

use super::spawn;
use crate::accept::listener::Closed;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::drain::queue;
use crate::drain::{Drain, Shared, Work};
use crate::image::wakeup::Wakeup;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// Empties the rings until stopped.
#[derive(Debug)]
pub(super) struct Draining {
    thread: JoinHandle<(Work, queue::Sender)>,
    shared: Arc<Shared>,
    /// Wakes the thread.
    wakeup: Arc<Wakeup>,
    clock: Clock,
}

/// All that agents have written is with the writer.
#[derive(Debug)]
pub(super) struct Drained {
    /// The writer runs until this is dropped. None when the drain thread has panicked.
    to_writer: Option<queue::Sender>,
    summary: DrainSummary,
}

/// What was drained.
#[derive(Debug)]
pub(super) struct DrainSummary {
    pub(super) shared: Arc<Shared>,
    pub(super) work: Work,
    /// When draining finished, in ticks: the end of the recording.
    pub(super) time: u64,
}

impl Draining {
    pub(super) fn start(drain: Drain) -> Result<Draining, Error> {
        let (shared, wakeup, clock) = (drain.shared.clone(), drain.wakeup.clone(), drain.clock);
        Ok(Draining { thread: spawn("drain", move || drain.run())?, shared, wakeup, clock })
    }

    /// The thread's counts and its stop flag.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Empties the rings one last time; no new process can write.
    pub(super) fn stop(self, _: &Closed) -> Drained {
        // Release pairs with the Acquire load in the drain thread: its last round sees everything that happened
        // before.
        self.shared.stop.store(true, Ordering::Release);
        self.wakeup.notify();
        let (work, to_writer) =
            self.thread.join().map_or_else(|_| (Work::default(), None), |(work, to)| (work, Some(to)));
        Drained { to_writer, summary: DrainSummary { shared: self.shared, work, time: self.clock.now() } }
    }
}

impl Drained {
    /// Tells the writer that no more records will come.
    pub(super) fn end_of_records(self) -> DrainSummary {
        drop(self.to_writer);
        self.summary
    }
}
