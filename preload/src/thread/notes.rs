//! Notes that a child of vfork leaves for its parent, see [`super::vfork_notes`].

use core::cell::Cell;

/// Most notes that a thread keeps; further calls are counted as lost.
const NOTES: usize = 64;

/// A call of the child that changed the parent's heap, or was meant to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Note {
    pub(crate) address: usize,
    /// The size of the block that was allocated; [`FREED`] for a block that was freed.
    pub(crate) size: usize,
    pub(crate) alignment: usize,
}

/// No block has this size.
pub(crate) const FREED: usize = usize::MAX;
/// No block has this address: the call returned none.
pub(crate) const FAILED: usize = 0;

/// Notes of one thread, oldest first. Zeroed memory has none.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Notes {
    pub(super) count: Cell<usize>,
    pub(super) notes: [Cell<Note>; NOTES],
}

impl Notes {
    /// Forgets what was noted, since another thread has the memory now.
    pub(super) fn clear(&self) {
        self.count.set(0);
    }
}
