//! Memory for calls that come before the next allocator is known, since `dlsym` itself may allocate.
//!
//! A bump arena of 64 KiB between inaccessible pages, whose blocks are never given back. Each block is preceded by its size, for `realloc` and
//! `malloc_usable_size`. When the arena is used up, callers get a null pointer, as from any allocator that is out of
//! memory.

use crate::platform::sys::{self, GUARD};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 64 << 10;
const HEADER: usize = 16;

/// Among our variables, so that its address is a constant for `free`. What is never touched takes no memory.
#[repr(C, align(4096))]
struct Arena {
    before: UnsafeCell<[u8; GUARD]>,
    blocks: UnsafeCell<[u8; SIZE]>,
    behind: UnsafeCell<[u8; GUARD]>,
}

// SAFETY: an atomic counter hands every byte out to one caller only.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena {
    before: UnsafeCell::new([0; GUARD]),
    blocks: UnsafeCell::new([0; SIZE]),
    behind: UnsafeCell::new([0; GUARD]),
};
static USED: AtomicUsize = AtomicUsize::new(0);

fn start() -> usize {
    ARENA.blocks.get().addr()
}

/// True for blocks of this arena.
#[inline(always)]
pub(crate) fn owns(pointer: *const c_void) -> bool {
    pointer.addr().wrapping_sub(start()) < SIZE
}

/// A zeroed block, or null. `alignment` is a power of two.
#[cold]
pub(crate) fn allocate(size: usize, alignment: usize) -> *mut c_void {
    let alignment = alignment.max(16);
    let (Some(need), true) = (size.checked_add(HEADER + alignment), alignment <= 4096) else {
        return null_mut();
    };
    if USED.load(Ordering::Relaxed) == 0 {
        // Several threads may do this. Where pages are larger, there are no guards.
        for guard in [ARENA.before.get(), ARENA.behind.get()] {
            // SAFETY: nobody uses what lies there.
            let _ = unsafe { sys::close(guard.cast(), GUARD) };
        }
    }
    // Relaxed: the counter only hands out bytes; nothing is published through it.
    let from = USED.fetch_add(need.next_multiple_of(16), Ordering::Relaxed);
    if from.checked_add(need).is_none_or(|end| end > SIZE) {
        return null_mut();
    }
    let block = (start() + from + HEADER).next_multiple_of(alignment);
    let offset = block - start();
    let pointer = ARENA.blocks.get().cast::<u8>().wrapping_add(offset);
    // SAFETY: HEADER bytes before the block belong to it alone, and are aligned to 16.
    unsafe { pointer.wrapping_sub(HEADER).cast::<usize>().write(size) };
    pointer.cast()
}

/// Size of a block of this arena.
#[cold]
pub(crate) fn size(pointer: *const c_void) -> usize {
    // SAFETY: blocks of the arena are preceded by their size, written in `allocate`.
    unsafe { pointer.cast::<u8>().wrapping_sub(HEADER).cast::<usize>().read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that blocks are aligned, disjoint and sized, and refused once the arena is used up.
    #[test]
    fn blocks_are_aligned_and_bounded() {
        let first = allocate(100, 1);
        let second = allocate(10, 256);
        assert!(owns(first) && owns(second));
        assert_eq!(first.addr() % 16, 0);
        assert_eq!(second.addr() % 256, 0);
        assert!(second.addr() >= first.addr() + 100);
        assert_eq!((size(first), size(second)), (100, 10));
        assert!(allocate(SIZE, 16).is_null());
        assert!(allocate(16, 16).is_null());
        assert!(!owns(null_mut()));
    }
}
