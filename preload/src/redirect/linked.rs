//! Allocators inside the program's executable.
//!
//! Where an executable defines `malloc` itself, because it was linked with an allocator or brings its own, that
//! definition comes before ours in symbol lookup; and calls within the executable involve no lookup at all. So the
//! first bytes of such functions are changed before the program begins: a jump leads to a hook, and the displaced
//! instructions run elsewhere, where the hook goes on to.
//!
//! ```text
//!  program   malloc: jmp ──────┐                             ┌──► rest of malloc
//!  page                        └─► jmp [hook]   moved: … jmp ┘
//!  agent                                │           ▲
//!                                       hook ───────┘
//! ```
//!
//! The same is done to the few functions of allocators in libraries that we must not export, since programs detect
//! their allocator by these names.
//!
//! Either all of its functions are redirected to us or none: otherwise blocks would be seen that are only allocated
//! or only freed. Which of the two was done is reported with the first words to the collector.

mod code;
mod list;
mod moved;
mod plan;
mod symbols;
mod text;

use crate::platform::{config, sys};
use code::Code;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use plan::Plan;
use shared_ring::handshake::Inside;
#[cfg(test)]
pub(crate) use text::PLACES;

/// Everything that can be redirected was.
static IS_DONE: AtomicBool = AtomicBool::new(false);
/// An [`Inside`].
static INSIDE: AtomicU32 = AtomicU32::new(Inside::Nothing as u32);

/// Whether the program has an allocator inside, and whether that is redirected to us.
pub(crate) fn inside() -> Inside {
    [Inside::Led, Inside::Unseen]
        .into_iter()
        .find(|inside| *inside as u32 == INSIDE.load(Ordering::Relaxed))
        .unwrap_or_default()
}

/// A function that can be redirected to us.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// The name by which the program defines it.
    pub(crate) name: &'static CStr,
    /// The hook that its calls are to reach.
    pub(crate) hook: *const c_void,
    /// Publishes the function's moved beginning; takes `index`.
    pub(crate) keep: fn(usize, *mut c_void),
    /// Its number.
    pub(crate) index: usize,
}

/// The hooks that functions can be redirected to. Each list tells all of its functions.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    /// Those by which the program precedes all libraries.
    pub(crate) exported: fn(tell: &mut dyn FnMut(Function)),
    /// Those that only allocators inside a program have.
    pub(crate) others: fn(tell: &mut dyn FnMut(Function)),
    /// Those that an allocator in a library may have and that we cannot export.
    pub(crate) in_libraries: fn(tell: &mut dyn FnMut(Function)),
    /// Notes that a function now leads to us, and where what it was begins.
    pub(crate) note_moved: fn(function: *mut c_void, beginning: *mut c_void),
}

/// Redirects the allocator inside the program to us, if it has one, and those functions of its libraries that we
/// cannot interpose. Called before the program begins. In a child that was forked while its parent was doing this, it
/// may be done already; done twice, a function would jump to itself.
#[cold]
pub(crate) fn lead(hooks: Hooks) {
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(program) = Code::of_program() else { return };
    if program.has_sanitizer() {
        return;
    }
    let mut plan = Plan::new(program, hooks);
    plan.note_program();
    let mut is_one = follow(&plan, Inside::Led);
    // Each hook can go on to only one function.
    code::each_library(&mut |library| {
        if !is_one {
            plan.begin(library);
            plan.note_library();
            is_one = follow(&plan, Inside::Nothing);
        }
    });
}

/// Carries the plan out, and notes what the module has inside; false when the plan is empty.
fn follow(plan: &Plan, then: Inside) -> bool {
    if plan.is_empty() {
        return false;
    }
    // Instructions can be decoded on x86-64 only.
    let may = cfg!(target_arch = "x86_64") && !config::keeps_code();
    let is_done = may && sys::is_single_threaded() && plan.change();
    let inside = if is_done { then } else { Inside::Unseen };
    // Relaxed: there is no other thread yet.
    INSIDE.store(inside as u32, Ordering::Relaxed);
    true
}
