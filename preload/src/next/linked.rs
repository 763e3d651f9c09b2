//! The functions of an allocator inside the program that lead to the hooks: where what they were begins. How they are
//! redirected is described in [`crate::redirect::linked`].

use super::real::{Next, next};
use core::ffi::{CStr, c_int, c_void};

type Pointer = *mut c_void;

next! {
    /// The program's `malloc`.
    MALLOC, malloc = c"malloc": fn(size: usize) -> Pointer;
    /// The program's `free`.
    FREE, free = c"free": fn(block: Pointer);
    /// The program's `calloc`.
    CALLOC, calloc = c"calloc": fn(count: usize, size: usize) -> Pointer;
    /// The program's `realloc`.
    REALLOC, realloc = c"realloc": fn(block: Pointer, size: usize) -> Pointer;
    /// The program's `reallocarray`.
    REALLOCARRAY, reallocarray = c"reallocarray": fn(block: Pointer, count: usize, size: usize) -> Pointer;
    /// The program's `posix_memalign`.
    POSIX_MEMALIGN, posix_memalign = c"posix_memalign": fn(place: *mut Pointer, alignment: usize, size: usize) -> c_int;
    /// The program's `aligned_alloc`.
    ALIGNED_ALLOC, aligned_alloc = c"aligned_alloc": fn(alignment: usize, size: usize) -> Pointer;
    /// The program's `memalign`.
    MEMALIGN, memalign = c"memalign": fn(alignment: usize, size: usize) -> Pointer;
    /// The program's `valloc`.
    VALLOC, valloc = c"valloc": fn(size: usize) -> Pointer;
    /// The program's `pvalloc`.
    PVALLOC, pvalloc = c"pvalloc": fn(size: usize) -> Pointer;
}

/// Publishes the moved beginning of one of the functions above.
pub(crate) fn keep(index: usize, moved: *mut c_void) {
    if let Some(next) = ALL.get(index) {
        next.set(moved);
    }
}

/// The number that [`keep`] takes, for a function's name.
pub(crate) fn index_of(name: &CStr) -> usize {
    ALL.iter().position(|next: &&Next| next.name() == name).unwrap_or(usize::MAX)
}
