//! Hooks for allocators inside the program: those of `heap` and `cxx`, which go on to the program's functions, and
//! hooks for functions that only such allocators have.

use super::cxx;
use super::heap;
use super::shims::hidden_shim as shim;
use crate::allocator::Linked;
use crate::filter;
use crate::guard::Inside;
use crate::linked::{Function, index_of, keep};
use crate::stack::Caller;
use crate::{arch, tracker};
use core::ffi::{CStr, c_void};
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use shared_ring::pseudo;

type Pointer = *mut c_void;

shim!(malloc, 1, 2, heap::malloc_body::<Linked>);
shim!(calloc, 2, 3, heap::calloc_body::<Linked>);
shim!(realloc, 2, 3, heap::realloc_body::<Linked>);
shim!(reallocarray, 3, 4, heap::reallocarray_body::<Linked>);
shim!(posix_memalign, 3, 4, heap::posix_memalign_body::<Linked>);
shim!(aligned_alloc, 2, 3, heap::aligned_alloc_body::<Linked>);
shim!(memalign, 2, 3, heap::memalign_body::<Linked>);
shim!(valloc, 1, 2, heap::valloc_body::<Linked>);
shim!(pvalloc, 1, 2, heap::pvalloc_body::<Linked>);
shim!(free, 1, 2, heap::release::<Linked>);

/// Hooks by the names of the functions whose calls they receive, and the functions that they go on to.
const HEAP: [(&CStr, unsafe extern "C" fn(), &CStr); 13] = [
    // `free` before its other names, since often all of them are one function.
    (c"free", free, c"free"),
    (c"cfree", free, c"free"),
    (c"free_sized", free, c"free"),
    (c"free_aligned_sized", free, c"free"),
    (c"malloc", malloc, c"malloc"),
    (c"calloc", calloc, c"calloc"),
    (c"realloc", realloc, c"realloc"),
    (c"reallocarray", reallocarray, c"reallocarray"),
    (c"posix_memalign", posix_memalign, c"posix_memalign"),
    (c"aligned_alloc", aligned_alloc, c"aligned_alloc"),
    (c"memalign", memalign, c"memalign"),
    (c"valloc", valloc, c"valloc"),
    (c"pvalloc", pvalloc, c"pvalloc"),
];

/// Lists all functions of an allocator that can be redirected to us.
#[cold]
pub(crate) fn linked_functions(tell: &mut dyn FnMut(Function)) {
    for (name, hook, next) in HEAP {
        // The moved beginnings of `free`'s other names are not needed.
        let index = if name == next { index_of(next) } else { usize::MAX };
        tell(Function { name, hook: hook as *const c_void, keep, index });
    }
    cxx::linked_forms(tell);
    others(BESIDE_MALLOC..OTHERS.len(), tell);
}

/// What a function does; the numbers are those of its arguments.
#[derive(Clone, Copy)]
enum What {
    /// Returns a block of `size` bytes.
    Allocate { size: usize },
    /// Returns a block for `count` elements of `size` bytes each.
    AllocateMany { count: usize, size: usize },
    /// Returns a block whose address is a multiple of `alignment`.
    Align { size: usize, alignment: usize },
    /// The same, with the logarithm of the alignment in the lowest six bits of jemalloc's flags.
    AlignByFlags { size: usize, flags: usize },
    /// Resizes a block.
    Reallocate { block: usize, size: usize },
    /// Frees a block.
    Free { block: usize },
    /// Returns a block with a copy of a text, or of at most `most` of its bytes.
    Duplicate { text: usize, most: Option<usize> },
}

/// A function of an allocator, with at most four arguments.
struct Other {
    name: &'static CStr,
    what: What,
}

const fn other(name: &'static CStr, what: What) -> Other {
    Other { name, what }
}

/// The hooks of `others!`, by index.
macro_rules! others {
    ($($hook:ident $index:literal $name:literal $what:expr;)*) => {
        const OTHERS: &[Other] = &[$(other($name, $what)),*];
        $(shim!($hook, 4, 5, body::<$index>);)*
        const HOOKS: &[unsafe extern "C" fn()] = &[$($hook),*];
        const _: () = {
            // The indices are consecutive.
            let mut index = 0;
            $(assert!($index == index); index += 1;)*
            assert!(index == OTHERS.len());
        };
    };
}

use What::{Align, AlignByFlags, Allocate, AllocateMany, Duplicate, Free, Reallocate};

others! {
    // jemalloc: as in the crate tikv-jemallocator, with its own prefix, and its functions beside malloc and its
    // relatives.
    rjem_malloc 0 c"_rjem_malloc" Allocate { size: 0 };
    rjem_calloc 1 c"_rjem_calloc" AllocateMany { count: 0, size: 1 };
    rjem_realloc 2 c"_rjem_realloc" Reallocate { block: 0, size: 1 };
    rjem_free 3 c"_rjem_free" Free { block: 0 };
    rjem_aligned_alloc 4 c"_rjem_aligned_alloc" Align { size: 1, alignment: 0 };
    rjem_memalign 5 c"_rjem_memalign" Align { size: 1, alignment: 0 };
    rjem_mallocx 6 c"_rjem_mallocx" AlignByFlags { size: 0, flags: 1 };
    rjem_rallocx 7 c"_rjem_rallocx" Reallocate { block: 0, size: 1 };
    rjem_dallocx 8 c"_rjem_dallocx" Free { block: 0 };
    rjem_sdallocx 9 c"_rjem_sdallocx" Free { block: 0 };
    je_malloc 10 c"je_malloc" Allocate { size: 0 };
    je_calloc 11 c"je_calloc" AllocateMany { count: 0, size: 1 };
    je_realloc 12 c"je_realloc" Reallocate { block: 0, size: 1 };
    je_free 13 c"je_free" Free { block: 0 };
    je_aligned_alloc 14 c"je_aligned_alloc" Align { size: 1, alignment: 0 };
    je_memalign 15 c"je_memalign" Align { size: 1, alignment: 0 };
    je_mallocx 16 c"je_mallocx" AlignByFlags { size: 0, flags: 1 };
    je_rallocx 17 c"je_rallocx" Reallocate { block: 0, size: 1 };
    je_dallocx 18 c"je_dallocx" Free { block: 0 };
    je_sdallocx 19 c"je_sdallocx" Free { block: 0 };
    mallocx 20 c"mallocx" AlignByFlags { size: 0, flags: 1 };
    rallocx 21 c"rallocx" Reallocate { block: 0, size: 1 };
    dallocx 22 c"dallocx" Free { block: 0 };
    sdallocx 23 c"sdallocx" Free { block: 0 };
    // mimalloc.
    mi_malloc 24 c"mi_malloc" Allocate { size: 0 };
    mi_malloc_small 25 c"mi_malloc_small" Allocate { size: 0 };
    mi_zalloc 26 c"mi_zalloc" Allocate { size: 0 };
    mi_zalloc_small 27 c"mi_zalloc_small" Allocate { size: 0 };
    mi_calloc 28 c"mi_calloc" AllocateMany { count: 0, size: 1 };
    mi_mallocn 29 c"mi_mallocn" AllocateMany { count: 0, size: 1 };
    mi_realloc 30 c"mi_realloc" Reallocate { block: 0, size: 1 };
    mi_rezalloc 31 c"mi_rezalloc" Reallocate { block: 0, size: 1 };
    mi_malloc_aligned 32 c"mi_malloc_aligned" Align { size: 0, alignment: 1 };
    mi_zalloc_aligned 33 c"mi_zalloc_aligned" Align { size: 0, alignment: 1 };
    mi_realloc_aligned 34 c"mi_realloc_aligned" Reallocate { block: 0, size: 1 };
    mi_rezalloc_aligned 35 c"mi_rezalloc_aligned" Reallocate { block: 0, size: 1 };
    mi_new 36 c"mi_new" Allocate { size: 0 };
    mi_new_aligned 37 c"mi_new_aligned" Align { size: 0, alignment: 1 };
    mi_free 38 c"mi_free" Free { block: 0 };
    mi_free_size 39 c"mi_free_size" Free { block: 0 };
    mi_free_aligned 40 c"mi_free_aligned" Free { block: 0 };
    mi_free_size_aligned 41 c"mi_free_size_aligned" Free { block: 0 };
    // Firefox's arenas.
    moz_arena_malloc 42 c"moz_arena_malloc" Allocate { size: 1 };
    moz_arena_calloc 43 c"moz_arena_calloc" AllocateMany { count: 1, size: 2 };
    moz_arena_realloc 44 c"moz_arena_realloc" Reallocate { block: 1, size: 2 };
    moz_arena_memalign 45 c"moz_arena_memalign" Align { size: 2, alignment: 1 };
    moz_arena_free 46 c"moz_arena_free" Free { block: 1 };
    // In a program that exports malloc, which these may contain inlined.
    strdup 47 c"strdup" Duplicate { text: 0, most: None };
    strndup 48 c"strndup" Duplicate { text: 0, most: Some(1) };
}

/// The indices of those above that count in libraries, too: jemalloc's functions beside malloc and its relatives.
const OF_LIBRARIES: Range<usize> = 20..24;
/// The first index of those above that count only beside an exported `malloc`.
const BESIDE_MALLOC: usize = 47;

/// The moved beginnings of these functions.
static MOVED: [AtomicPtr<c_void>; OTHERS.len()] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; OTHERS.len()];

/// Lists the functions that only such allocators have.
#[cold]
pub(crate) fn linked_others(tell: &mut dyn FnMut(Function)) {
    others(0..BESIDE_MALLOC, tell);
}

/// Lists those that an allocator in a library may have and that we cannot export: programs check for their existence
/// to see which allocator they use.
#[cold]
pub(crate) fn linked_in_libraries(tell: &mut dyn FnMut(Function)) {
    others(OF_LIBRARIES, tell);
}

fn others(which: Range<usize>, tell: &mut dyn FnMut(Function)) {
    for index in which {
        if let (Some(Other { name, .. }), Some(hook)) = (OTHERS.get(index), HOOKS.get(index)) {
            tell(Function { name, hook: *hook as *const c_void, keep: keep_other, index });
        }
    }
}

fn keep_other(index: usize, moved: *mut c_void) {
    if let Some(place) = MOVED.get(index) {
        place.store(moved, Ordering::Relaxed);
    }
}

type Arguments = [usize; 4];

/// An argument by its number in the table above.
const fn argument(arguments: &Arguments, number: usize) -> usize {
    let [first, second, third, fourth] = *arguments;
    match number {
        0 => first,
        1 => second,
        2 => third,
        _ => fourth,
    }
}

/// The hook of a function with at most four arguments; those that the function does not have may hold anything.
unsafe extern "C" fn body<const INDEX: usize>(
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    let all = [first, second, third, fourth];
    // SAFETY: passed on unchanged.
    let next = || unsafe { go_on(INDEX, all) };
    let Some(Other { what, .. }) = OTHERS.get(INDEX) else { return next().unwrap_or(null_mut()) };
    let allocate = |size, alignment, kind| {
        // SAFETY: the shim's arguments.
        unsafe { heap::allocate::<Linked>(next, size, alignment, kind, entry, bp) }
    };
    match *what {
        Allocate { size } => allocate(argument(&all, size), 0, 0),
        AllocateMany { count, size } => {
            allocate(argument(&all, count).saturating_mul(argument(&all, size)), 0, pseudo::CALLOC)
        }
        Align { size, alignment } => {
            allocate(argument(&all, size), argument(&all, alignment), pseudo::ALIGNED_ALLOC)
        }
        AlignByFlags { size, flags } => {
            let logarithm = argument(&all, flags) as u32 & 63;
            allocate(argument(&all, size), if logarithm == 0 { 0 } else { 1 << logarithm }, 0)
        }
        Reallocate { block, size } => {
            let with = |other: Pointer| {
                let mut all = all;
                if let Some(place) = all.get_mut(block) {
                    *place = other.expose_provenance();
                }
                // SAFETY: with the same block, or none.
                unsafe { go_on(INDEX, all) }
            };
            let block = core::ptr::with_exposed_provenance_mut(argument(&all, block));
            // SAFETY: the shim's arguments.
            unsafe {
                heap::reallocate::<Linked>(block, argument(&all, size), pseudo::REALLOC, with, entry, bp)
            }
        }
        Duplicate { text, most } => {
            let text = core::ptr::with_exposed_provenance::<u8>(argument(&all, text));
            let most = most.map_or(usize::MAX, |most| argument(&all, most));
            // SAFETY: the function itself is about to read that far.
            let length = (0..most).take_while(|at| unsafe { text.wrapping_add(*at).read() } != 0).count();
            allocate(length.saturating_add(1), 0, 0)
        }
        Free { block } => {
            let block = argument(&all, block);
            if block != 0 && !filter::take_inner(block) && filter::take(block) {
                // SAFETY: the shim passes the stack pointer at the entry of the function.
                tracker::freeing(block, unsafe { Caller::of_entry(entry, bp) });
            }
            let _inside = Inside::of(arch::thread_local());
            next().unwrap_or(null_mut())
        }
    }
}

/// Calls the function with this index.
///
/// # Safety
/// The arguments are valid for the function, as far as it has any.
unsafe fn go_on(index: usize, [first, second, third, fourth]: Arguments) -> Option<Pointer> {
    let moved = MOVED.get(index)?.load(Ordering::Relaxed);
    if moved.is_null() {
        return None;
    }
    // SAFETY: found under the name of such a function; functions with fewer parameters ignore the others, and no
    // result is wider.
    let function = unsafe {
        core::mem::transmute::<Pointer, unsafe extern "C" fn(usize, usize, usize, usize) -> Pointer>(moved)
    };
    // SAFETY: upheld by the caller.
    Some(unsafe { function(first, second, third, fourth) })
}
