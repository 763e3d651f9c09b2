//! One hook at a time in a thread.
//!
//! The states of a thread, and what a signal handler finds in each, are said in [`crate::thread_local`]. Here is what follows from them:
//!
//! - While a hook works, another hook of its thread can only come from a signal handler that has interrupted it, or from a defect of
//!   ours. Its call goes on to the next allocator unrecorded, is counted, and told as a gap before the thread's next record.
//! - When a handler has left a hook by `longjmp`, the next hook stands where that one did, or above it. The thread begins anew with
//!   another ring, since its state may be half changed.
//! - While a *next allocator* works that may call hooks, those that it calls itself (its own `mmap`, glibc's `reallocarray` calling
//!   `realloc`) are part of the outer call: they go on, and only `mmap` records, flagged. Those of a handler that has interrupted it are
//!   recorded as any other. The stack tells which it is, and whether a handler has left the allocator by `longjmp`. Most functions of
//!   libc's call no hooks, so nothing is marked for them.

use crate::arch;
use crate::process::{self, Loss};
use crate::sandbox::{self, Need};
use crate::signal_stacks;
use crate::stack::{Beyond, Caller};
use crate::sys;
use crate::thread::{self, ThreadState};
use crate::thread_local::{Attention, Outer, ThreadLocal, Work, fence};

/// Proof that this thread is in a hook and may record.
#[derive(Debug)]
pub(crate) struct Busy {
    local: &'static ThreadLocal,
}

/// What a call is that could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It returned a block.
    Allocation,
    /// It gives one back.
    Free,
    /// It was to return memory, and returned none.
    Failure,
    /// It tells of a block in a pool of the program's own.
    Report,
    /// None of these.
    Other,
}

/// The address of the block that a call has returned, 0 for none. Looked at only where the call cannot be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returned(pub(crate) usize);

impl From<Returned> for Call {
    fn from(Returned(address): Returned) -> Self {
        if address == 0 { Call::Failure } else { Call::Allocation }
    }
}

impl Busy {
    /// Enters a hook; `None` when nothing is to be recorded.
    // Cost: the thread's block, the process page, the recording flag: four loads and compares.
    #[inline(always)]
    pub(crate) fn enter(call: impl Into<Call>, caller: Caller) -> Option<Busy> {
        let local = arch::thread_local();
        if !local.is_in_program() {
            let [ip, sp, bp] = caller.into_words();
            return enter_otherwise(local, call.into(), ip, sp, bp);
        }
        // First busy, then the look: so whoever leaves the session sees that we are in it, or we that it has left.
        let mut busy = Self::begin(local);
        if !local.is_in_session(process::epoch()) {
            busy.give_up();
            return enter_slowly(local, call.into());
        }
        if !process::is_recording() {
            busy.give_up();
            return enter_no_more(local);
        }
        if local.needs_attention() {
            busy = busy.attend();
        }
        Some(busy)
    }

    /// Enters a hook in which nothing is to be done beside its own work; `None` otherwise, or when nothing is to be recorded.
    // Cost: as `enter`; no other function is called, so whoever calls none either has no registers to save.
    #[inline(always)]
    pub(crate) fn enter_as_usual() -> Option<Busy> {
        let local = arch::thread_local();
        if !local.is_in_program() {
            return None;
        }
        // As in `enter`.
        let busy = Self::begin(local);
        if !local.is_in_session(process::epoch()) || !process::is_recording() || local.needs_attention() {
            busy.give_up();
            return None;
        }
        Some(busy)
    }

    /// Ends such a hook, or gives it back if something has come up that is to be done at its end.
    #[inline(always)]
    pub(crate) fn leave_as_usual(self) -> Option<Busy> {
        fence();
        // What is to be timed is the next one.
        if self.local.needs_attention_now() {
            return Some(self);
        }
        self.give_up();
        None
    }

    /// Enters to tell something that is told even while the program wants nothing recorded; `None` when it cannot be.
    #[cold]
    pub(crate) fn enter_to_tell() -> Option<Busy> {
        let local = arch::thread_local();
        if local.is_in_vfork() || local.is_busy() || !process::may_tell() {
            return None;
        }
        // As in `enter`.
        let mut busy = Self::begin(local);
        if !local.is_in_session(process::epoch()) {
            busy.give_up();
            return adopt(local, Call::Other);
        }
        if local.needs_attention() {
            busy = busy.attend();
        }
        Some(busy)
    }

    #[inline(always)]
    fn begin(local: &'static ThreadLocal) -> Busy {
        local.begin_hook(arch::stack_pointer());
        Busy { local }
    }

    /// Ends a hook without a look at what else there is to do, as before anything was done in it.
    #[inline(always)]
    pub(crate) fn give_up(self) {
        let local = self.local;
        core::mem::forget(self);
        local.end_hook();
    }

    /// Does what the thread could not do before.
    #[cold]
    #[inline(never)]
    // By value: a guard whose address is known lies on the stack, in all hooks.
    fn attend(mut self) -> Self {
        if Attention::Missed.is_called(self.local) {
            Attention::Missed.dismiss(self.local);
            thread::missed::tell(&mut self);
        }
        if Attention::Nested.is_called(self.local) {
            Attention::Nested.dismiss(self.local);
            let local = self.local;
            self.state().tell_nested(local);
        }
        self.switch();
        if Attention::Timed.is_called(self.local) {
            self.state().start_watch();
        }
        self
    }

    /// Stops the recording or lets it go on, as a signal handler wanted that had interrupted a hook.
    fn switch(&mut self) {
        if Attention::Switched.is_called(self.local) {
            Attention::Switched.dismiss(self.local);
            crate::pause::apply(self);
        }
    }

    /// The same at the end of a hook.
    #[cold]
    #[inline(never)]
    fn attend_at_end(&mut self) {
        if Attention::Muted.is_called(self.local) {
            self.local.end_hook();
            return self.local.mute();
        }
        self.switch();
        if Attention::Timed.is_called(self.local) && self.state().stop_watch() {
            Attention::Timed.dismiss(self.local);
        }
        if Attention::Exiting.is_called(self.local) {
            thread::leave_for_good(self);
        }
        self.local.end_hook();
    }

    /// The thread's block.
    #[inline(always)]
    pub(crate) fn local(&self) -> &'static ThreadLocal {
        self.local
    }

    /// The thread's state.
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut ThreadState {
        thread::state(self)
    }
}

impl Drop for Busy {
    #[inline(always)]
    fn drop(&mut self) {
        fence();
        if self.local.needs_attention() {
            self.attend_at_end();
        } else {
            self.local.end_hook();
        }
    }
}

/// Something is unusual. Takes the caller's words, since it is seldom called.
#[cold]
#[inline(never)]
fn enter_otherwise(local: &'static ThreadLocal, call: Call, ip: u64, sp: u64, bp: u64) -> Option<Busy> {
    let caller = Caller::from_words([ip, sp, bp]);
    if was_left(local, caller.sp()) {
        abandon(local);
    }
    if local.is_in_session(process::epoch()) {
        enter_nested(local, call, caller)
    } else {
        enter_slowly(local, call)
    }
}

/// True when the hook that is at work will never end: a handler has left it by `longjmp`. A handler that has interrupted it
/// runs below it, or on a stack of its own; `sp` is the stack pointer of the code that calls the later hook.
fn was_left(local: &ThreadLocal, sp: usize) -> bool {
    local.is_hook_left(sp)
        && sandbox::allows(Need::SignalStack)
        // Where that cannot be told the hook counts as still at work.
        && arch::signal_stack().is_some_and(|flags| {
            flags & libc::SS_ONSTACK == 0 && (flags & libc::SS_DISABLE == 0 || !signal_stacks::are_disarmed())
        })
}

/// Begins anew in a thread whose last hook was left in the middle of its work.
#[cold]
fn abandon(local: &'static ThreadLocal) {
    // Whoever interrupts this finds the mark of a hook.
    local.take_over_hook(arch::stack_pointer());
    let mut busy = Busy { local };
    if local.is_in_session(process::epoch()) {
        thread::abandon(&mut busy);
    }
    busy.give_up();
}

/// Another hook of this thread is at work.
fn enter_nested(local: &'static ThreadLocal, call: Call, caller: Caller) -> Option<Busy> {
    if !local.is_busy() {
        if !process::is_recording() {
            return None;
        }
        let mut busy = Busy::begin(local);
        if !local.is_in_session(process::epoch()) {
            busy.give_up();
            return None;
        }
        if local.is_allocator_left(caller.sp()) {
            local.forget_allocator();
            return Some(busy);
        }
        // The allocator's own pages are recorded, flagged, and so are blocks of its pools; its own calls for blocks are part
        // of the outer one.
        let is_wanted = matches!(call, Call::Other | Call::Report)
            || match busy.state().beyond(caller) {
                Beyond::Handler => true,
                Beyond::Allocator => false,
                Beyond::Nobody => {
                    local.forget_allocator();
                    true
                }
            };
        return is_wanted.then_some(busy);
    }
    count_nested(local, call);
    None
}

/// Counts a call that cannot be recorded, since the agent is at work in this thread: a handler has interrupted it, or it calls
/// itself.
fn count_nested(local: &ThreadLocal, call: Call) {
    match (local.work(), call) {
        (Work::OwnCall, Call::Allocation) => process::count_own_allocation(),
        (Work::OwnCall, _) | (_, Call::Other) => {}
        (Work::Muted, _) => process::lose(Loss::Sandbox, 1),
        (Work::Hook | Work::None, _) => {
            count_untold(local, call);
            process::lose(Loss::Nested, 1);
        }
    }
}

/// Counts a call for the gap that is told with the thread's next record.
fn count_untold(local: &ThreadLocal, call: Call) {
    match call {
        Call::Allocation | Call::Report => local.count_allocation(),
        Call::Free => local.count_free(),
        Call::Failure | Call::Other => {}
    }
}

/// The recording is over, or the program wants nothing recorded now.
#[cold]
#[inline(never)]
fn enter_no_more(local: &'static ThreadLocal) -> Option<Busy> {
    if !process::is_recorded() {
        process::leave();
        process::hear(local);
    }
    None
}

/// The thread has no state, or one of another process or recording.
#[cold]
#[inline(never)]
fn enter_slowly(local: &'static ThreadLocal, call: Call) -> Option<Busy> {
    if local.is_in_vfork() {
        return None;
    }
    if local.is_busy() {
        // A handler has interrupted the agent while it gave the thread a state, or took one back that it had left.
        if process::is_recording() {
            count_nested(local, call);
        }
        return None;
    }
    if !process::is_wanted() && !process::hear(local) {
        return None;
    }
    if local.is_within_allocator(arch::stack_pointer()) {
        return None;
    }
    adopt(local, call)
}

/// Gives the thread a state, and its process a slot if need be.
fn adopt(local: &'static ThreadLocal, call: Call) -> Option<Busy> {
    if process::has_news(local) {
        local.hear(process::epoch());
    }
    let busy = Busy::begin(local);
    process::arrive();
    let may_begin = sandbox::allows(Need::Map) && sandbox::allows(Need::Counter);
    // A process in which it may not still has a slot to count what it loses. A handler's calls in the middle of this could not
    // be recorded, and the conversation would be broken off by it.
    let adopted = sys::without_signals(|| {
        let may_join = may_begin || sandbox::allows(Need::ProcessId);
        if !may_join || !process::join() || !may_begin {
            return Err(if may_begin { Loss::NoRing } else { Loss::Sandbox });
        }
        thread::adopt(local)
    });
    let is_in = adopted.is_ok();
    if let Err(loss) = adopted
        && call != Call::Other
        && process::is_recording()
    {
        count_untold(local, call);
        process::lose(loss, 1);
    }
    process::arrived();
    if is_in {
        return Some(busy);
    }
    // Without a state there is no ring to give back.
    busy.give_up();
    None
}

/// Marks that the next allocator is at work, until it is dropped.
#[derive(Debug)]
pub(crate) struct Inside {
    local: &'static ThreadLocal,
    before: Outer,
}

impl Inside {
    /// Sets the mark of the calling thread.
    #[inline(always)]
    pub(crate) fn of(local: &'static ThreadLocal) -> Inside {
        Inside { local, before: local.enter_allocator(arch::stack_pointer()) }
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.local.leave_allocator(&self.before);
    }
}

/// True while the calling thread is inside the next allocator, or in the agent itself.
pub(crate) fn is_inside() -> bool {
    let local = arch::thread_local();
    local.is_busy() || local.is_within_allocator(arch::stack_pointer())
}
