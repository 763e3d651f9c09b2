//! Hooks for allocators inside the program: those of `heap` and `cxx`, which go on to the program's functions, and
//! hooks for functions that only such allocators have.

use super::cxx;
use super::heap;
use super::shims::{hidden_shim as shim, wide_shim};
use crate::next::allocator::Linked;
use crate::next::linked::{index_of, keep};
use crate::platform::arch;
use crate::process::filter;
use crate::record::guard::Inside;
use crate::record::tracker;
use crate::redirect::linked::Function;
use crate::thread::stack::Caller;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
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
    /// The same for `count` elements of `size` bytes each.
    AlignMany { count: usize, size: usize, alignment: usize },
    /// The same with the logarithm of the alignment in the lowest six bits of jemalloc's flags.
    AlignByFlags { size: usize, flags: usize },
    /// Writes such a block's address to `place`, or returns an error.
    AlignAt { place: usize, alignment: usize, size: usize },
    /// Resizes a block.
    Reallocate { block: usize, size: usize },
    /// Resizes a block to `count` elements of `size` bytes each.
    ReallocateMany { block: usize, count: usize, size: usize },
    /// The same for the block whose address is at `place`, where it writes the new one, or returns an error.
    ReallocateAt { place: usize, count: usize, size: usize },
    /// Frees a block.
    Free { block: usize },
    /// Returns a block with a copy of a text, or of at most `most` of its bytes.
    Duplicate { text: usize, most: Option<usize> },
}

/// A function of an allocator, with at most six arguments.
struct Other {
    name: &'static CStr,
    what: What,
}

const fn other(name: &'static CStr, what: What) -> Other {
    Other { name, what }
}

/// The shim of a function with at most four arguments, or of one with more.
macro_rules! other_shim {
    ($hook:ident $index:literal narrow) => {
        shim!($hook, 4, 5, body::<$index>);
    };
    ($hook:ident $index:literal wide) => {
        wide_shim!($hook, wide_body::<$index>);
    };
}

/// The hooks of `others!`, by index.
macro_rules! others {
    ($($hook:ident $index:literal $width:ident $name:literal $what:expr;)*) => {
        const OTHERS: &[Other] = &[$(other($name, $what)),*];
        $(other_shim!($hook $index $width);)*
        const HOOKS: &[unsafe extern "C" fn()] = &[$($hook),*];
        const _: () = {
            // The indices are consecutive.
            let mut index = 0;
            $(assert!($index == index); index += 1;)*
            assert!(index == OTHERS.len());
        };
    };
}

use What::{
    Align, AlignAt, AlignByFlags, AlignMany, Allocate, AllocateMany, Duplicate, Free, Reallocate,
    ReallocateAt, ReallocateMany,
};

others! {
    // jemalloc: as in the crate tikv-jemallocator, with its own prefix, and its functions beside malloc and its
    // relatives.
    rjem_malloc 0 narrow c"_rjem_malloc" Allocate { size: 0 };
    rjem_calloc 1 narrow c"_rjem_calloc" AllocateMany { count: 0, size: 1 };
    rjem_realloc 2 narrow c"_rjem_realloc" Reallocate { block: 0, size: 1 };
    rjem_free 3 narrow c"_rjem_free" Free { block: 0 };
    rjem_aligned_alloc 4 narrow c"_rjem_aligned_alloc" Align { size: 1, alignment: 0 };
    rjem_memalign 5 narrow c"_rjem_memalign" Align { size: 1, alignment: 0 };
    rjem_posix_memalign 6 narrow c"_rjem_posix_memalign" AlignAt { place: 0, alignment: 1, size: 2 };
    rjem_valloc 7 narrow c"_rjem_valloc" Allocate { size: 0 };
    rjem_pvalloc 8 narrow c"_rjem_pvalloc" Allocate { size: 0 };
    rjem_free_sized 9 narrow c"_rjem_free_sized" Free { block: 0 };
    rjem_free_aligned_sized 10 narrow c"_rjem_free_aligned_sized" Free { block: 0 };
    rjem_mallocx 11 narrow c"_rjem_mallocx" AlignByFlags { size: 0, flags: 1 };
    rjem_rallocx 12 narrow c"_rjem_rallocx" Reallocate { block: 0, size: 1 };
    rjem_dallocx 13 narrow c"_rjem_dallocx" Free { block: 0 };
    rjem_sdallocx 14 narrow c"_rjem_sdallocx" Free { block: 0 };
    je_malloc 15 narrow c"je_malloc" Allocate { size: 0 };
    je_calloc 16 narrow c"je_calloc" AllocateMany { count: 0, size: 1 };
    je_realloc 17 narrow c"je_realloc" Reallocate { block: 0, size: 1 };
    je_free 18 narrow c"je_free" Free { block: 0 };
    je_aligned_alloc 19 narrow c"je_aligned_alloc" Align { size: 1, alignment: 0 };
    je_memalign 20 narrow c"je_memalign" Align { size: 1, alignment: 0 };
    je_posix_memalign 21 narrow c"je_posix_memalign" AlignAt { place: 0, alignment: 1, size: 2 };
    je_valloc 22 narrow c"je_valloc" Allocate { size: 0 };
    je_pvalloc 23 narrow c"je_pvalloc" Allocate { size: 0 };
    je_free_sized 24 narrow c"je_free_sized" Free { block: 0 };
    je_free_aligned_sized 25 narrow c"je_free_aligned_sized" Free { block: 0 };
    je_mallocx 26 narrow c"je_mallocx" AlignByFlags { size: 0, flags: 1 };
    je_rallocx 27 narrow c"je_rallocx" Reallocate { block: 0, size: 1 };
    je_dallocx 28 narrow c"je_dallocx" Free { block: 0 };
    je_sdallocx 29 narrow c"je_sdallocx" Free { block: 0 };
    mallocx 30 narrow c"mallocx" AlignByFlags { size: 0, flags: 1 };
    rallocx 31 narrow c"rallocx" Reallocate { block: 0, size: 1 };
    dallocx 32 narrow c"dallocx" Free { block: 0 };
    sdallocx 33 narrow c"sdallocx" Free { block: 0 };
    // tcmalloc; its forms of `new` and `delete` are in `cxx`.
    tc_malloc 34 narrow c"tc_malloc" Allocate { size: 0 };
    tc_malloc_skip_new_handler 35 narrow c"tc_malloc_skip_new_handler" Allocate { size: 0 };
    tc_calloc 36 narrow c"tc_calloc" AllocateMany { count: 0, size: 1 };
    tc_realloc 37 narrow c"tc_realloc" Reallocate { block: 0, size: 1 };
    tc_free 38 narrow c"tc_free" Free { block: 0 };
    tc_cfree 39 narrow c"tc_cfree" Free { block: 0 };
    tc_free_sized 40 narrow c"tc_free_sized" Free { block: 0 };
    tc_memalign 41 narrow c"tc_memalign" Align { size: 1, alignment: 0 };
    tc_posix_memalign 42 narrow c"tc_posix_memalign" AlignAt { place: 0, alignment: 1, size: 2 };
    tc_valloc 43 narrow c"tc_valloc" Allocate { size: 0 };
    tc_pvalloc 44 narrow c"tc_pvalloc" Allocate { size: 0 };
    // mimalloc.
    mi_malloc 45 narrow c"mi_malloc" Allocate { size: 0 };
    mi_malloc_small 46 narrow c"mi_malloc_small" Allocate { size: 0 };
    mi_zalloc 47 narrow c"mi_zalloc" Allocate { size: 0 };
    mi_zalloc_small 48 narrow c"mi_zalloc_small" Allocate { size: 0 };
    mi_calloc 49 narrow c"mi_calloc" AllocateMany { count: 0, size: 1 };
    mi_mallocn 50 narrow c"mi_mallocn" AllocateMany { count: 0, size: 1 };
    mi_realloc 51 narrow c"mi_realloc" Reallocate { block: 0, size: 1 };
    mi_reallocn 52 narrow c"mi_reallocn" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_reallocf 53 narrow c"mi_reallocf" Reallocate { block: 0, size: 1 };
    mi_rezalloc 54 narrow c"mi_rezalloc" Reallocate { block: 0, size: 1 };
    mi_recalloc 55 narrow c"mi_recalloc" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_strdup 56 narrow c"mi_strdup" Duplicate { text: 0, most: None };
    mi_strndup 57 narrow c"mi_strndup" Duplicate { text: 0, most: Some(1) };
    mi_malloc_aligned 58 narrow c"mi_malloc_aligned" Align { size: 0, alignment: 1 };
    mi_malloc_aligned_at 59 narrow c"mi_malloc_aligned_at" Align { size: 0, alignment: 1 };
    mi_zalloc_aligned 60 narrow c"mi_zalloc_aligned" Align { size: 0, alignment: 1 };
    mi_zalloc_aligned_at 61 narrow c"mi_zalloc_aligned_at" Align { size: 0, alignment: 1 };
    mi_calloc_aligned 62 narrow c"mi_calloc_aligned" AlignMany { count: 0, size: 1, alignment: 2 };
    mi_calloc_aligned_at 63 narrow c"mi_calloc_aligned_at" AlignMany { count: 0, size: 1, alignment: 2 };
    mi_realloc_aligned 64 narrow c"mi_realloc_aligned" Reallocate { block: 0, size: 1 };
    mi_realloc_aligned_at 65 narrow c"mi_realloc_aligned_at" Reallocate { block: 0, size: 1 };
    mi_rezalloc_aligned 66 narrow c"mi_rezalloc_aligned" Reallocate { block: 0, size: 1 };
    mi_rezalloc_aligned_at 67 narrow c"mi_rezalloc_aligned_at" Reallocate { block: 0, size: 1 };
    mi_recalloc_aligned 68 narrow c"mi_recalloc_aligned" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_recalloc_aligned_at 69 wide c"mi_recalloc_aligned_at" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_heap_malloc 70 narrow c"mi_heap_malloc" Allocate { size: 1 };
    mi_heap_malloc_small 71 narrow c"mi_heap_malloc_small" Allocate { size: 1 };
    mi_heap_zalloc 72 narrow c"mi_heap_zalloc" Allocate { size: 1 };
    mi_heap_calloc 73 narrow c"mi_heap_calloc" AllocateMany { count: 1, size: 2 };
    mi_heap_mallocn 74 narrow c"mi_heap_mallocn" AllocateMany { count: 1, size: 2 };
    mi_heap_realloc 75 narrow c"mi_heap_realloc" Reallocate { block: 1, size: 2 };
    mi_heap_reallocn 76 narrow c"mi_heap_reallocn" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_heap_reallocf 77 narrow c"mi_heap_reallocf" Reallocate { block: 1, size: 2 };
    mi_heap_rezalloc 78 narrow c"mi_heap_rezalloc" Reallocate { block: 1, size: 2 };
    mi_heap_recalloc 79 narrow c"mi_heap_recalloc" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_heap_strdup 80 narrow c"mi_heap_strdup" Duplicate { text: 1, most: None };
    mi_heap_strndup 81 narrow c"mi_heap_strndup" Duplicate { text: 1, most: Some(2) };
    mi_heap_malloc_aligned 82 narrow c"mi_heap_malloc_aligned" Align { size: 1, alignment: 2 };
    mi_heap_malloc_aligned_at 83 narrow c"mi_heap_malloc_aligned_at" Align { size: 1, alignment: 2 };
    mi_heap_zalloc_aligned 84 narrow c"mi_heap_zalloc_aligned" Align { size: 1, alignment: 2 };
    mi_heap_zalloc_aligned_at 85 narrow c"mi_heap_zalloc_aligned_at" Align { size: 1, alignment: 2 };
    mi_heap_calloc_aligned 86 narrow c"mi_heap_calloc_aligned" AlignMany { count: 1, size: 2, alignment: 3 };
    mi_heap_calloc_aligned_at 87 wide c"mi_heap_calloc_aligned_at" AlignMany { count: 1, size: 2, alignment: 3 };
    mi_heap_realloc_aligned 88 narrow c"mi_heap_realloc_aligned" Reallocate { block: 1, size: 2 };
    mi_heap_realloc_aligned_at 89 wide c"mi_heap_realloc_aligned_at" Reallocate { block: 1, size: 2 };
    mi_heap_rezalloc_aligned 90 narrow c"mi_heap_rezalloc_aligned" Reallocate { block: 1, size: 2 };
    mi_heap_rezalloc_aligned_at 91 wide c"mi_heap_rezalloc_aligned_at" Reallocate { block: 1, size: 2 };
    mi_heap_recalloc_aligned 92 wide c"mi_heap_recalloc_aligned" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_heap_recalloc_aligned_at 93 wide c"mi_heap_recalloc_aligned_at" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_heap_zalloc_small 94 narrow c"mi_heap_zalloc_small" Allocate { size: 1 };
    mi_heap_alloc_new 95 narrow c"mi_heap_alloc_new" Allocate { size: 1 };
    mi_heap_alloc_new_n 96 narrow c"mi_heap_alloc_new_n" AllocateMany { count: 1, size: 2 };
    mi_theap_malloc 97 narrow c"mi_theap_malloc" Allocate { size: 1 };
    mi_theap_malloc_small 98 narrow c"mi_theap_malloc_small" Allocate { size: 1 };
    mi_theap_zalloc 99 narrow c"mi_theap_zalloc" Allocate { size: 1 };
    mi_theap_calloc 100 narrow c"mi_theap_calloc" AllocateMany { count: 1, size: 2 };
    mi_theap_mallocn 101 narrow c"mi_theap_mallocn" AllocateMany { count: 1, size: 2 };
    mi_theap_realloc 102 narrow c"mi_theap_realloc" Reallocate { block: 1, size: 2 };
    mi_theap_reallocn 103 narrow c"mi_theap_reallocn" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_theap_reallocf 104 narrow c"mi_theap_reallocf" Reallocate { block: 1, size: 2 };
    mi_theap_rezalloc 105 narrow c"mi_theap_rezalloc" Reallocate { block: 1, size: 2 };
    mi_theap_recalloc 106 narrow c"mi_theap_recalloc" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_theap_strdup 107 narrow c"mi_theap_strdup" Duplicate { text: 1, most: None };
    mi_theap_strndup 108 narrow c"mi_theap_strndup" Duplicate { text: 1, most: Some(2) };
    mi_theap_malloc_aligned 109 narrow c"mi_theap_malloc_aligned" Align { size: 1, alignment: 2 };
    mi_theap_malloc_aligned_at 110 narrow c"mi_theap_malloc_aligned_at" Align { size: 1, alignment: 2 };
    mi_theap_zalloc_aligned 111 narrow c"mi_theap_zalloc_aligned" Align { size: 1, alignment: 2 };
    mi_theap_zalloc_aligned_at 112 narrow c"mi_theap_zalloc_aligned_at" Align { size: 1, alignment: 2 };
    mi_theap_calloc_aligned 113 narrow c"mi_theap_calloc_aligned" AlignMany { count: 1, size: 2, alignment: 3 };
    mi_theap_calloc_aligned_at 114 wide c"mi_theap_calloc_aligned_at" AlignMany { count: 1, size: 2, alignment: 3 };
    mi_theap_realloc_aligned 115 narrow c"mi_theap_realloc_aligned" Reallocate { block: 1, size: 2 };
    mi_theap_realloc_aligned_at 116 wide c"mi_theap_realloc_aligned_at" Reallocate { block: 1, size: 2 };
    mi_theap_rezalloc_aligned 117 narrow c"mi_theap_rezalloc_aligned" Reallocate { block: 1, size: 2 };
    mi_theap_rezalloc_aligned_at 118 wide c"mi_theap_rezalloc_aligned_at" Reallocate { block: 1, size: 2 };
    mi_theap_recalloc_aligned 119 wide c"mi_theap_recalloc_aligned" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_theap_recalloc_aligned_at 120 wide c"mi_theap_recalloc_aligned_at" ReallocateMany { block: 1, count: 2, size: 3 };
    mi_theap_zalloc_small 121 narrow c"mi_theap_zalloc_small" Allocate { size: 1 };
    mi_new 122 narrow c"mi_new" Allocate { size: 0 };
    mi_new_nothrow 123 narrow c"mi_new_nothrow" Allocate { size: 0 };
    mi_new_aligned 124 narrow c"mi_new_aligned" Align { size: 0, alignment: 1 };
    mi_new_aligned_nothrow 125 narrow c"mi_new_aligned_nothrow" Align { size: 0, alignment: 1 };
    mi_new_n 126 narrow c"mi_new_n" AllocateMany { count: 0, size: 1 };
    mi_new_realloc 127 narrow c"mi_new_realloc" Reallocate { block: 0, size: 1 };
    mi_new_reallocn 128 narrow c"mi_new_reallocn" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_memalign 129 narrow c"mi_memalign" Align { size: 1, alignment: 0 };
    mi_aligned_alloc 130 narrow c"mi_aligned_alloc" Align { size: 1, alignment: 0 };
    mi_posix_memalign 131 narrow c"mi_posix_memalign" AlignAt { place: 0, alignment: 1, size: 2 };
    mi_valloc 132 narrow c"mi_valloc" Allocate { size: 0 };
    mi_pvalloc 133 narrow c"mi_pvalloc" Allocate { size: 0 };
    mi_reallocarray 134 narrow c"mi_reallocarray" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_reallocarr 135 narrow c"mi_reallocarr" ReallocateAt { place: 0, count: 1, size: 2 };
    mi_aligned_recalloc 136 narrow c"mi_aligned_recalloc" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_aligned_offset_recalloc 137 wide c"mi_aligned_offset_recalloc" ReallocateMany { block: 0, count: 1, size: 2 };
    mi_free 138 narrow c"mi_free" Free { block: 0 };
    mi_cfree 139 narrow c"mi_cfree" Free { block: 0 };
    mi_free_size 140 narrow c"mi_free_size" Free { block: 0 };
    mi_free_aligned 141 narrow c"mi_free_aligned" Free { block: 0 };
    mi_free_size_aligned 142 narrow c"mi_free_size_aligned" Free { block: 0 };
    mi_free_small 143 narrow c"mi_free_small" Free { block: 0 };
    // Firefox's arenas.
    moz_arena_malloc 144 narrow c"moz_arena_malloc" Allocate { size: 1 };
    moz_arena_calloc 145 narrow c"moz_arena_calloc" AllocateMany { count: 1, size: 2 };
    moz_arena_realloc 146 narrow c"moz_arena_realloc" Reallocate { block: 1, size: 2 };
    moz_arena_memalign 147 narrow c"moz_arena_memalign" Align { size: 2, alignment: 1 };
    moz_arena_free 148 narrow c"moz_arena_free" Free { block: 1 };
    // In a program that exports malloc, which these may contain inlined.
    strdup 149 narrow c"strdup" Duplicate { text: 0, most: None };
    strndup 150 narrow c"strndup" Duplicate { text: 0, most: Some(1) };
}

/// The indices of those above that count in libraries, too: functions with names that are no other allocator's.
const OF_LIBRARIES: Range<usize> = 30..144;
/// The first index of those above that count only beside an exported `malloc`.
const BESIDE_MALLOC: usize = 149;

/// The moved beginnings of these functions.
static MOVED: [AtomicPtr<c_void>; OTHERS.len()] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; OTHERS.len()];

/// Lists the functions that only such allocators have.
#[cold]
pub(crate) fn linked_others(tell: &mut dyn FnMut(Function)) {
    others(0..BESIDE_MALLOC, tell);
    cxx::linked_names(tell);
}

/// Lists those that an allocator in a library may have and that we cannot export: programs check for their existence
/// to see which allocator they use.
#[cold]
pub(crate) fn linked_in_libraries(tell: &mut dyn FnMut(Function)) {
    others(OF_LIBRARIES, tell);
    cxx::linked_names(tell);
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

/// The arguments of a function; those that it does not have may be anything.
type Arguments = [usize; 6];

/// An argument by its number in the table above.
fn argument(arguments: &Arguments, number: usize) -> usize {
    arguments.get(number).copied().unwrap_or(0)
}

/// The hook of a function with at most four arguments.
unsafe extern "C" fn body<const INDEX: usize>(
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    unsafe { serve::<INDEX, false>([first, second, third, fourth, 0, 0], entry, bp) }
}

/// The hook of a function with more.
unsafe extern "C" fn wide_body<const INDEX: usize>(
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    unsafe { serve::<INDEX, true>([first, second, third, fourth, fifth, sixth], entry, bp) }
}

/// What these hooks do.
#[inline(always)]
unsafe fn serve<const INDEX: usize, const IS_WIDE: bool>(
    all: Arguments,
    entry: *const u64,
    bp: u64,
) -> Pointer {
    // SAFETY: passed on unchanged.
    let next = || unsafe { go_on::<IS_WIDE>(INDEX, all) };
    let Some(Other { what, .. }) = OTHERS.get(INDEX) else { return next().unwrap_or(null_mut()) };
    let argument = |number| argument(&all, number);
    let product = |count, size| argument(count).saturating_mul(argument(size));
    let allocate = |size, alignment, kind| {
        // SAFETY: the shim's arguments.
        unsafe { heap::allocate::<Linked>(next, size, alignment, kind, entry, bp) }
    };
    let reallocate = |block, size| {
        let with = |other: Pointer| {
            let mut all = all;
            if let Some(place) = all.get_mut(block) {
                *place = other.expose_provenance();
            }
            // SAFETY: with the same block, or none.
            unsafe { go_on::<IS_WIDE>(INDEX, all) }
        };
        let block = core::ptr::with_exposed_provenance_mut(argument(block));
        // SAFETY: the shim's arguments.
        unsafe { heap::reallocate::<Linked>(block, size, pseudo::REALLOC, with, entry, bp) }
    };
    match *what {
        Allocate { size } => allocate(argument(size), 0, 0),
        AllocateMany { count, size } => allocate(product(count, size), 0, pseudo::CALLOC),
        Align { size, alignment } => allocate(argument(size), argument(alignment), pseudo::ALIGNED_ALLOC),
        AlignMany { count, size, alignment } => {
            allocate(product(count, size), argument(alignment), pseudo::ALIGNED_ALLOC)
        }
        AlignByFlags { size, flags } => {
            let logarithm = argument(flags) as u32 & 63;
            allocate(argument(size), if logarithm == 0 { 0 } else { 1 << logarithm }, 0)
        }
        AlignAt { place, alignment, size } => {
            let place = core::ptr::with_exposed_provenance_mut(argument(place));
            let next = || next().map(|error| error.addr() as c_int);
            let (alignment, size) = (argument(alignment), argument(size));
            // SAFETY: the shim's arguments.
            let error = unsafe { heap::align_at::<Linked>(next, place, alignment, size, entry, bp) };
            core::ptr::without_provenance_mut(error as usize)
        }
        Reallocate { block, size } => reallocate(block, argument(size)),
        ReallocateMany { block, count, size } => reallocate(block, product(count, size)),
        ReallocateAt { place, count, size } => {
            let place = core::ptr::with_exposed_provenance_mut::<Pointer>(argument(place));
            if place.is_null() {
                return next().unwrap_or(null_mut());
            }
            let result = Cell::new(null_mut());
            let with = |_| {
                result.set(next()?);
                // SAFETY: the caller passes a place for the pointer.
                Some(if result.get().is_null() { unsafe { place.read() } } else { null_mut() })
            };
            // SAFETY: as above.
            let block = unsafe { place.read() };
            // SAFETY: the shim's arguments.
            unsafe {
                heap::reallocate::<Linked>(block, product(count, size), pseudo::REALLOC, with, entry, bp)
            };
            result.get()
        }
        Duplicate { text, most } => {
            let text = core::ptr::with_exposed_provenance::<u8>(argument(text));
            if text.is_null() {
                return next().unwrap_or(null_mut());
            }
            let most = most.map_or(usize::MAX, argument);
            // SAFETY: the function itself is about to read that far.
            let length = (0..most).take_while(|at| unsafe { text.wrapping_add(*at).read() } != 0).count();
            allocate(length.saturating_add(1), 0, 0)
        }
        Free { block } => {
            let block = argument(block);
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
#[inline(always)]
unsafe fn go_on<const IS_WIDE: bool>(
    index: usize,
    [first, second, third, fourth, fifth, sixth]: Arguments,
) -> Option<Pointer> {
    type Narrow = unsafe extern "C" fn(usize, usize, usize, usize) -> Pointer;
    type Wide = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> Pointer;
    let moved = MOVED.get(index)?.load(Ordering::Relaxed);
    if moved.is_null() {
        return None;
    }
    if IS_WIDE {
        // SAFETY: found under the name of such a function; functions with fewer parameters ignore the others, and no
        // result is wider.
        let function = unsafe { core::mem::transmute::<Pointer, Wide>(moved) };
        // SAFETY: upheld by the caller.
        return Some(unsafe { function(first, second, third, fourth, fifth, sixth) });
    }
    // SAFETY: as above.
    let function = unsafe { core::mem::transmute::<Pointer, Narrow>(moved) };
    // SAFETY: upheld by the caller.
    Some(unsafe { function(first, second, third, fourth) })
}

#[cfg(test)]
mod tests;
