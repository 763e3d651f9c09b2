//! Wakes the drain thread: an event count.

use super::ImageId;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most counts the kernel accepts (`FUTEX_WAITV_MAX`).
pub(crate) const MOST: usize = 128;

/// The drain thread's own count, beside those of agents ([`shared_ring::wakeup`]).
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    pub(crate) count: AtomicU32,
    concerned: Mutex<Vec<ImageId>>,
}

impl Wakeup {
    /// Wakes the drain thread, now or when it would next fall asleep.
    pub(crate) fn notify(&self) {
        // Release pairs with the Acquire load in `Waiter::listen`: the following round sees what this wakeup is about.
        self.count.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.count, futex::Flags::PRIVATE, 1);
    }

    /// The same, for news of an image that the thread may not be looking at.
    pub(crate) fn notify_of(&self, image: ImageId) {
        self.concerned.lock().unwrap_or_else(PoisonError::into_inner).push(image);
        self.notify();
    }

    /// The images that there was news of.
    pub(crate) fn concerned(&self) -> Vec<ImageId> {
        std::mem::take(&mut self.concerned.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
