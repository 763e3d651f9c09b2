//! The images of a recording that may still be live, to notice when a process of theirs executes another program and
//! connects again.
//!
//! That is asked of the images with the pid that connects, and of those whose processes have forked. Before a child's
//! first record is read nobody knows of it; so as long as there are few images all of them are asked, and else the
//! watcher notices that such a child no longer has their memory.

use super::Image;
use super::wakeup::MOST;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The images.
#[derive(Debug, Default)]
pub(crate) struct KnownImages {
    /// By the pid of the process that connected.
    by_pid: FxHashMap<u32, Vec<Weak<Image>>>,
    /// With so many pids, those of images that are gone are forgotten.
    full: usize,
}

/// The images whose processes have forked.
#[derive(Debug, Default)]
pub(crate) struct Forked(Mutex<Vec<Weak<Image>>>);

impl Forked {
    /// Notes, once, that a forked process was met in an image.
    pub(crate) fn note(&self, image: &Arc<Image>) {
        let mut forked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if forked.len() == forked.capacity() {
            forked.retain(|known| known.strong_count() != 0);
        }
        forked.push(Arc::downgrade(image));
    }

    fn all(&self) -> Vec<Arc<Image>> {
        let forked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forked.iter().filter_map(Weak::upgrade).collect()
    }
}

impl KnownImages {
    /// Adds an image.
    pub(crate) fn add(&mut self, image: &Arc<Image>) {
        if self.by_pid.len() >= self.full {
            self.forget();
        }
        self.by_pid.entry(image.info.pid).or_default().push(Arc::downgrade(image));
    }

    /// All images that are not drained to their end yet, in the order in which they connected.
    pub(crate) fn all(&mut self) -> Vec<Arc<Image>> {
        self.forget();
        let mut all: Vec<Arc<Image>> = self.by_pid.values().flatten().filter_map(Weak::upgrade).collect();
        all.sort_unstable_by_key(|image| image.id);
        all
    }

    /// Ends the earlier images of a process that connects again. Returns how many of them are still there.
    pub(crate) fn end_earlier_images(&mut self, pid: u32, forked: &Forked) -> usize {
        let others = if self.by_pid.len() < MOST { self.all() } else { forked.all() };
        let own = self.by_pid.get_mut(&pid);
        let own: Vec<Arc<Image>> = own.map_or_else(Vec::new, |own| {
            own.retain(|image| image.strong_count() != 0);
            own.iter().filter_map(Weak::upgrade).collect()
        });
        own.iter().chain(&others).for_each(|image| image.execed(pid));
        own.len()
    }

    fn forget(&mut self) {
        self.by_pid.retain(|_, images| {
            images.retain(|image| image.strong_count() != 0);
            !images.is_empty()
        });
        self.full = (self.by_pid.len() * 2).max(MOST);
    }
}
