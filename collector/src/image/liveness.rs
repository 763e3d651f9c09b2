//! How agents notice that the collector is gone.
//!
//! A word in each image's control memory holds the id of one of our threads, a *keeper*. When that thread ends, for
//! whatever reason, the kernel sets `FUTEX_OWNER_DIED` in the word. All a keeper does is stay alive.
//!
//! ```text
//!   keeper 1 ── 1,024 images        keeper 2 ── 1,024 images        keeper 3 ── those that came last
//! ```
//!
//! When a thread dies, the kernel marks at most 2,047 words; processes beyond that would never notice, and those
//! waiting for room in their rings would wait for nobody. So there are as many keepers as needed.

#[expect(unsafe_code, reason = "the kernel reads a list in our memory when we die")]
mod keeper;

use keeper::Keeper;
use shared_ring::Control;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Images per keeper. Well below what the kernel marks, since several may be added at once.
const MOST: usize = 1024;

/// The threads that agents watch.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    keepers: Mutex<Vec<Keeper>>,
}

impl Liveness {
    /// Starts the first keeper.
    pub(crate) fn start() -> io::Result<Liveness> {
        let liveness = Liveness::default();
        liveness.keeper()?;
        Ok(liveness)
    }

    /// The id of a keeper with room for an image, to be stored in the image's owner word.
    ///
    /// # Errors
    /// When all keepers are full, and another cannot be started.
    pub(crate) fn keeper(&self) -> io::Result<u32> {
        let mut keepers = self.keepers();
        if let Some(free) = keepers.iter().find(|keeper| keeper.images() < MOST) {
            return Ok(free.thread_id());
        }
        let keeper = Keeper::start()?;
        let thread_id = keeper.thread_id();
        keepers.push(keeper);
        Ok(thread_id)
    }

    /// Adds an image to the keeper that its owner word names.
    pub(crate) fn add(&self, control: &Control) {
        if let Some(keeper) = owner(&mut self.keepers(), control) {
            keeper.add(control);
        }
    }

    /// Must be called before the image's memory is unmapped.
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
    // Relaxed: written only by the thread that made the memory; agents cannot.
    let owner = control.header().owner.load(Ordering::Relaxed);
    keepers.iter_mut().find(|keeper| keeper.thread_id() == owner)
}

#[cfg(test)]
mod tests {
    use super::super::memory::{Memory, Policy};
    use super::*;
    use shared_ring::Geometry;

    const GEOMETRY: Geometry =
        Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };

    /// Each needs two descriptors while it is made, and one afterwards.
    fn memory(liveness: &Liveness) -> Memory {
        let mut memory = Memory::new(GEOMETRY, Policy::default(), liveness.keeper().unwrap()).unwrap();
        drop(memory.take_descriptors());
        liveness.add(&memory.control());
        memory
    }

    /// Check that an orderly end is not mistaken for a death, and that removed images make room for others.
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

    /// Check that all images learn of the death of a collector that was killed, however many there are.
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
