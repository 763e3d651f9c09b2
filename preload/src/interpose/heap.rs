//! `malloc` and its kin.

use super::shim;
use crate::arch;
use crate::bootstrap;
use crate::guard::{self, Inside};
use crate::real;
use crate::stack::Caller;
use crate::tracker::{self, Reallocated};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use shared_ring::pseudo;

type Pointer = *mut c_void;

shim!(
    /// `void *malloc(size_t size)`
    malloc, "rsi", "rdx", malloc_body
);
shim!(
    /// `void *calloc(size_t count, size_t size)`
    calloc, "rdx", "rcx", calloc_body
);
shim!(
    /// `void *realloc(void *block, size_t size)`
    realloc, "rdx", "rcx", realloc_body
);
shim!(
    /// `void *reallocarray(void *block, size_t count, size_t size)`
    reallocarray, "rcx", "r8", reallocarray_body
);
shim!(
    /// `int posix_memalign(void **block, size_t alignment, size_t size)`
    posix_memalign, "rcx", "r8", posix_memalign_body
);
shim!(
    /// `void *aligned_alloc(size_t alignment, size_t size)`
    aligned_alloc, "rdx", "rcx", aligned_alloc_body
);
shim!(
    /// `void *memalign(size_t alignment, size_t size)`
    memalign, "rdx", "rcx", memalign_body
);
shim!(
    /// `void *valloc(size_t size)`
    valloc, "rsi", "rdx", valloc_body
);
shim!(
    /// `void *pvalloc(size_t size)`
    pvalloc, "rsi", "rdx", pvalloc_body
);

/// Records a block if there is one, and passes it on.
// Cost: see `tracker::allocated`.
#[inline(always)]
unsafe fn record(
    block: Option<Pointer>,
    size: usize,
    alignment: usize,
    kind: u32,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    match block {
        Some(block) if !block.is_null() => {
            // SAFETY: the shim passes the stack pointer at the entry of the export.
            let caller = unsafe { Caller::of_entry(entry, bp) };
            tracker::allocated(block.addr(), size, alignment, kind, caller);
            block
        }
        Some(_) => null_mut(),
        // The next allocator is not known yet.
        None => bootstrap::allocate(size, alignment),
    }
}

/// The kind that a hook of `operator new` announced, or `kind`.
#[inline(always)]
fn hinted(kind: u32) -> u32 {
    let local = arch::thread_local();
    match local.kind_hint.get() {
        0 => kind,
        hint => {
            local.kind_hint.set(0);
            hint
        }
    }
}

unsafe extern "C" fn malloc_body(size: usize, entry: *const u64, bp: u64) -> Pointer {
    let kind = hinted(0);
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::malloc(size) };
    drop(inside);
    // SAFETY: the shim's arguments.
    unsafe { record(block, size, 0, kind, entry, bp) }
}

unsafe extern "C" fn calloc_body(count: usize, size: usize, entry: *const u64, bp: u64) -> Pointer {
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::calloc(count, size) };
    drop(inside);
    let Some(bytes) = count.checked_mul(size) else { return block.unwrap_or(null_mut()) };
    // SAFETY: the shim's arguments.
    unsafe { record(block, bytes, 0, pseudo::CALLOC, entry, bp) }
}

unsafe extern "C" fn realloc_body(block: Pointer, size: usize, entry: *const u64, bp: u64) -> Pointer {
    // SAFETY: passed on as it came.
    let next = |block| unsafe { real::realloc(block, size) };
    // SAFETY: the shim's arguments.
    unsafe { reallocate(block, Some(size), pseudo::REALLOC, next, entry, bp) }
}

unsafe extern "C" fn reallocarray_body(
    block: Pointer,
    count: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on as it came.
    let next = |block| unsafe { real::reallocarray(block, count, size) };
    // SAFETY: the shim's arguments.
    unsafe { reallocate(block, count.checked_mul(size), pseudo::REALLOCARRAY, next, entry, bp) }
}

/// Both halves of a `realloc` around the next one. `size` is none when it overflows, and the call will fail.
unsafe fn reallocate(
    block: Pointer,
    size: Option<usize>,
    kind: u32,
    next: impl FnOnce(Pointer) -> Option<Pointer>,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    if bootstrap::owns(block) {
        let grown = next(null_mut()).unwrap_or_else(|| bootstrap::allocate(size.unwrap_or(0), 16));
        if !grown.is_null() {
            let bytes = bootstrap::size(block).min(size.unwrap_or(0));
            // SAFETY: both blocks have at least so many bytes, and a new block overlaps no old one.
            unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), grown.cast::<u8>(), bytes) };
            // SAFETY: the shim's arguments.
            unsafe { record(Some(grown), size.unwrap_or(0), 0, kind, entry, bp) };
        }
        return grown;
    }
    if block.is_null() {
        let inside = Inside::enter();
        let fresh = next(block);
        drop(inside);
        // SAFETY: the shim's arguments.
        return unsafe { record(fresh, size.unwrap_or(0), 0, kind, entry, bp) };
    }
    let begun = tracker::reallocating(block.addr());
    let inside = Inside::enter();
    let result = next(block).unwrap_or(null_mut());
    drop(inside);
    // SAFETY: the shim's arguments.
    let caller = unsafe { Caller::of_entry(entry, bp) };
    let outcome = match (result.is_null(), size) {
        (false, size) => Reallocated::Block(result.addr(), size.unwrap_or(0)),
        // What size 0 means is the next allocator's choice; a null pointer then says that it freed the block.
        (true, Some(0)) => Reallocated::Freed,
        (true, _) => Reallocated::Failed,
    };
    tracker::reallocated(begun, outcome, kind, caller);
    result
}

unsafe extern "C" fn posix_memalign_body(
    place: *mut Pointer,
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> c_int {
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let result = unsafe { real::posix_memalign(place, alignment, size) };
    drop(inside);
    match result {
        Some(0) => {
            // SAFETY: the call succeeded, so the pointer was written.
            let block = unsafe { place.read() };
            // SAFETY: the shim's arguments.
            unsafe { record(Some(block), size, alignment, pseudo::POSIX_MEMALIGN, entry, bp) };
            0
        }
        Some(error) => error,
        None => {
            let block = bootstrap::allocate(size, alignment);
            if block.is_null() {
                return libc::ENOMEM;
            }
            // SAFETY: the caller passes a place for the pointer.
            unsafe { place.write(block) };
            0
        }
    }
}

unsafe extern "C" fn aligned_alloc_body(
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    let kind = hinted(pseudo::ALIGNED_ALLOC);
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::aligned_alloc(alignment, size) };
    drop(inside);
    // SAFETY: the shim's arguments.
    unsafe { record(block, size, alignment, kind, entry, bp) }
}

unsafe extern "C" fn memalign_body(alignment: usize, size: usize, entry: *const u64, bp: u64) -> Pointer {
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::memalign(alignment, size) };
    drop(inside);
    // SAFETY: the shim's arguments.
    unsafe { record(block, size, alignment, pseudo::MEMALIGN, entry, bp) }
}

const PAGE: usize = 4096;

unsafe extern "C" fn valloc_body(size: usize, entry: *const u64, bp: u64) -> Pointer {
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::valloc(size) };
    drop(inside);
    // SAFETY: the shim's arguments.
    unsafe { record(block, size, PAGE, pseudo::VALLOC, entry, bp) }
}

unsafe extern "C" fn pvalloc_body(size: usize, entry: *const u64, bp: u64) -> Pointer {
    let inside = Inside::enter();
    // SAFETY: passed on as it came.
    let block = unsafe { real::pvalloc(size) };
    drop(inside);
    // SAFETY: the shim's arguments.
    unsafe { record(block, size, PAGE, pseudo::PVALLOC, entry, bp) }
}

/// `void free(void *block)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn free(block: Pointer) {
    // SAFETY: passed on as it came.
    unsafe { release(block) };
}

/// `void cfree(void *block)`, an old name of `free`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn cfree(block: Pointer) {
    // SAFETY: passed on as it came.
    unsafe { release(block) };
}

/// `void free_sized(void *block, size_t size)` of C23: by definition the same as `free`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn free_sized(block: Pointer, _size: usize) {
    // SAFETY: passed on as it came.
    unsafe { release(block) };
}

/// `void free_aligned_sized(void *block, size_t alignment, size_t size)` of C23: by definition the same as `free`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn free_aligned_sized(block: Pointer, _alignment: usize, _size: usize) {
    // SAFETY: passed on as it came.
    unsafe { release(block) };
}

/// Records the end of a block, publishes that, and frees it then.
// Cost: two compares, see `tracker::freeing`.
#[inline(always)]
unsafe fn release(block: Pointer) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    tracker::freeing(block.addr());
    let inside = Inside::enter();
    // SAFETY: passed on as it came. Before the next `free` is known nothing but bootstrap blocks can exist.
    let _ = unsafe { real::free(block) };
    drop(inside);
}

/// `size_t malloc_usable_size(void *block)`, passed through.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn malloc_usable_size(block: Pointer) -> usize {
    if bootstrap::owns(block) {
        return bootstrap::size(block);
    }
    // SAFETY: passed on as it came.
    unsafe { real::malloc_usable_size(block) }.unwrap_or(0)
}

/// True while a call comes from inside an allocator.
pub(super) fn in_hook() -> bool {
    guard::is_inside()
}
