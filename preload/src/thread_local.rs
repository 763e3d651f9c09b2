//! A thread's block: what its hooks, its signal handlers and the agent's own calls know of each other.
//!
//! Two words say what the thread is in the middle of. Only the methods here change them, and only from one of these states to another:
//!
//! | the thread is in | `busy` | `inside` | begun by | ended by | a hook that is called now |
//! |---|---|---|---|---|---|
//! | the program | 0 | 0 | | | is recorded |
//! | a hook at work | odd: its stack pointer | any | `begin_hook` | `end_hook` | is a handler's, or a defect: passed on, counted |
//! | a call of libc's for the agent itself | `OWN_CALL` | any | `begin_own_call` | `end_own_call` | is ours: passed on; an allocation is counted as one of the agent's |
//! | the program, but may not read the time | `MUTED` | any | `mute` | `unmute` | is passed on, counted as forbidden |
//! | the next allocator | 0 | stack pointer of the hook | `enter_allocator` | `leave_allocator` | is part of the outer call, unless it is a handler's, which is recorded |
//! | a child of `vfork` | any of the above | | the shim of `vfork` | the same, in the parent; `sandbox::leave_vfork` in a child that it forks | leaves a note, see `thread::missed` |
//!
//! ```text
//!                    ┌── begin_own_call ──► own call (signals are blocked)
//!                    │ ◄── end_own_call ──┘
//!   program ── begin_hook ──► hook ── end_hook ──► program            (or muted, if a handler asked for that meanwhile)
//!      │ ▲                      └─ left by longjmp: is_hook_left ──► take_over_hook ── end_hook ──► program
//!      │ └── leave_allocator, or left by longjmp: forget_allocator ──┐
//!      └──── enter_allocator ──► allocator ── begin_hook ──► hook ───┘
//! ```
//!
//! **A signal handler** may come between any two instructions, except in a call of our own, for which signals are blocked. When it
//! returns, both words are as it found them: its hooks end before it does. So what a hook has read of them before is still true after.
//! When it leaves by `longjmp`, they are as they were at that instruction, and the next hook of the program finds out.
//!
//! **A child of fork** has a copy of the block of the thread that forked, in whatever state; its epoch is another process', so the first
//! hook begins anew (`hear`). Where the fork was called in a handler that had interrupted a hook, that hook ends in the child, too:
//! see `process::part`. **A child of vfork** runs on the block itself. While it does, the epoch is nobody's, so no hook can begin.
//!
//! **What outlives a recording** in the block (calls counted for the next record, the countdown, being at rest) is made void at
//! one place, [`ThreadLocal::hear`], by whoever first meets the next one.

use crate::sampler::UNDRAWN;
use crate::thread::ThreadState;
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{Ordering, compiler_fence};

/// A thread's state that must be reachable without a call: one small plain block in initial-exec thread-local
/// storage. It has no destructor and is zero but for `epoch` and `countdown` in a new thread.
///
/// Cells and [`fence`] are enough: only the thread itself and its own signal handlers touch it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ThreadLocal {
    /// The process epoch that `state` belongs to; [`NO_EPOCH`] while there is none.
    epoch: Cell<u32>,
    /// Not 0 while a hook of this thread is at work: which one, see above.
    busy: Cell<u32>,
    /// The thread's state, valid while `epoch` is the process'.
    state: Cell<*mut ThreadState>,
    /// Stack pointer of the hook that is inside the next allocator, 0 outside.
    inside: Cell<usize>,
    /// The kind of the next `malloc`, set by the hooks of `operator new` that go on to it.
    pub(crate) kind_hint: Cell<u8>,
    /// Not 0 in a child of `vfork`, which runs on the parent's memory: a [`Vforked`]. The shim of `vfork` sets the lowest bit, and puts the
    /// byte back in the parent.
    in_vfork: Cell<u8>,
    /// What the next hook is to do beside its own work, and at its end: see [`Attention`].
    attention: Cell<u8>,
    /// Nothing is recorded, and nobody is waited for: what the thread found out when it `heard`. See
    /// [`crate::process::is_at_rest`].
    at_rest: Cell<bool>,
    /// Allocations that were lost while `busy`, to be told with the next record.
    nested_allocations: Cell<u32>,
    /// Frees, likewise.
    nested_frees: Cell<u32>,
    /// Number of the fork that the thread is in; a child finds it in its copy.
    pub(crate) fork: Cell<u32>,
    /// Bytes until the next sample, see [`crate::sampler`].
    pub(crate) countdown: Cell<i64>,
    /// What [`crate::process::epoch`] was when the thread last found out what that means for it; 0 while it never did.
    heard: Cell<u32>,
    /// The last block that was recorded as announced, see [`hinted`].
    pub(crate) hinted_block: Cell<u32>,
    /// The size that was asked for by the `operator new` that announced `kind_hint`.
    pub(crate) size_hint: Cell<usize>,
}

/// The epoch of a thread without a state; no process has it.
pub(crate) const NO_EPOCH: u32 = u32::MAX;

const _: () = assert!(size_of::<ThreadLocal>() == 64);
// `thread::memory` reads the first two as one word; the shim of `vfork` sets the first, and puts both back.
const _: () = assert!(offset_of!(ThreadLocal, epoch) == 0);
const _: () = assert!(offset_of!(ThreadLocal, busy) == 4);
// In the image that `arch` has of a new thread's block.
const _: () = assert!(offset_of!(ThreadLocal, countdown) == 40);

/// Where the shim of `vfork` says that its child runs.
pub(crate) const IN_VFORK: usize = offset_of!(ThreadLocal, in_vfork);

/// `busy` while a function of libc works for the agent itself.
const OWN_CALL: u32 = 2;
/// `busy` in a thread that may not even read the time.
const MUTED: u32 = 4;

/// Stacks are taken to be the same within this distance.
const SAME_STACK: u32 = 8 << 20;

/// The mark of a hook at this stack pointer: the low half of it, made odd. So it is neither 0 nor one of those above.
#[inline(always)]
fn mark(sp: usize) -> u32 {
    sp as u32 | 1
}

/// Keeps the compiler from moving memory accesses across; between a thread and its own signal handlers nothing more
/// is needed.
#[inline(always)]
pub(crate) fn fence() {
    compiler_fence(Ordering::SeqCst);
}

/// A block's address as [`ThreadLocal::hinted_block`] has it: what of it tells blocks apart that one call can mean.
pub(crate) fn hinted(block: usize) -> u32 {
    (block >> 3) as u32
}

/// What `busy` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// No hook is at work; the next allocator may be.
    None,
    /// A hook is, or was left.
    Hook,
    /// The agent has called a function of libc's.
    OwnCall,
    /// No hook may be.
    Muted,
}

/// What is known of a child of `vfork`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vforked {
    /// The thread is one.
    pub(crate) is_it: bool,
    /// It has forbidden itself some call of the agent's, see [`crate::sandbox`].
    pub(crate) is_confined: bool,
    /// It has forbidden itself, and what it executes, to begin a recording.
    pub(crate) may_not_begin: bool,
    /// It has forbidden itself to read files.
    pub(crate) may_not_read: bool,
}

/// What `inside` was before, to be put back.
#[must_use]
#[derive(Debug)]
pub(crate) struct Outer(usize);

/// What `busy` was before a call of the agent's own, to be put back.
#[must_use]
#[derive(Debug)]
pub(crate) struct Interrupted(u32);

/// What the thread is in the middle of.
impl ThreadLocal {
    /// True when a hook that is called now may begin without another look: no other one is at work, nor the next allocator.
    // Cost: two loads and compares. Not as one word with the epoch: a hook that begins just when the last one has ended would wait
    // for its store.
    #[inline(always)]
    pub(crate) fn is_in_program(&self) -> bool {
        self.busy.get() == 0 && self.inside.get() == 0
    }

    /// What is at work.
    pub(crate) fn work(&self) -> Work {
        match self.busy.get() {
            0 => Work::None,
            OWN_CALL => Work::OwnCall,
            MUTED => Work::Muted,
            _ => Work::Hook,
        }
    }

    /// True while anything is.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get() != 0
    }

    /// A hook at this stack pointer begins its work.
    // Cost: one store.
    #[inline(always)]
    pub(crate) fn begin_hook(&self, sp: usize) {
        debug_assert!(self.work() == Work::None, "a hook begins in another one");
        self.busy.set(mark(sp));
        fence();
    }

    /// It has ended its work.
    #[inline(always)]
    pub(crate) fn end_hook(&self) {
        debug_assert!(self.work() == Work::Hook, "no hook was at work");
        fence();
        self.busy.set(0);
    }

    /// True when the hook whose mark is there will never end, as far as the stack tells: a handler that had interrupted it would run
    /// below it, and `sp` is the stack pointer of the code that calls a later hook. It may be another stack's.
    pub(crate) fn is_hook_left(&self, sp: usize) -> bool {
        self.work() == Work::Hook && mark(sp).wrapping_sub(self.busy.get()) < SAME_STACK
    }

    /// A hook at this stack pointer takes the place of one that was left, and of an allocator that was left with it.
    pub(crate) fn take_over_hook(&self, sp: usize) {
        debug_assert!(self.work() == Work::Hook, "no hook was left");
        self.inside.set(0);
        self.kind_hint.set(0);
        self.busy.set(mark(sp));
        fence();
    }

    /// The agent calls a function of libc's for itself. Signals are blocked until [`Self::end_own_call`].
    pub(crate) fn begin_own_call(&self) -> Interrupted {
        debug_assert!(self.work() != Work::OwnCall, "one mark is enough");
        let before = self.busy.replace(OWN_CALL);
        fence();
        Interrupted(before)
    }

    /// It has returned.
    pub(crate) fn end_own_call(&self, before: Interrupted) {
        debug_assert!(self.work() == Work::OwnCall, "no call of our own was made");
        fence();
        self.busy.set(before.0);
    }

    /// The thread is about to lose the right to do anything but read and write. A hook that this interrupts ends first.
    pub(crate) fn mute(&self) {
        if self.work() == Work::Hook {
            Attention::Muted.call(self);
        } else {
            debug_assert!(self.work() != Work::OwnCall, "signals are blocked");
            Attention::Muted.dismiss(self);
            self.busy.set(MUTED);
        }
    }

    /// True of a thread that has lost it.
    pub(crate) fn is_muted(&self) -> bool {
        self.work() == Work::Muted || Attention::Muted.is_called(self)
    }

    /// It has kept it, or has it again.
    pub(crate) fn unmute(&self) {
        Attention::Muted.dismiss(self);
        if self.work() == Work::Muted {
            self.busy.set(0);
        }
    }

    /// The hook at this stack pointer calls the next allocator, which may call hooks.
    // Cost: a load, a compare and a store.
    #[inline(always)]
    pub(crate) fn enter_allocator(&self, sp: usize) -> Outer {
        let before = self.inside.get();
        if before == 0 {
            self.inside.set(sp);
        }
        fence();
        Outer(before)
    }

    /// It has returned.
    #[inline(always)]
    pub(crate) fn leave_allocator(&self, before: &Outer) {
        fence();
        self.inside.set(before.0);
    }

    /// True when code at this stack pointer may be called by the next allocator, or by a handler that has interrupted it.
    pub(crate) fn is_within_allocator(&self, sp: usize) -> bool {
        self.inside.get() != 0 && sp < self.inside.get()
    }

    /// True when the hook that has called the next allocator is gone: the caller of another one stands above it.
    pub(crate) fn is_allocator_left(&self, sp: usize) -> bool {
        sp > self.inside.get()
    }

    /// A handler has left the next allocator by `longjmp`.
    pub(crate) fn forget_allocator(&self) {
        self.inside.set(0);
    }

    /// True in a child of `vfork`.
    pub(crate) fn is_in_vfork(&self) -> bool {
        self.in_vfork.get() != 0
    }

    /// What is known of it as such.
    pub(crate) fn vforked(&self) -> Vforked {
        let has = |bit: u8| self.in_vfork.get() & bit != 0;
        Vforked { is_it: has(1), is_confined: has(2), may_not_begin: has(4), may_not_read: has(8) }
    }

    /// Something else is.
    pub(crate) fn set_vforked(&self, child: Vforked) {
        let Vforked { is_it, is_confined, may_not_begin, may_not_read } = child;
        let bits = [(is_it, 1), (is_confined, 2), (may_not_begin, 4), (may_not_read, 8)];
        self.in_vfork.set(bits.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit));
    }
}

/// What the thread knows of the recording.
impl ThreadLocal {
    /// True when the thread has a state of the process' session, which has this epoch.
    // Cost: one load and compare.
    #[inline(always)]
    pub(crate) fn is_in_session(&self, epoch: u32) -> bool {
        self.epoch.get() == epoch
    }

    /// Its state, or the last that it had.
    #[inline(always)]
    pub(crate) fn state(&self) -> *mut ThreadState {
        self.state.get()
    }

    /// It has a state of the session from here on.
    pub(crate) fn join_session(&self, state: *mut ThreadState, epoch: u32) {
        debug_assert!(self.is_busy() && !self.is_in_vfork(), "only hooks join");
        self.state.set(state);
        self.epoch.set(epoch);
        self.hear(epoch);
    }

    /// It has none any more.
    pub(crate) fn leave_session(&self) {
        self.epoch.set(NO_EPOCH);
    }

    /// True when the thread knows what the process' epoch, which is this, means for it.
    #[inline(always)]
    pub(crate) fn has_heard(&self, epoch: u32) -> bool {
        self.heard.get() == epoch
    }

    /// The thread meets a process of this epoch. What it kept of an earlier recording is void, and in a child of fork what its parent
    /// is to tell; a thread that has met nobody before has kept nothing, or it was its own.
    pub(crate) fn hear(&self, epoch: u32) {
        let before = self.heard.replace(epoch);
        self.at_rest.set(false);
        // It was to let calls pass, or of another recording.
        self.countdown.set(UNDRAWN);
        if before != epoch && before != 0 {
            self.forget_nested();
        }
    }

    /// Nothing is recorded, and nobody is waited for, or somebody still is. Hooks look again after so many bytes.
    pub(crate) fn rest(&self, is_settled: bool, bytes: i64) {
        self.at_rest.set(is_settled);
        self.countdown.set(bytes);
    }

    /// What the thread knew when it last heard.
    #[inline(always)]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.get()
    }

    /// Counts an allocation that could not be recorded, and is to be told.
    pub(crate) fn count_allocation(&self) {
        self.nested_allocations.set(self.nested_allocations.get().wrapping_add(1));
        Attention::Nested.call(self);
    }

    /// The same of a free.
    pub(crate) fn count_free(&self) {
        self.nested_frees.set(self.nested_frees.get().wrapping_add(1));
        Attention::Nested.call(self);
    }

    /// Allocations and frees that were counted, of which somebody tells now. No handler comes before it has.
    pub(crate) fn take_nested(&self) -> [u32; 2] {
        [self.nested_allocations.replace(0), self.nested_frees.replace(0)]
    }

    fn forget_nested(&self) {
        Attention::Nested.dismiss(self);
        let _ = self.take_nested();
    }

    /// True when there is anything to do beside a hook's own work.
    // Cost: one load and compare.
    #[inline(always)]
    pub(crate) fn needs_attention(&self) -> bool {
        self.attention.get() != 0
    }

    /// The same, if the next hook's time were not to be taken.
    #[inline(always)]
    pub(crate) fn needs_attention_now(&self) -> bool {
        self.attention.get() & !(Attention::Timed as u8) != 0
    }
}

/// What a thread has to do beside its hooks' own work: bits of one byte, which costs hooks one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Attention {
    /// Calls were lost while it was busy, which is to be told.
    Nested = 1,
    /// The time of its next hook is to be taken.
    Timed = 2,
    /// Its destructor ran: events still come, each with a ring of its own.
    Exiting = 4,
    /// A signal handler that had interrupted a hook wanted the recording to stop or to go on.
    Switched = 8,
    /// A child of vfork has left notes, see [`crate::thread::missed`].
    Missed = 16,
    /// A signal handler that had interrupted a hook has taken the right from the thread to do more than read and write.
    Muted = 32,
}

impl Attention {
    /// Asks for it.
    #[inline(always)]
    pub(crate) fn call(self, local: &ThreadLocal) {
        local.attention.set(local.attention.get() | self as u8);
    }

    /// True when it was asked for.
    pub(crate) fn is_called(self, local: &ThreadLocal) -> bool {
        local.attention.get() & self as u8 != 0
    }

    /// It is done.
    pub(crate) fn dismiss(self, local: &ThreadLocal) {
        local.attention.set(local.attention.get() & !(self as u8));
    }
}

#[cfg(test)]
mod tests;
