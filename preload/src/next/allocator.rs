//! The allocators behind the hooks of `malloc` and its relatives.

use super::real::Free;
use super::{linked, real};
use core::ffi::{c_int, c_void};

type Pointer = *mut c_void;

/// The functions that hooks forward to. Each returns `None` while the function is unknown, and otherwise has the
/// contract of the C function of its name.
pub(crate) trait Allocator {
    /// Whether a thread at rest may call it as if there were no hook. What is known about that holds for the next
    /// library only.
    const MAY_REST: bool;

    unsafe fn malloc(size: usize) -> Option<Pointer>;
    unsafe fn calloc(count: usize, size: usize) -> Option<Pointer>;
    unsafe fn realloc(block: Pointer, size: usize) -> Option<Pointer>;
    unsafe fn reallocarray(block: Pointer, count: usize, size: usize) -> Option<Pointer>;
    unsafe fn free(block: Pointer) -> Option<()>;
    unsafe fn posix_memalign(place: *mut Pointer, alignment: usize, size: usize) -> Option<c_int>;
    unsafe fn aligned_alloc(alignment: usize, size: usize) -> Option<Pointer>;
    unsafe fn memalign(alignment: usize, size: usize) -> Option<Pointer>;
    unsafe fn valloc(size: usize) -> Option<Pointer>;
    unsafe fn pvalloc(size: usize) -> Option<Pointer>;

    /// Its `free`, if that is libc's. No function of libc's allocator calls one of ours while it works, except
    /// `reallocarray`: libc has its own way to the kernel. Other allocators may call `mmap`, and hold their locks
    /// meanwhile.
    fn plain_free() -> Option<Free>;

    /// True when the allocator is libc's.
    #[inline(always)]
    fn is_plain() -> bool {
        Self::plain_free().is_some()
    }
}

/// The allocator of the next library in the search order.
#[derive(Debug)]
pub(crate) struct Library;

/// The allocator inside the program.
#[derive(Debug)]
pub(crate) struct Linked;

macro_rules! functions {
    ($functions:ident: $($function:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[inline(always)]
            unsafe fn $function($($argument: $type),*) -> Option<$result> {
                // SAFETY: upheld by the caller.
                unsafe { $functions::$function($($argument),*) }
            }
        )*
    };
    ($functions:ident) => {
        functions! { $functions:
            malloc(size: usize) -> Pointer;
            calloc(count: usize, size: usize) -> Pointer;
            realloc(block: Pointer, size: usize) -> Pointer;
            reallocarray(block: Pointer, count: usize, size: usize) -> Pointer;
            free(block: Pointer) -> ();
            posix_memalign(place: *mut Pointer, alignment: usize, size: usize) -> c_int;
            aligned_alloc(alignment: usize, size: usize) -> Pointer;
            memalign(alignment: usize, size: usize) -> Pointer;
            valloc(size: usize) -> Pointer;
            pvalloc(size: usize) -> Pointer;
        }
    };
}

impl Allocator for Library {
    const MAY_REST: bool = true;

    functions! { real }

    #[inline(always)]
    fn plain_free() -> Option<Free> {
        real::plain_free()
    }
}

impl Allocator for Linked {
    const MAY_REST: bool = false;

    functions! { linked }

    #[inline(always)]
    fn plain_free() -> Option<Free> {
        None
    }
}
