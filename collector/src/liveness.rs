//! How agents see that the collector is gone.
//!
//! Each image's control memory has a word that holds the id of a thread of ours, a *keeper*. The kernel marks the word with
//! `FUTEX_OWNER_DIED` when that thread ends, however it ends. So a keeper does nothing but live.
//!
//! ```text
//!   keeper 1 ── 1,024 images        keeper 2 ── 1,024 images        keeper 3 ── those that came last
//! ```
//!
//! Of what a thread leaves, the kernel marks no more than 2,047 words; processes beyond would never know, and those that wait for room in
//! their rings wait for nobody. So there are as many keepers as it takes.

#[expect(unsafe_code, reason = "the kernel reads a list in our memory when we die")]
mod keeper;

use keeper::Keeper;
use shared_ring::Control;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Images of one keeper: fewer than the kernel marks by far, since two may come at once, and each that comes or goes has all of its keeper's
/// linked anew.
const MOST: usize = 1024;

/// The threads that agents watch.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    keepers: Mutex<Vec<Keeper>>,
}

impl Liveness {
    /// Starts the first of them.
    pub(crate) fn start() -> io::Result<Liveness> {
        let liveness = Liveness::default();
        liveness.keeper()?;
        Ok(liveness)
    }

    /// The id of a thread that has room for an image: what its owner word is to hold.
    ///
    /// # Errors
    /// When there is none, and no further one can be started.
    pub(crate) fn keeper(&self) -> io::Result<u32> {
        let mut keepers = self.keepers();
        if let Some(free) = keepers.iter().find(|keeper| keeper.images < MOST) {
            return Ok(free.thread_id());
        }
        let keeper = Keeper::start()?;
        let thread_id = keeper.thread_id();
        keepers.push(keeper);
        Ok(thread_id)
    }

    /// Has an image watched from now on, by the keeper that its owner word names.
    pub(crate) fn add(&self, control: &Control) {
        if let Some(keeper) = owner(&mut self.keepers(), control) {
            keeper.add(control);
        }
    }

    /// Must be called before the image's memory goes.
    pub(crate) fn remove(&self, control: &Control) {
        if let Some(keeper) = owner(&mut self.keepers(), control) {
            keeper.remove(control);
        }
    }

    fn keepers(&self) -> MutexGuard<'_, Vec<Keeper>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owner<'k>(keepers: &'k mut [Keeper], control: &Control) -> Option<&'k mut Keeper> {
    // Relaxed: nobody but the one who made the memory has written it, and agents cannot.
    let owner = control.header().owner.load(Ordering::Relaxed);
    keepers.iter_mut().find(|keeper| keeper.thread_id() == owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, Policy};
    use shared_ring::Geometry;

    const GEOMETRY: Geometry =
        Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };

    /// Each has two descriptors while it is made, and one then.
    fn memory(liveness: &Liveness) -> Memory {
        let mut memory = Memory::new(GEOMETRY, Policy::default(), liveness.keeper().unwrap()).unwrap();
        drop(memory.take_descriptors());
        liveness.add(&memory.control());
        memory
    }

    /// Check that an orderly end is not taken for a death, and that images which are gone make room for others.
    #[test]
    fn orderly_ends_are_no_deaths() {
        let liveness = Liveness::start().unwrap();
        let last = memory(&liveness);
        for _ in 0..2 * MOST {
            let memory = memory(&liveness);
            liveness.remove(&memory.control());
        }
        assert_eq!(liveness.keepers().len(), 1);
        liveness.remove(&last.control());
        drop(liveness);
        assert!(!last.control().owner_died());
    }

    /// Check that all images learn of the death of a collector that was killed, however many they are.
    #[test]
    fn all_learn_of_a_death() {
        let liveness = Liveness::start().unwrap();
        let images: Vec<Memory> = (0..3000).map(|_| memory(&liveness)).collect();
        let gone = &images[7];
        liveness.remove(&gone.control());
        let keepers = std::mem::take(&mut *liveness.keepers());
        assert_eq!(keepers.len(), 3);
        keepers.into_iter().for_each(Keeper::die);
        let unaware = images.iter().filter(|image| !image.control().owner_died());
        assert_eq!(unaware.count(), 1);
        assert!(!gone.control().owner_died());
    }
}
