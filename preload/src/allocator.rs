//! Whom the hooks of `malloc` and its kin stand before.

use crate::{linked, real};
use core::ffi::{c_int, c_void};

type Pointer = *mut c_void;
/// What takes a block to free it.
pub(crate) type Free = unsafe extern "C" fn(block: Pointer);

/// Functions that hooks go on to. Each is `None` while it is unknown, and has the contract of the C function of its name.
pub(crate) trait Allocator {
    /// Whether a thread at rest may go on to it as if there were no hook: what is known of that is about the next library's.
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

    /// Its `free` if it is libc's, of which no function calls one of ours while it works, but `reallocarray`: it has its own ways to the
    /// kernel. Others may call `mmap`, and hold their locks meanwhile.
    fn plain_free() -> Option<Free>;

    /// True when it is libc's.
    #[inline(always)]
    fn is_plain() -> bool {
        Self::plain_free().is_some()
    }
}

/// The allocator of the next library in the order of the search.
#[derive(Debug)]
pub(crate) struct Library;

/// The one that the program has inside.
#[derive(Debug)]
pub(crate) struct Linked;

macro_rules! functions {
    ($functions:ident: $($function:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[inline(always)]
            unsafe fn $function($($argument: $type),*) -> Option<$result> {
                // SAFETY: as the caller says.
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
