//! A thread's block: what its hooks, its signal handlers and the agent's own calls know of each other.
//!
//! Two words say what the thread is doing. Only the methods here change them, and only between these states:
//!
//! | the thread is in | `busy` | `inside` | begun by | ended by | a hook that is called now |
//! |---|---|---|---|---|---|
//! | the program | 0 | 0 | | | is recorded |
//! | a hook at work | odd: its stack pointer | any | `begin_hook` | `end_hook` | is a handler's, or a defect: passed on, counted |
//! | a call of libc's for the agent itself | `OWN_CALL` | any | `begin_own_call` | `end_own_call` | is ours: passed on; an allocation is counted as one of the agent's |
//! | the program, but may not read the time | `MUTED` | any | `mute` | `unmute` | is passed on, counted as forbidden |
//! | the next allocator | 0 | stack pointer of the hook | `enter_allocator` | `leave_allocator` | is part of the outer call, unless it is a handler's, which is recorded |
//! | a child of `vfork` | any of the above | | the shim of `vfork` | the same, in the parent; `allowed_calls::leave_vfork` in a child that it forks | leaves a note, see `thread::vfork_notes` |
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
//! **A signal handler** may run between any two instructions, except in a call of our own, for which signals are
//! blocked. When it returns, both words are as it found them, since its hooks end before it does. So what a hook has
//! read of them before is still true afterwards. When it leaves by `longjmp`, the words stay as they were at the
//! interrupted instruction, and the next hook of the program finds out.
//!
//! **A forked child** has a copy of the block of the thread that forked, in the state that it was in. Its epoch is
//! another process', so the first hook starts over (`meet`). If the fork was called in a handler that had interrupted
//! a hook, that hook ends in the child, too: see `session::fork`. **A child of vfork** runs on the block itself.
//! Meanwhile the epoch is one that no process has, so no hook can begin.
//!
//! **What outlives a recording** in the block (calls counted for the next record, the countdown, being at rest) is
//! discarded in one place, [`ThreadLocal::meet`], when the thread first meets the next recording.

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::offset_of;
use core::sync::atomic::{Ordering, compiler_fence};

/// The countdown of a thread for which nothing was drawn: it stays negative, however much is subtracted.
pub(crate) const UNDRAWN: i64 = -(1 << 62);

/// A thread's state that must be reachable without a call: one small plain block in initial-exec thread-local
/// storage. It has no destructor, and in a new thread it is zero except for `epoch` and `countdown`.
///
/// Cells and [`fence`] are enough, since only the thread itself and its own signal handlers touch it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ThreadLocal {
    /// The process epoch that `state` belongs to; [`NO_EPOCH`] while there is none.
    epoch: Cell<u32>,
    /// Not 0 while a hook of this thread is at work, or one of the other states above.
    busy: Cell<u32>,
    /// The thread's state, valid while `epoch` is the process'.
    state: Cell<*mut c_void>,
    /// Stack pointer of the hook that is inside the next allocator, 0 outside.
    inside: Cell<usize>,
    /// The kind of the next `malloc`, set by the hooks of `operator new` before they call it.
    pub(crate) kind_hint: Cell<u8>,
    /// Not 0 in a child of `vfork`, which runs on the parent's memory: a [`Vforked`]. The shim of `vfork` sets the
    /// lowest bit, and restores the byte in the parent.
    in_vfork: Cell<u8>,
    /// What the next hook has to do beside its own work, and at its end: see [`Attention`].
    attention: Cell<u8>,
    /// Nothing is recorded, and no thread is waited for, as the thread found out when it caught up. See
    /// [`crate::process::is_at_rest`].
    at_rest: Cell<bool>,
    /// Allocations that were lost while `busy`, to be reported with the next record.
    nested_allocations: Cell<u32>,
    /// Frees, likewise.
    nested_frees: Cell<u32>,
    /// Number of the fork that the thread is calling; a child finds it in its copy.
    pub(crate) fork: Cell<u32>,
    /// Bytes until the next sample, see [`crate::thread::sampler`].
    pub(crate) countdown: Cell<i64>,
    /// The value of [`crate::process::epoch`] when the thread last found out what it means; 0 if it never did.
    epoch_met: Cell<u32>,
    /// The last block that was recorded with an announced kind, see [`hinted`].
    pub(crate) hinted_block: Cell<u32>,
    /// The size that was requested from the `operator new` that announced `kind_hint`.
    pub(crate) size_hint: Cell<usize>,
}

/// The epoch of a thread without a state; no process has it.
pub(crate) const NO_EPOCH: u32 = u32::MAX;

const _: () = assert!(size_of::<ThreadLocal>() == 64);
// `thread::memory` reads the first two as one word; the shim of `vfork` sets the first, and restores both.
const _: () = assert!(offset_of!(ThreadLocal, epoch) == 0);
const _: () = assert!(offset_of!(ThreadLocal, busy) == 4);
// As in the initial image of a new thread's block, in `arch`.
const _: () = assert!(offset_of!(ThreadLocal, countdown) == 40);

/// The byte by which the shim of `vfork` marks that its child is running.
pub(crate) const IN_VFORK: usize = offset_of!(ThreadLocal, in_vfork);

/// `busy` while a function of libc works for the agent itself.
const OWN_CALL: u32 = 2;
/// `busy` in a thread that may not even read the time.
const MUTED: u32 = 4;

/// Two stack pointers within this distance count as on the same stack.
const SAME_STACK: u32 = 8 << 20;

/// The mark of a hook at this stack pointer: its low half, made odd. So it is neither 0 nor one of the values above.
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

/// A block's address as stored in [`ThreadLocal::hinted_block`]: the part that distinguishes the blocks that one call
/// can mean.
pub(crate) fn hinted(block: usize) -> u32 {
    (block >> 3) as u32
}

/// The states that `busy` distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// No hook is at work; the next allocator may be.
    None,
    /// A hook is at work, or was left.
    Hook,
    /// The agent has called a function of libc.
    OwnCall,
    /// No hook may work.
    Muted,
}

/// What is known of a child of `vfork`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vforked {
    /// The thread is a child of `vfork`.
    pub(crate) is_it: bool,
    /// It has forbidden itself some call that the agent makes, see [`crate::record::sandbox`].
    pub(crate) is_confined: bool,
    /// It has forbidden itself, and what it executes, to begin a recording.
    pub(crate) may_not_begin: bool,
    /// It has forbidden itself to read files.
    pub(crate) may_not_read: bool,
}

/// The previous value of `inside`, to be restored.
#[must_use]
#[derive(Debug)]
pub(crate) struct Outer(usize);

/// The value of `busy` before a call of the agent's own, to be restored.
#[must_use]
#[derive(Debug)]
pub(crate) struct Interrupted(u32);

/// What the thread is doing.
impl ThreadLocal {
    /// True when a hook that is called now may begin without further checks: neither another hook nor the next
    /// allocator is at work.
    // Cost: two loads and compares. They are not one word with the epoch: a hook that begins right after the last one
    // has ended would then wait for that one's store.
    #[inline(always)]
    pub(crate) fn is_in_program(&self) -> bool {
        self.busy.get() == 0 && self.inside.get() == 0
    }

    /// What `busy` says.
    pub(crate) fn work(&self) -> Work {
        match self.busy.get() {
            0 => Work::None,
            OWN_CALL => Work::OwnCall,
            MUTED => Work::Muted,
            _ => Work::Hook,
        }
    }

    /// True unless `busy` is 0.
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

    /// The hook has ended its work.
    #[inline(always)]
    pub(crate) fn end_hook(&self) {
        debug_assert!(self.work() == Work::Hook, "no hook was at work");
        fence();
        self.busy.set(0);
    }

    /// True when the hook that `busy` marks will never end, as far as the stack tells: a handler that had interrupted
    /// it would run below it, and `sp` is the stack pointer of the code that calls a later hook. That may be on
    /// another stack.
    pub(crate) fn is_hook_left(&self, sp: usize) -> bool {
        self.work() == Work::Hook && mark(sp).wrapping_sub(self.busy.get()) < SAME_STACK
    }

    /// A hook at this stack pointer replaces one that was left, and an allocator that was left with it.
    pub(crate) fn take_over_hook(&self, sp: usize) {
        debug_assert!(self.work() == Work::Hook, "no hook was left");
        self.inside.set(0);
        self.kind_hint.set(0);
        self.busy.set(mark(sp));
        fence();
    }

    /// The agent is about to call a function of libc for itself. Signals are blocked until [`Self::end_own_call`].
    pub(crate) fn begin_own_call(&self) -> Interrupted {
        debug_assert!(self.work() != Work::OwnCall, "one mark is enough");
        let before = self.busy.replace(OWN_CALL);
        fence();
        Interrupted(before)
    }

    /// The call has returned.
    pub(crate) fn end_own_call(&self, before: Interrupted) {
        debug_assert!(self.work() == Work::OwnCall, "no call of our own was made");
        fence();
        self.busy.set(before.0);
    }

    /// The thread is about to lose the right to do anything but read and write. A hook that this interrupts ends
    /// first.
    pub(crate) fn mute(&self) {
        if self.work() == Work::Hook {
            Attention::Muted.call(self);
        } else {
            debug_assert!(self.work() != Work::OwnCall, "signals are blocked");
            Attention::Muted.dismiss(self);
            self.busy.set(MUTED);
        }
    }

    /// True for a thread that has lost that right.
    pub(crate) fn is_muted(&self) -> bool {
        self.work() == Work::Muted || Attention::Muted.is_called(self)
    }

    /// The thread has kept that right, or has it again.
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

    /// The next allocator has returned.
    #[inline(always)]
    pub(crate) fn leave_allocator(&self, before: &Outer) {
        fence();
        self.inside.set(before.0);
    }

    /// True when code at this stack pointer may have been called by the next allocator, or by a handler that has
    /// interrupted it.
    pub(crate) fn is_within_allocator(&self, sp: usize) -> bool {
        self.inside.get() != 0 && sp < self.inside.get()
    }

    /// True when the hook that has called the next allocator is gone: the caller of another hook is further up the
    /// stack.
    pub(crate) fn is_allocator_left(&self, sp: usize) -> bool {
        sp > self.inside.get()
    }

    /// Forgets the next allocator, which a handler has left by `longjmp`.
    pub(crate) fn forget_allocator(&self) {
        self.inside.set(0);
    }

    /// True in a child of `vfork`.
    pub(crate) fn is_in_vfork(&self) -> bool {
        self.in_vfork.get() != 0
    }

    /// What is known of the thread as a child of `vfork`.
    pub(crate) fn vforked(&self) -> Vforked {
        let has = |bit: u8| self.in_vfork.get() & bit != 0;
        Vforked { is_it: has(1), is_confined: has(2), may_not_begin: has(4), may_not_read: has(8) }
    }

    /// Replaces what is known.
    pub(crate) fn set_vforked(&self, child: Vforked) {
        let Vforked { is_it, is_confined, may_not_begin, may_not_read } = child;
        let bits = [(is_it, 1), (is_confined, 2), (may_not_begin, 4), (may_not_read, 8)];
        self.in_vfork.set(bits.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit));
    }
}

/// What the thread knows about the recording.
impl ThreadLocal {
    /// True when the thread has a state in the process' session, which has this epoch.
    // Cost: one load and compare.
    #[inline(always)]
    pub(crate) fn is_in_session(&self, epoch: u32) -> bool {
        self.epoch.get() == epoch
    }

    /// The thread's present or last state.
    #[inline(always)]
    pub(crate) fn state(&self) -> *mut c_void {
        self.state.get()
    }

    /// The thread has a state in the session from now on.
    pub(crate) fn join_session(&self, state: *mut c_void, epoch: u32) {
        debug_assert!(self.is_busy() && !self.is_in_vfork(), "only hooks join");
        self.state.set(state);
        self.epoch.set(epoch);
        self.meet(epoch);
    }

    /// The thread has no state any more.
    pub(crate) fn leave_session(&self) {
        self.epoch.set(NO_EPOCH);
    }

    /// True when the thread has found out what this epoch of the process means for it.
    #[inline(always)]
    pub(crate) fn has_seen(&self, epoch: u32) -> bool {
        self.epoch_met.get() == epoch
    }

    /// The thread meets a process of this epoch. What it kept of an earlier recording is discarded, and in a forked
    /// child so is what its parent will report. A thread that has met no epoch before has kept nothing, or only what
    /// is its own.
    pub(crate) fn meet(&self, epoch: u32) {
        let before = self.epoch_met.replace(epoch);
        self.at_rest.set(false);
        // The countdown was set to let calls pass, or belongs to another recording.
        self.countdown.set(UNDRAWN);
        if before != epoch && before != 0 {
            self.forget_nested();
        }
    }

    /// Nothing is recorded, and no thread is waited for if `is_settled`. Hooks look again after so many bytes.
    pub(crate) fn rest(&self, is_settled: bool, bytes: i64) {
        self.at_rest.set(is_settled);
        self.countdown.set(bytes);
    }

    /// What the thread knew when it last caught up.
    #[inline(always)]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.get()
    }

    /// Counts an allocation that could not be recorded and must be reported.
    pub(crate) fn count_allocation(&self) {
        self.nested_allocations.set(self.nested_allocations.get().wrapping_add(1));
        Attention::Nested.call(self);
    }

    /// Counts such a free.
    pub(crate) fn count_free(&self) {
        self.nested_frees.set(self.nested_frees.get().wrapping_add(1));
        Attention::Nested.call(self);
    }

    /// Takes the counts of allocations and frees, to be reported now. Signals are blocked until they are.
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

    /// The same, leaving out the request to time the next hook.
    #[inline(always)]
    pub(crate) fn needs_attention_now(&self) -> bool {
        self.attention.get() & !(Attention::Timed as u8) != 0
    }
}

/// What a thread has to do beside its hooks' own work, as bits of one byte, which hooks check at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Attention {
    /// Calls were lost while it was busy, which must be reported.
    Nested = 1,
    /// The thread's next hook must be timed.
    Timed = 2,
    /// The thread's destructor ran: further events each claim a ring of their own.
    Exiting = 4,
    /// A signal handler that had interrupted a hook has requested the recording to stop or to resume.
    Switched = 8,
    /// A child of vfork has left notes, see [`crate::thread::vfork_notes`].
    VforkNotes = 16,
    /// A signal handler that had interrupted a hook has taken from the thread the right to do more than read and
    /// write.
    Muted = 32,
}

impl Attention {
    /// Requests it.
    #[inline(always)]
    pub(crate) fn call(self, local: &ThreadLocal) {
        local.attention.set(local.attention.get() | self as u8);
    }

    /// True when it was requested.
    pub(crate) fn is_called(self, local: &ThreadLocal) -> bool {
        local.attention.get() & self as u8 != 0
    }

    /// Withdraws the request.
    pub(crate) fn dismiss(self, local: &ThreadLocal) {
        local.attention.set(local.attention.get() & !(self as u8));
    }
}

#[cfg(test)]
mod tests;
