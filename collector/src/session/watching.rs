//! The watcher's thread, from the outside.

use super::no_thread;
use super::writing::Whole;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::image::watcher::Watcher;
use std::thread::JoinHandle;

/// Watches processes until nobody can ask for that any more.
#[derive(Debug)]
pub(super) struct Watching(JoinHandle<()>);

impl Watching {
    pub(super) fn start(clock: Clock) -> Result<(Watcher, Watching), Error> {
        let (watcher, thread) = Watcher::start(clock).map_err(no_thread)?;
        Ok((watcher, Watching(thread)))
    }

    /// Waits for the thread. Only the listener, the drain thread and requests send to it, and none of them is left
    /// when a capture is whole.
    pub(super) fn stop(self, _: &Whole) {
        let _ = self.0.join();
    }
}
