//! `mmap` and its relatives: a heap of its own, with calls that are rare enough to do without a shim.

use super::heap::in_hook;
use crate::next::real;
use crate::platform::{errno, invalidations};
use crate::record::tracker;
use crate::thread::stack::Caller;
use core::ffi::{c_int, c_void};
use shared_ring::pseudo;

type Pointer = *mut c_void;
const FAILED: Pointer = core::ptr::without_provenance_mut(usize::MAX);

fn failed() -> Pointer {
    FAILED
}

/// `void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn mmap(
    address: Pointer,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> Pointer {
    if flags & libc::MAP_FIXED != 0 {
        invalidations::note_unmapping();
    }
    // SAFETY: passed on unchanged.
    let result = unsafe { real::mmap(address, length, protection, flags, descriptor, offset) };
    let result = result.unwrap_or_else(failed);
    if result != FAILED {
        tracker::mapped(result.addr(), length, pseudo::MMAP, in_hook(), Caller::here());
    } else {
        tracker::failed_to_map(length, errno::get(), pseudo::MMAP, Caller::here());
    }
    result
}

/// `mmap` under the name of large-file builds.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn mmap64(
    address: Pointer,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    unsafe { mmap(address, length, protection, flags, descriptor, offset) }
}

/// `int munmap(void *address, size_t length)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn munmap(address: Pointer, length: usize) -> c_int {
    tracker::unmapping(address.addr(), length);
    // SAFETY: passed on unchanged.
    let result = unsafe { real::munmap(address, length) }.unwrap_or(-1);
    if result != 0 {
        tracker::unmapping_failed(address.addr(), length);
    }
    result
}

/// `void *mremap(void *address, size_t old, size_t new, int flags, ... /* void *to */)`: the fifth argument is in the
/// same register whether or not the caller passed one.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn mremap(
    address: Pointer,
    old: usize,
    new: usize,
    flags: c_int,
    to: Pointer,
) -> Pointer {
    invalidations::note_unmapping();
    // SAFETY: passed on unchanged.
    let result = unsafe { real::mremap(address, old, new, flags, to) }.unwrap_or_else(failed);
    if result == FAILED {
        tracker::failed_to_map(new, errno::get(), pseudo::MREMAP, Caller::here());
    } else if old == 0 {
        // This maps a shared mapping once more; the old one stays.
        tracker::mapped(result.addr(), new, pseudo::MREMAP, in_hook(), Caller::here());
    } else {
        tracker::remapped((address.addr(), old), (result.addr(), new), Caller::here());
        if flags & libc::MREMAP_DONTUNMAP != 0 {
            // The pages have moved; new ones may appear in their old place.
            tracker::mapped(address.addr(), old, pseudo::MREMAP, in_hook(), Caller::here());
        }
    }
    result
}

/// `int mprotect(void *address, size_t length, int protection)`: not recorded, but pages that become unreadable must
/// not be read any more.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn mprotect(address: Pointer, length: usize, protection: c_int) -> c_int {
    if protection & libc::PROT_READ == 0 {
        invalidations::note_unmapping();
    }
    // SAFETY: passed on unchanged.
    unsafe { real::mprotect(address, length, protection) }.unwrap_or(-1)
}

/// `int brk(void *address)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn brk(address: Pointer) -> c_int {
    let before = end_of_heap(address);
    // SAFETY: passed on unchanged.
    let result = unsafe { real::brk(address) }.unwrap_or(-1);
    if result == 0 {
        tracker::broke(before, end_of_heap(address), in_hook(), Caller::here());
    } else {
        let error = errno::get();
        // A request to lower the break asked for no memory.
        if let Some(more @ 1..) = address.addr().checked_sub(before) {
            tracker::failed_to_map(more, error, pseudo::BRK, Caller::here());
        }
    }
    result
}

/// `void *sbrk(intptr_t increment)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn sbrk(increment: isize) -> Pointer {
    // SAFETY: passed on unchanged.
    let result = unsafe { real::sbrk(increment) }.unwrap_or_else(failed);
    if result != FAILED && increment != 0 {
        let now = end_of_heap(result.wrapping_byte_offset(increment));
        tracker::broke(result.addr(), now, in_hook(), Caller::here());
    } else if increment > 0 && result == FAILED {
        tracker::failed_to_map(increment.unsigned_abs(), errno::get(), pseudo::BRK, Caller::here());
    }
    result
}

/// The program break; `otherwise` if it is unknown. libc reports success even when the break was to go lower than
/// possible and stayed.
fn end_of_heap(otherwise: Pointer) -> usize {
    // SAFETY: a query, which moves nothing.
    unsafe { real::sbrk(0) }.filter(|end| *end != FAILED).unwrap_or(otherwise).addr()
}
