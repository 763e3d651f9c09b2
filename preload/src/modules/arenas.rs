//! Memory of libc's own allocator. libc returns parts of it to the kernel by internal calls that reach none of our
//! hooks: the end of the heap below the break, and parts of its arenas. So what a walk learns about such pages, for
//! example a coroutine's stack in a block, is valid for that walk only.
//!
//! The parts of an arena lie at multiples of their largest size and begin with a header (`heap_info` in glibc's
//! `malloc/arena.c`). Of musl's allocator nothing is known: any memory outside the stacks that threads were created
//! with may belong to it.

use crate::modules::known_pages::OF_ARENAS;
use crate::modules::{c_library, musl};
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, sys};

/// `HEAP_MAX_SIZE`.
const LARGEST_PART: u64 = 64 << 20;
const PAGE: u64 = 4096;

/// Distance below the end of the main stack within which nothing else lies: the kernel leaves at least 128 MiB.
pub(crate) const MAIN_STACK: u64 = 120 << 20;

/// The header of a part.
#[derive(Clone, Copy, Debug)]
struct Part {
    arena: u64,
    before: u64,
    size: u64,
    opened: u64,
}

impl Part {
    /// True when this can be the header of a part that contains `offset`.
    fn contains(&self, offset: u64) -> bool {
        self.arena != 0
            && self.arena.is_multiple_of(8)
            && self.before.is_multiple_of(LARGEST_PART)
            && self.size.is_multiple_of(PAGE)
            && self.opened.is_multiple_of(PAGE)
            && offset < self.size
            && self.size <= self.opened
            && self.opened <= LARGEST_PART
    }
}

/// True where memory may be unmapped without a hook of ours being called.
#[cold]
pub(crate) fn may_give_back(address: u64) -> bool {
    if c_library::is_musl() {
        return !is_on_main_stack(address) && !musl::is_on_own_stack(address);
    }
    is_below_break(address) || is_in_arena(address)
}

/// True below the end of the heap.
pub(crate) fn is_below_break(address: u64) -> bool {
    address < heap_end()
}

/// The end of the heap, which libc moves down when it gives memory back; 0 where libc does not tell.
#[inline(always)]
pub(crate) fn heap_end() -> u64 {
    let place: *const u64 = arch::weak!("__curbrk").cast();
    // SAFETY: null, or a variable of libc.
    unsafe { place.as_ref() }.copied().unwrap_or(0)
}

/// True on the main thread's stack; the kernel leaves more room than this below it.
pub(crate) fn is_on_main_stack(address: u64) -> bool {
    // SAFETY: reads a word that the kernel passed at the start: the place of the program's name, at the end of the
    // stack.
    let top = unsafe { libc::getauxval(libc::AT_EXECFN) };
    address < top && top.wrapping_sub(address) < MAIN_STACK
}

/// The same as [`is_in_arena`], which is remembered until the next unmapping that a hook sees.
// Cost: three loads and compares in an arena that is known; a call of the kernel else.
pub(crate) fn is_in_known_arena(address: u64) -> bool {
    let start = address & !(LARGEST_PART - 1);
    OF_ARENAS.has(start) || OF_ARENAS.learn_if(start, || is_in_arena(address))
}

#[cold]
fn is_in_arena(address: u64) -> bool {
    let start = address & !(LARGEST_PART - 1);
    if !allowed_calls::allows(Need::Leave) || !allowed_calls::allows(Need::Map) || start == 0 {
        return false;
    }
    // The memory there may be anybody's, and may be unmapped at any time, so the kernel reads it.
    sys::copy_words(sys::thread_id(), start).is_ok_and(|[arena, before, size, opened]| {
        Part { arena, before, size, opened }.contains(address - start)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_in_known_arena, may_give_back};

    /// Check that blocks of the heap and of an arena are told from other readable memory.
    #[test]
    fn blocks_of_the_allocator_are_known() {
        let below_break = || {
            // SAFETY: a query, which moves nothing.
            unsafe { libc::sbrk(0) }.addr() as u64
        };
        let small = Box::new([0_u8; 64]);
        let in_thread = std::thread::spawn(|| {
            let small = Box::new([0_u8; 64]);
            let block = (&raw const *small).addr() as u64;
            // Asked, and remembered.
            may_give_back(block) && is_in_known_arena(block) && is_in_known_arena(block)
        });
        assert!(in_thread.join().unwrap());
        let mapped = vec![0_u8; 128 << 20];
        for offset in [0, 64 << 20] {
            assert!(!is_in_known_arena(mapped.as_ptr().addr() as u64 + offset));
        }
        let address = (&raw const *small).addr() as u64;
        assert!(may_give_back(address));
        assert!(!may_give_back(below_break()));
        let on_stack = 1_u64;
        for address in [(&raw const on_stack).addr(), may_give_back as *const () as usize + (1 << 40), 0] {
            assert!(!may_give_back(address as u64) || address < below_break() as usize, "{address:#x}");
        }
    }
}
