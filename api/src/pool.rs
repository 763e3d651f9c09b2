//! Heaps of the program's own.

use crate::{agent, name};
use core::ffi::c_uint;

/// A heap with a name and totals of its own, apart from those of the allocator: an arena, a cache, a slab.
///
/// A block is identified by its address, which is never read: any pointer will do that distinguishes the blocks of
/// the pool, except a null pointer, which is ignored. If threads share a pool, report a block after it was taken from
/// the pool, and its free before it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    number: c_uint,
}

impl Pool {
    /// The pool of this name: the same each time, so it is best kept. A process has at most 64 pools; blocks of any
    /// more are counted as lost.
    pub fn new(name: &str) -> Self {
        Self { number: name::with_c_string(name, agent::pool) }
    }

    /// Reports a new block of the pool.
    #[inline]
    pub fn alloc<T: ?Sized>(self, block: *const T, size: usize) {
        agent::report_alloc(self.number, block.cast(), size);
    }

    /// Reports that a block has another size, and perhaps another place.
    #[inline]
    pub fn realloc<T: ?Sized>(self, old: *const T, block: *const T, size: usize) {
        agent::report_realloc(self.number, old.cast(), block.cast(), size);
    }

    /// Reports that a block is about to be freed.
    #[inline]
    pub fn free<T: ?Sized>(self, block: *const T) {
        agent::report_free(self.number, block.cast());
    }
}
