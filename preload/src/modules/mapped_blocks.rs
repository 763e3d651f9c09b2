//! Blocks of glibc's allocator that have a mapping of their own. They are unmapped when they are freed, by a call
//! inside libc that reaches none of our hooks, so whoever remembers that their pages can be read must be told before.
//!
//! The block itself is not read for that: it may be no block at all, and then the program must die where it dies
//! without us. Such a block is known by its address, since its chunk begins with the mapping:
//!
//! ```text
//!  mapping │ header │ block                        from malloc: 16 bytes behind the page's beginning
//!  mapping │ header ···· │ header │ block          aligned: at a power of two behind it, or at a page's beginning
//! ```
//!
//! That is one address in 28 of others. Those in the heap or in a thread's arena are known by where they are; for the
//! rest the kernel reads the header. And nobody has to be told as long as
//! all that is remembered are threads' own stacks and pages of modules.

use crate::modules::arenas;
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{invalidations, sys};
use core::sync::atomic::{AtomicBool, Ordering};

/// The flag in a chunk's header (`IS_MMAPPED` in glibc's `malloc/malloc.c`).
const IS_MMAPPED: u64 = 2;
const PAGE: usize = 4096;

/// True once any thread remembers pages that may lie in such a block. Copied by fork, as what threads remember is.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// From now on unmappings of such blocks count.
// Relaxed here and below: whoever frees the block has learned from the thread that remembers it that it is done with
// it, in some way that orders the two.
#[cold]
pub(crate) fn watch() {
    if !IS_WATCHED.load(Ordering::Relaxed) {
        IS_WATCHED.store(true, Ordering::Relaxed);
    }
}

/// Called before libc frees or resizes what the program says is a block.
// Cost: that of `may_be_one`.
#[inline(always)]
pub(crate) fn release(block: usize) {
    if may_be_one(block) {
        look(block);
    }
}

/// True when [`look`] must be called before libc frees or resizes this block, as far as its address tells.
// Cost: a load and a test, and three instructions more in a program that is watched.
#[inline(always)]
pub(crate) fn may_be_one(block: usize) -> bool {
    IS_WATCHED.load(Ordering::Relaxed) && begins_with_mapping(block)
}

/// True for all addresses of blocks with their own mapping, and for few others.
#[inline(always)]
fn begins_with_mapping(block: usize) -> bool {
    let offset = block % PAGE;
    offset & offset.wrapping_sub(1) == 0
}

/// Counts an unmapping if the block has a mapping of its own.
#[cold]
#[inline(never)]
pub(crate) fn look(block: usize) {
    let block = block as u64;
    if arenas::is_below_break(block) || arenas::is_in_known_arena(block) {
        return;
    }
    let may_ask = allowed_calls::allows(Need::Leave) && allowed_calls::allows(Need::Map);
    let is_mapped = match may_ask.then(|| sys::copy_words(sys::thread_id(), block.wrapping_sub(8))) {
        Some(Ok([header])) => header & IS_MMAPPED != 0,
        Some(Err(rustix::io::Errno::FAULT)) => false,
        // The kernel does not say.
        Some(Err(_)) | None => true,
    };
    if is_mapped {
        invalidations::note_unmapping();
    }
}

#[cfg(test)]
mod tests {
    use super::{begins_with_mapping, release, watch};
    use crate::platform::invalidations;

    /// Check that large blocks of any alignment are known by their addresses, and noted before they are unmapped; and
    /// that neither small blocks nor addresses without a block are, which are not read either.
    #[expect(clippy::disallowed_methods, reason = "the test process keeps its own malloc")]
    #[test]
    fn blocks_with_their_own_mapping_are_known() {
        // SAFETY: no other thread changes libc's settings.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10) };
        watch();
        let noted = |block: usize| {
            let before = invalidations::unmappings();
            release(block);
            invalidations::unmappings() != before
        };
        for alignment in (3..22).map(|bit| 1_usize << bit) {
            let mut block = core::ptr::null_mut();
            // More than an arena has, which may have room for smaller ones that other tests have freed.
            // SAFETY: the place is ours, and the alignment is a power of two and holds a pointer.
            assert_eq!(unsafe { libc::posix_memalign(&raw mut block, alignment, 64 << 20) }, 0);
            assert!(begins_with_mapping(block.addr()), "{alignment}: {block:p}");
            assert!(noted(block.addr()), "{alignment}: {block:p}");
            // SAFETY: allocated above.
            unsafe { libc::free(block) };
        }
        let small = Box::new([0_u8; 64]);
        let address = (&raw const *small).addr();
        for none in [address, 1 << 16, 0x7fff_0000_0010, 0x1234_5678_1234_5010, usize::MAX & !15] {
            assert!(!noted(none), "{none:#x}");
        }
    }
}
