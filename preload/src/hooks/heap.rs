//! `malloc` and its relatives.

use super::shim;
use crate::modules::mapped_blocks;
use crate::next::allocator::{Allocator, Library};
use crate::next::real;
use crate::next::real::Free;
use crate::platform::thread_local::{ThreadLocal, hinted};
use crate::platform::{arch, bootstrap, errno};
use crate::process::{self, filter, wrappers};
use crate::record::guard::{self, HookGuard, Inside};
use crate::record::tracker::{self, FastPath, Reallocated};
use crate::thread;
use crate::thread::sampler::{self, Candidate};
use crate::thread::stack::Caller;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use shared_ring::pseudo;

type Pointer = *mut c_void;

shim!(
    /// `void *malloc(size_t size)`
    malloc, 1, 2, malloc_body::<Library>
);
shim!(
    /// `void *calloc(size_t count, size_t size)`
    calloc, 2, 3, calloc_body::<Library>
);
shim!(
    /// `void *realloc(void *block, size_t size)`
    realloc, 2, 3, realloc_body::<Library>
);
shim!(
    /// `void *reallocarray(void *block, size_t count, size_t size)`
    reallocarray, 3, 4, reallocarray_body::<Library>
);
shim!(
    /// `int posix_memalign(void **block, size_t alignment, size_t size)`
    posix_memalign, 3, 4, posix_memalign_body::<Library>
);
shim!(
    /// `void *aligned_alloc(size_t alignment, size_t size)`
    aligned_alloc, 2, 3, aligned_alloc_body::<Library>
);
shim!(
    /// `void *memalign(size_t alignment, size_t size)`
    memalign, 2, 3, memalign_body::<Library>
);
shim!(
    /// `void *valloc(size_t size)`
    valloc, 1, 2, valloc_body::<Library>
);
shim!(
    /// `void *pvalloc(size_t size)`
    pvalloc, 1, 2, pvalloc_body::<Library>
);

/// Calls the next allocator for a block, and records the block if it is wanted.
// Cost of a call that is not recorded: the countdown and, with libc's allocator, the compares of `is_of_no_interest`.
// For recorded calls see `tracker::allocated`.
#[inline(always)]
pub(super) unsafe fn allocate<A: Allocator>(
    next: impl FnOnce() -> Option<Pointer>,
    size: usize,
    alignment: usize,
    kind: u32,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    let local = arch::thread_local();
    if sampler::is_open(local) {
        // SAFETY: the caller passes the shim's arguments.
        return unsafe { allocate_candidate::<A>(next, entry, bp, size, alignment, kind, Candidate::Open) };
    }
    match sampler::candidate(size) {
        None if is_of_no_interest::<A>(local, size) => {
            // If `operator new` announced a call, it was this one.
            local.kind_hint.set(0);
            // The last thing done here, so that it compiles to a jump.
            next().unwrap_or_else(|| bootstrap::allocate(size, alignment))
        }
        // SAFETY: the caller passes the shim's arguments.
        None => unsafe { pass::<A>(next, entry, bp, size, alignment, kind) },
        // SAFETY: as above.
        Some(candidate) => unsafe {
            allocate_candidate::<A>(next, entry, bp, size, alignment, kind, candidate)
        },
    }
}

/// True when a call that is no sample may go straight to the next allocator: nothing has changed since the thread
/// last looked, and either the thread is at rest, or that allocator calls none of our hooks and nobody will ask for
/// the block. In the latter case an announced call must be this very one, and no wrapper may be waiting for it.
// Cost: two compares at rest, else four, and two more in C++.
#[inline(always)]
fn is_of_no_interest<A: Allocator>(local: &ThreadLocal, size: usize) -> bool {
    !process::has_news(local)
        && ((A::MAY_REST && local.is_at_rest())
            || A::is_plain()
                && (local.kind_hint.get() == 0 || (local.size_hint.get() == size && !wrappers::are_there())))
}

// The other two paths are functions of their own, so that each saves only the registers it needs. Their first
// arguments are what `malloc` already has in these registers.

/// A call that is no sample, unless something has changed since the thread last looked. If `operator new` announced a
/// call, it is this one.
#[inline(never)]
unsafe fn pass<A: Allocator>(
    next: impl FnOnce() -> Option<Pointer>,
    entry: *const u64,
    bp: u64,
    size: usize,
    alignment: usize,
    kind: u32,
) -> Pointer {
    let local = arch::thread_local();
    if process::has_news(local)
        && guard::catch_up(local)
        && let Some(candidate) = sampler::candidate(size)
    {
        // SAFETY: the caller passes the shim's arguments.
        return unsafe { allocate_candidate::<A>(next, entry, bp, size, alignment, kind, candidate) };
    }
    let announced = if local.kind_hint.get() == 0 { None } else { announced(local, size, alignment) };
    let block = marked::<A>(next).unwrap_or_else(|| bootstrap::allocate(size, alignment));
    if announced.is_some() {
        local.hinted_block.set(hinted(block.addr()));
    }
    if block.is_null() {
        let (kind, size) =
            announced.map_or((kind, size), |(announced, size)| (kind_of(kind, announced), size));
        // SAFETY: the shim passes the stack pointer at the entry of the export.
        let caller = unsafe { Caller::of_entry(entry, bp) };
        tracker::failed(size, alignment, errno::get(), kind, caller);
    }
    block
}

/// The kind of a call that was announced by a hook of `operator new`.
fn kind_of(kind: u32, announced: u32) -> u32 {
    if matches!(kind, 0 | pseudo::ALIGNED_ALLOC) { announced } else { kind }
}

/// A call that is a sample or may be one; any call when everything is recorded.
#[inline(never)]
unsafe fn allocate_candidate<A: Allocator>(
    next: impl FnOnce() -> Option<Pointer>,
    entry: *const u64,
    bp: u64,
    size: usize,
    alignment: usize,
    kind: u32,
    candidate: Candidate,
) -> Pointer {
    let local = arch::thread_local();
    if local.kind_hint.get() != 0
        && let Some((announced, asked_for)) = announced(local, size, alignment)
    {
        let block = marked::<A>(next);
        // A null pointer is no block.
        local.hinted_block.set(hinted(block.map_or(0, Pointer::addr)));
        let kind = kind_of(kind, announced);
        // SAFETY: the caller passes the shim's arguments.
        return unsafe { record(candidate, block, asked_for, alignment, kind, entry, bp) };
    }
    let block = marked::<A>(next);
    // SAFETY: the caller passes the shim's arguments.
    unsafe { record(candidate, block, size, alignment, kind, entry, bp) }
}

/// The kind and size that a hook of `operator new` announced, if this is the call that it meant: one for the same
/// size, or for the next multiple of the alignment. A call for another size comes from a new-handler, and the
/// announced one is still to come.
#[cold]
fn announced(local: &ThreadLocal, size: usize, alignment: usize) -> Option<(u32, usize)> {
    let (kind, asked_for) = (local.kind_hint.get(), local.size_hint.get());
    let is_meant = size.checked_sub(asked_for.max(1)).is_some_and(|more| more < alignment.max(1));
    (kind != 0 && is_meant).then(|| {
        local.kind_hint.set(0);
        (kind.into(), asked_for)
    })
}

/// Calls the next allocator, marking it as at work if it may call hooks of ours.
#[inline(always)]
fn marked<A: Allocator>(next: impl FnOnce() -> Option<Pointer>) -> Option<Pointer> {
    if A::is_plain() { next() } else { guarded(next).inspect(|block| note_returned(*block)) }
}

/// Notes that an allocator returns a block, which an inner call of its own may have returned before.
#[inline(always)]
fn note_returned(block: Pointer) {
    let _ = filter::take_inner(block.addr());
}

/// Calls the next allocator, marking it as at work.
#[inline(always)]
fn guarded<T>(next: impl FnOnce() -> T) -> T {
    let _inside = Inside::of(arch::thread_local());
    next()
}

/// Records a block, or that there is none, and returns it.
#[inline(always)]
unsafe fn record(
    candidate: Candidate,
    block: Option<Pointer>,
    size: usize,
    alignment: usize,
    kind: u32,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    let Some(block) = block else {
        // The next allocator is not known yet.
        return bootstrap::allocate(size, alignment);
    };
    // SAFETY: the shim passes the stack pointer at the entry of the export.
    let caller = unsafe { Caller::of_entry(entry, bp) };
    tracker::allocated(candidate, block.addr(), size, alignment, kind, caller);
    block
}

/// Passes on a request for so many elements of a size, the product of which overflows. It fails, and the program asked
/// for more than a size can say, so both numbers are recorded.
#[cold]
#[inline(never)]
unsafe fn allocate_overflowing<A: Allocator>(
    next: impl FnOnce() -> Option<Pointer>,
    (count, size): (usize, usize),
    kind: u32,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    let is_at_rest = A::MAY_REST && process::is_at_rest(arch::thread_local());
    match guarded(next).filter(|block| !block.is_null()) {
        None if is_at_rest => {}
        None => {
            // SAFETY: the shim passes the stack pointer at the entry of the export.
            let caller = unsafe { Caller::of_entry(entry, bp) };
            tracker::overflowed(size, count, errno::get(), kind, caller);
        }
        // An allocator that multiplies all the same.
        Some(block) => {
            // SAFETY: the shim's arguments.
            return unsafe { allocate::<A>(|| Some(block), count.wrapping_mul(size), 0, kind, entry, bp) };
        }
    }
    null_mut()
}

pub(super) unsafe extern "C" fn malloc_body<A: Allocator>(
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || unsafe { A::malloc(size) };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, size, 0, 0, entry, bp) }
}

pub(super) unsafe extern "C" fn calloc_body<A: Allocator>(
    count: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || unsafe { A::calloc(count, size) };
    let Some(bytes) = count.checked_mul(size) else {
        // SAFETY: the shim's arguments.
        return unsafe { allocate_overflowing::<A>(next, (count, size), pseudo::CALLOC, entry, bp) };
    };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, bytes, 0, pseudo::CALLOC, entry, bp) }
}

pub(super) unsafe extern "C" fn realloc_body<A: Allocator>(
    block: Pointer,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move |block| unsafe { A::realloc(block, size) };
    // SAFETY: the shim's arguments.
    unsafe { reallocate::<A>(block, size, pseudo::REALLOC, next, entry, bp) }
}

pub(super) unsafe extern "C" fn reallocarray_body<A: Allocator>(
    block: Pointer,
    count: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged. libc's `reallocarray` calls `realloc`, hence the guard.
    let next = move |block| guarded(|| unsafe { A::reallocarray(block, count, size) });
    let Some(bytes) = count.checked_mul(size) else {
        // The block stays as it is. That of the bootstrap arena would be unknown.
        let next = || next(if bootstrap::owns(block) { null_mut() } else { block });
        // SAFETY: the shim's arguments.
        return unsafe { allocate_overflowing::<A>(next, (count, size), pseudo::REALLOCARRAY, entry, bp) };
    };
    // SAFETY: the shim's arguments.
    unsafe { reallocate::<A>(block, bytes, pseudo::REALLOCARRAY, next, entry, bp) }
}

/// Both halves of a `realloc`, around the next one.
#[inline(always)]
pub(super) unsafe fn reallocate<A: Allocator>(
    block: Pointer,
    size: usize,
    kind: u32,
    next: impl Fn(Pointer) -> Option<Pointer>,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    if block.is_null() || bootstrap::owns(block) {
        let next = || adopt(block, size, &next);
        // SAFETY: the shim's arguments.
        return unsafe { allocate::<A>(next, size, 0, kind, entry, bp) };
    }
    if A::MAY_REST && process::is_at_rest(arch::thread_local()) {
        return next(block).unwrap_or(null_mut());
    }
    let candidate = sampler::candidate(size);
    if A::is_plain() {
        mapped_blocks::release(block.addr());
    }
    // SAFETY: the shim's arguments.
    let caller = unsafe { Caller::of_entry(entry, bp) };
    let is_inner = !A::is_plain() && filter::take_inner(block.addr());
    let begun = tracker::reallocating(block.addr(), is_inner, caller);
    let result = guarded(|| next(block)).unwrap_or(null_mut());
    if !A::is_plain() {
        note_returned(result);
    }
    let outcome = match (result.is_null(), size) {
        (false, size) => Reallocated::Block(result.addr(), size),
        // What size 0 means is up to the next allocator; a null pointer then says that it freed the block.
        (true, 0) => Reallocated::Freed,
        (true, _) => {
            tracker::failed(size, 0, errno::get(), kind, caller);
            Reallocated::Failed
        }
    };
    begun.end(candidate, outcome, kind, caller);
    result
}

/// Gets a block for a `realloc` of null, or of a block of the bootstrap arena, whose contents are copied.
#[inline(always)]
fn adopt(block: Pointer, size: usize, next: &impl Fn(Pointer) -> Option<Pointer>) -> Option<Pointer> {
    let fresh = next(null_mut());
    if block.is_null() {
        return fresh;
    }
    let fresh = fresh.unwrap_or_else(|| bootstrap::allocate(size, 16));
    if !fresh.is_null() {
        let bytes = bootstrap::size(block).min(size);
        // SAFETY: both blocks have at least so many bytes, and a new block overlaps no old one.
        unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), fresh.cast::<u8>(), bytes) };
    }
    Some(fresh)
}

pub(super) unsafe extern "C" fn posix_memalign_body<A: Allocator>(
    place: *mut Pointer,
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> c_int {
    // SAFETY: passed on unchanged.
    let next = || unsafe { A::posix_memalign(place, alignment, size) };
    // SAFETY: the shim's arguments.
    unsafe { align_at::<A>(next, place, alignment, size, entry, bp) }
}

/// Calls the next allocator for a block whose address it writes to `place`, and records the block if it is wanted.
#[inline(always)]
pub(super) unsafe fn align_at<A: Allocator>(
    next: impl FnOnce() -> Option<c_int>,
    place: *mut Pointer,
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> c_int {
    let local = arch::thread_local();
    let candidate = sampler::candidate(size);
    let announced = if local.kind_hint.get() == 0 { None } else { announced(local, size, alignment) };
    let result = guarded(next);
    if result == Some(0) && !A::is_plain() {
        // SAFETY: the call succeeded, so the pointer was written.
        note_returned(unsafe { place.read() });
    }
    if result == Some(0) && announced.is_some() {
        // SAFETY: as above.
        local.hinted_block.set(hinted(unsafe { place.read() }.addr()));
    }
    match (result, candidate) {
        (Some(0), Some(candidate)) => {
            let (kind, asked_for) = announced.unwrap_or((pseudo::POSIX_MEMALIGN, size));
            // SAFETY: as above.
            let block = unsafe { place.read() };
            // SAFETY: the shim's arguments.
            unsafe { record(candidate, Some(block), asked_for, alignment, kind, entry, bp) };
            0
        }
        (Some(0), None) => 0,
        (Some(error), _) => {
            let (kind, asked_for) = announced.unwrap_or((pseudo::POSIX_MEMALIGN, size));
            // SAFETY: the shim passes the stack pointer at the entry of the export.
            let caller = unsafe { Caller::of_entry(entry, bp) };
            tracker::failed(asked_for, alignment, error, kind, caller);
            error
        }
        (None, _) => {
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

pub(super) unsafe extern "C" fn aligned_alloc_body<A: Allocator>(
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || unsafe { A::aligned_alloc(alignment, size) };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, size, alignment, pseudo::ALIGNED_ALLOC, entry, bp) }
}

pub(super) unsafe extern "C" fn memalign_body<A: Allocator>(
    alignment: usize,
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || unsafe { A::memalign(alignment, size) };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, size, alignment, pseudo::MEMALIGN, entry, bp) }
}

const PAGE: usize = 4096;

pub(super) unsafe extern "C" fn valloc_body<A: Allocator>(
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || unsafe { A::valloc(size) };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, size, PAGE, pseudo::VALLOC, entry, bp) }
}

pub(super) unsafe extern "C" fn pvalloc_body<A: Allocator>(
    size: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = move || match unsafe { A::pvalloc(size) } {
        // musl has no `pvalloc`, but a program may check for one and find ours.
        None => {
            let pages = size.max(1).checked_next_multiple_of(PAGE)?;
            // SAFETY: the definition of `pvalloc`.
            unsafe { A::memalign(PAGE, pages) }
        }
        block => block,
    };
    // SAFETY: the shim's arguments.
    unsafe { allocate::<A>(next, size, PAGE, pseudo::PVALLOC, entry, bp) }
}

shim!(
    /// `void free(void *block)`
    free, 1, 2, release::<Library>
);
shim!(
    /// `void cfree(void *block)`, an old name of `free`.
    cfree, 1, 2, release::<Library>
);
shim!(
    /// `void free_sized(void *block, size_t size)` of C23, by definition the same as `free`.
    free_sized, 1, 2, release::<Library>
);
shim!(
    /// `void free_aligned_sized(void *block, size_t alignment, size_t size)` of C23, by definition the same as
    /// `free`.
    free_aligned_sized, 1, 2, release::<Library>
);

/// The function that will free a block.
#[inline(always)]
fn next_free<A: Allocator>(block: Pointer) -> Free {
    match A::plain_free() {
        Some(free) => {
            mapped_blocks::release(block.addr());
            free
        }
        None => free_marked::<A>,
    }
}

/// Records and publishes the end of a block if that is wanted, then frees the block.
// Cost: two compares at rest or when everything is recorded; otherwise see the other paths.
pub(super) unsafe extern "C" fn release<A: Allocator>(block: Pointer, entry: *const u64, bp: u64) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    // Each path ends in a jump.
    if filter::takes_all() {
        match A::plain_free() {
            // SAFETY: the caller passes a block, and the shim's arguments.
            Some(free) if mapped_blocks::may_be_one(block.addr()) => unsafe {
                release_mapped(block, entry, bp, free)
            },
            // SAFETY: as above.
            Some(free) => unsafe { release_recorded(block, entry, bp, free) },
            // SAFETY: as above.
            None => unsafe { release_unless_inner::<A>(block, entry, bp) },
        }
    } else if A::MAY_REST && process::is_at_rest(arch::thread_local()) {
        // SAFETY: passed on unchanged.
        let _ = unsafe { A::free(block) };
    } else {
        // SAFETY: as in the first branch.
        unsafe { release_sample::<A>(block, entry, bp) };
    }
}

/// The same for a block that may have a mapping of its own. A function of its own, since a call within the other would
/// make that save registers.
#[cold]
#[inline(never)]
unsafe fn release_mapped(block: Pointer, entry: *const u64, bp: u64, free: Free) {
    mapped_blocks::look(block.addr());
    // SAFETY: the caller passes a block, and the shim's arguments.
    unsafe { release_recorded(block, entry, bp, free) };
}

/// The same for a block of an allocator that calls itself.
// Cost: that of `take_inner` more.
#[inline(never)]
unsafe fn release_unless_inner<A: Allocator>(block: Pointer, entry: *const u64, bp: u64) {
    if filter::take_inner(block.addr()) {
        // SAFETY: passed on unchanged.
        unsafe { free_marked::<A>(block) };
    } else {
        // SAFETY: the caller passes a block, and the shim's arguments.
        unsafe { release_recorded(block, entry, bp, free_marked::<A>) };
    }
}

/// The same when only samples are recorded, or nothing.
// Cost: three compares and a look into the filter of samples.
#[inline(never)]
unsafe fn release_sample<A: Allocator>(block: Pointer, entry: *const u64, bp: u64) {
    if process::has_news(arch::thread_local()) || filter::has(block.addr()) {
        // SAFETY: the caller passes a block, and the shim's arguments.
        return unsafe { release_candidate::<A>(block, entry, bp) };
    }
    // As above, each path ends in a jump.
    match A::plain_free() {
        // SAFETY: passed on unchanged.
        Some(free) if mapped_blocks::may_be_one(block.addr()) => unsafe { free_mapped(block, free) },
        // SAFETY: as above.
        Some(free) => unsafe { free(block) },
        // SAFETY: as above.
        None => unsafe { free_marked::<A>(block) },
    }
}

/// Frees a block that may have a mapping of its own.
#[cold]
#[inline(never)]
unsafe fn free_mapped(block: Pointer, free: Free) {
    mapped_blocks::look(block.addr());
    // SAFETY: the caller passes a block, and a function that frees it.
    unsafe { free(block) };
}

/// The same for a block that may be a sample, or when something has changed since the thread last looked.
#[inline(never)]
unsafe fn release_candidate<A: Allocator>(block: Pointer, entry: *const u64, bp: u64) {
    let next = next_free::<A>(block);
    let local = arch::thread_local();
    let is_wanted = filter::take(block.addr())
        || (process::has_news(local) && guard::catch_up(local) && filter::take(block.addr()));
    if is_wanted {
        // SAFETY: the caller passes a block, and the shim's arguments.
        unsafe { release_recorded(block, entry, bp, next) };
    } else {
        // SAFETY: passed on unchanged.
        unsafe { next(block) };
    }
}

/// A function of its own because of registers, too: it calls nothing, and ends in a jump.
#[inline(never)]
unsafe fn release_recorded(block: Pointer, entry: *const u64, bp: u64, next: Free) {
    match tracker::freeing_fast(block.addr()) {
        // SAFETY: the caller passes a block, and a function that frees it.
        FastPath::Recorded => unsafe { next(block) },
        // SAFETY: as above.
        FastPath::Pending(hook) => unsafe { release_pending(block, next, hook) },
        // SAFETY: as above, and the shim's arguments.
        FastPath::NotTaken => unsafe { release_otherwise(block, entry, bp, next) },
    }
}

/// Ends the hook, then frees the block.
#[cold]
#[inline(never)]
unsafe fn release_pending(block: Pointer, next: Free, hook: HookGuard) {
    drop(hook);
    // SAFETY: the caller passes a block, and a function that frees it.
    unsafe { next(block) };
}

/// Records the end of a block when something is unusual, then frees the block. If the only unusual thing is that the
/// hook must be timed, it takes the usual path, like all the hooks that it stands for: code that rarely runs takes
/// longer.
#[cold]
#[inline(never)]
unsafe fn release_otherwise(block: Pointer, entry: *const u64, bp: u64, next: Free) {
    if let Some(began) = tracker::begin_timed() {
        // SAFETY: `keep` does nothing to the block; the rest is upheld by the caller.
        unsafe { release_recorded(block, entry, bp, keep) };
        thread::add_timed(began);
    } else {
        // SAFETY: the shim passes the stack pointer at the entry of the export.
        tracker::freeing_otherwise(block.addr(), unsafe { Caller::of_entry(entry, bp) });
    }
    // SAFETY: the caller passes a block, and a function that frees it.
    unsafe { next(block) };
}

/// The next `free`, marked as at work. A function of its own, so that the paths to it save no registers.
#[inline(never)]
unsafe extern "C" fn free_marked<A: Allocator>(block: Pointer) {
    // SAFETY: passed on unchanged. Before the next `free` is known, only bootstrap blocks can exist.
    let _ = guarded(|| unsafe { A::free(block) });
}

unsafe extern "C" fn keep(_: Pointer) {}

/// `size_t malloc_usable_size(void *block)`, passed through.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn malloc_usable_size(block: Pointer) -> usize {
    if bootstrap::owns(block) {
        return bootstrap::size(block);
    }
    // SAFETY: passed on unchanged.
    unsafe { real::malloc_usable_size(block) }.unwrap_or(0)
}

/// True while a call comes from inside an allocator, or from the agent itself.
pub(super) fn in_hook() -> bool {
    guard::is_inside()
}
