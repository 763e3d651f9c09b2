//! The allocator that a program has inside.
//!
//! Where an executable defines `malloc` itself, whether it was linked with an allocator or brings its own, that comes before ours in
//! the order of the search; and what it calls inside itself goes by no order. So the first bytes of such functions are
//! changed, before the program begins: a jump leads to a hook, and what stood there is done elsewhere, where the hook goes on to.
//!
//! ```text
//!  program   malloc: jmp ──────┐                             ┌──► rest of malloc
//!  page                        └─► jmp [hook]   moved: … jmp ┘
//!  agent                                │           ▲
//!                                       hook ───────┘
//! ```
//!
//! The same is done to the few functions of allocators in libraries that we must not export, since programs see by them what they are on.
//!
//! All of its functions are led to us or none: of blocks that only come or only go half would be seen. Whether they are is said with
//! the first words to the collector.

mod code;
mod moved;
mod plan;
mod symbols;
mod text;

use crate::real::{Next, next};
use crate::{config, sys};
use code::Code;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use plan::Plan;
use shared_ring::handshake::Inside;

type Pointer = *mut c_void;

next! {
    /// Its `malloc`.
    MALLOC, malloc = c"malloc": fn(size: usize) -> Pointer;
    /// Its `free`.
    FREE, free = c"free": fn(block: Pointer);
    /// Its `calloc`.
    CALLOC, calloc = c"calloc": fn(count: usize, size: usize) -> Pointer;
    /// Its `realloc`.
    REALLOC, realloc = c"realloc": fn(block: Pointer, size: usize) -> Pointer;
    /// Its `reallocarray`.
    REALLOCARRAY, reallocarray = c"reallocarray": fn(block: Pointer, count: usize, size: usize) -> Pointer;
    /// Its `posix_memalign`.
    POSIX_MEMALIGN, posix_memalign = c"posix_memalign": fn(place: *mut Pointer, alignment: usize, size: usize) -> c_int;
    /// Its `aligned_alloc`.
    ALIGNED_ALLOC, aligned_alloc = c"aligned_alloc": fn(alignment: usize, size: usize) -> Pointer;
    /// Its `memalign`.
    MEMALIGN, memalign = c"memalign": fn(alignment: usize, size: usize) -> Pointer;
    /// Its `valloc`.
    VALLOC, valloc = c"valloc": fn(size: usize) -> Pointer;
    /// Its `pvalloc`.
    PVALLOC, pvalloc = c"pvalloc": fn(size: usize) -> Pointer;
}

/// All was led that can be.
static IS_DONE: AtomicBool = AtomicBool::new(false);
/// An [`Inside`].
static INSIDE: AtomicU32 = AtomicU32::new(Inside::Nothing as u32);

/// Whether the program has an allocator inside, and whether that is led to us.
pub(crate) fn inside() -> Inside {
    [Inside::Led, Inside::Unseen]
        .into_iter()
        .find(|inside| *inside as u32 == INSIDE.load(Ordering::Relaxed))
        .unwrap_or_default()
}

/// A function that can be led to us.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Under which the program defines it.
    pub(crate) name: &'static CStr,
    /// Where its calls are to go.
    pub(crate) hook: *const c_void,
    /// Makes its moved beginning known, of the function with this number.
    pub(crate) keep: fn(usize, *mut c_void),
    /// Its number.
    pub(crate) index: usize,
}

impl Function {
    const NOTHING: Self = Self { name: c"", hook: core::ptr::null(), keep, index: usize::MAX };
}

/// Leads the allocator inside the program to us, if it has one, and those functions of its libraries that nobody can stand before. Called
/// before the program begins; in a child that was forked while its parent was at that it may be done already, and would lead to itself
/// if it were done twice.
#[cold]
pub(crate) fn lead() {
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(program) = Code::of_program() else { return };
    if program.has_sanitizer() {
        return;
    }
    let mut plan = Plan::new(program);
    plan.note_program();
    let mut is_one = follow(&plan, Inside::Led);
    // Each hook goes on to one function.
    code::each_library(&mut |library| {
        if !is_one {
            plan.begin(library);
            plan.note_library();
            is_one = follow(&plan, Inside::Nothing);
        }
    });
}

/// Does what is planned, and notes what the module has inside then; false where there is nothing to do.
fn follow(plan: &Plan, then: Inside) -> bool {
    if plan.is_empty() {
        return false;
    }
    // Instructions are taken apart of x86-64 only.
    let may = cfg!(target_arch = "x86_64") && !config::keeps_code();
    let is_done = may && sys::is_single_threaded() && plan.change();
    let inside = if is_done { then } else { Inside::Unseen };
    // Relaxed: nobody else is there yet.
    INSIDE.store(inside as u32, Ordering::Relaxed);
    true
}

/// Makes the moved beginning of one of the functions above known.
pub(crate) fn keep(index: usize, moved: *mut c_void) {
    if let Some(next) = ALL.get(index) {
        next.set(moved);
    }
}

/// The number that [`keep`] takes, of a function's name.
pub(crate) fn index_of(name: &CStr) -> usize {
    ALL.iter().position(|next: &&Next| next.name() == name).unwrap_or(usize::MAX)
}
