//! The guard: one hook at a time in each thread.
//!
//! The states of a thread, and what a signal handler finds in each, are described in [`crate::platform::thread_local`]. They
//! have these consequences:
//!
//! - While a hook works, another hook of its thread can only come from a signal handler that has interrupted it, or
//!   from a defect of ours. Such a call goes on to the next allocator unrecorded, is counted, and is reported as a
//!   gap before the thread's next record.
//! - When a handler has left a hook by `longjmp`, the next hook runs at the same place of the stack, or above it. The
//!   thread then starts over with another ring, since its state may be half changed.
//! - While a *next allocator* that may call hooks is at work, the hooks that it calls itself (its own `mmap`, glibc's
//!   `reallocarray` calling `realloc`) are part of the outer call: they pass through unrecorded, except `mmap`, which
//!   is recorded with a flag. Hooks of a handler that has interrupted the allocator are recorded as usual. The stack
//!   tells the two apart, and also whether a handler has left the allocator by `longjmp`. Most of libc's functions
//!   call no hooks, so no mark is set for them.

pub(crate) mod pause;

use crate::platform::allowed_calls::{self, Need};
use crate::platform::thread_local::{Attention, Outer, ThreadLocal, Work, fence};
use crate::platform::{arch, signal_stacks, sys};
use crate::process::{self, Loss};
use crate::session::{answer, arrivals, join};
use crate::thread::stack::{Caller, NestedCaller};
use crate::thread::{self, ThreadState};

/// Proof that this thread is in a hook and may record.
#[derive(Debug)]
pub(crate) struct HookGuard {
    local: &'static ThreadLocal,
}

/// What kind of call could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It returned a block.
    Allocation,
    /// It frees one.
    Free,
    /// It should have returned memory, but returned none.
    Failure,
    /// It reports a block in a pool of the program's own.
    Report,
    /// None of these.
    Other,
}

/// The address of the block that a call has returned, 0 for none. Looked at only if the call cannot be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returned(pub(crate) usize);

impl From<Returned> for Call {
    fn from(Returned(address): Returned) -> Self {
        if address == 0 { Call::Failure } else { Call::Allocation }
    }
}

impl HookGuard {
    /// Enters a hook; `None` when nothing must be recorded.
    // Cost: five loads and compares: the thread's busy, inside, epoch (with the process') and attention, and whether
    // events are wanted.
    #[inline(always)]
    pub(crate) fn enter(call: impl Into<Call>, caller: Caller) -> Option<HookGuard> {
        let local = arch::thread_local();
        if !local.is_in_program() {
            let [ip, sp, bp] = caller.into_words();
            return enter_otherwise(local, call.into(), ip, sp, bp);
        }
        // First busy, then the look: so either a thread that leaves the session sees that we are in it, or we see
        // that it has left.
        let mut hook = Self::begin(local);
        if !local.is_in_session(process::epoch()) {
            hook.give_up();
            return enter_slowly(local, call.into());
        }
        if !process::is_recording() {
            hook.give_up();
            return enter_no_more(local);
        }
        if local.needs_attention() {
            hook = hook.attend();
        }
        Some(hook)
    }

    /// Enters a hook that has nothing to do beside its own work; `None` otherwise, or when nothing is to be recorded.
    // Cost: as `enter`. It calls no other function, so a caller that calls none either has no registers to save.
    #[inline(always)]
    pub(crate) fn enter_fast() -> Option<HookGuard> {
        let local = arch::thread_local();
        if !local.is_in_program() {
            return None;
        }
        // As in `enter`.
        let hook = Self::begin(local);
        if !local.is_in_session(process::epoch()) || !process::is_recording() || local.needs_attention() {
            hook.give_up();
            return None;
        }
        Some(hook)
    }

    /// Ends such a hook, or returns the guard if something has come up that must be done at the hook's end.
    #[inline(always)]
    pub(crate) fn leave_fast(self) -> Option<HookGuard> {
        fence();
        // A request to time a hook is meant for the next one.
        if self.local.needs_attention_now() {
            return Some(self);
        }
        self.give_up();
        None
    }

    /// Enters to report something that is reported even while the program wants nothing recorded; `None` when that is
    /// impossible.
    #[cold]
    pub(crate) fn enter_to_tell() -> Option<HookGuard> {
        let local = arch::thread_local();
        if local.is_in_vfork() || local.is_busy() || !process::may_tell() {
            return None;
        }
        // As in `enter`.
        let mut hook = Self::begin(local);
        if !local.is_in_session(process::epoch()) {
            hook.give_up();
            return adopt(local, Call::Other);
        }
        if local.needs_attention() {
            hook = hook.attend();
        }
        Some(hook)
    }

    #[inline(always)]
    fn begin(local: &'static ThreadLocal) -> HookGuard {
        local.begin_hook(arch::stack_pointer());
        HookGuard { local }
    }

    /// Ends a hook in which nothing was done yet, without looking for other work.
    #[inline(always)]
    pub(crate) fn give_up(self) {
        let local = self.local;
        core::mem::forget(self);
        local.end_hook();
    }

    /// Does what the thread could not do before.
    #[cold]
    #[inline(never)]
    // By value: a guard whose address is taken lies on the stack, in all hooks.
    fn attend(mut self) -> Self {
        if Attention::VforkNotes.is_called(self.local) {
            Attention::VforkNotes.dismiss(self.local);
            let local = self.local;
            thread::vfork_notes::tell(self.state(), local);
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

    /// Stops or resumes the recording, as requested by a signal handler that had interrupted a hook.
    fn switch(&mut self) {
        if Attention::Switched.is_called(self.local) {
            Attention::Switched.dismiss(self.local);
            pause::apply(self);
        }
    }

    /// Does what is left to do at the end of a hook.
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
            self.leave_for_good();
        }
        self.local.end_hook();
    }

    /// Gives the thread's ring back, if it has one of this session.
    fn leave_for_good(&mut self) {
        let local = self.local;
        if local.is_in_session(process::epoch()) {
            thread::leave_for_good(self.state(), local);
        }
    }

    /// The thread's block.
    #[inline(always)]
    pub(crate) fn local(&self) -> &'static ThreadLocal {
        self.local
    }

    /// The thread's state.
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut ThreadState {
        // SAFETY: a guard exists only after `thread::adopt` has set the pointer, the claim of the ring makes the state
        // this thread's alone, and the guard is borrowed for as long as the reference is used.
        unsafe { &mut *self.local.state().cast() }
    }
}

impl Drop for HookGuard {
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

/// Something is unusual. Takes the caller's words by value, since it is rarely called.
#[cold]
#[inline(never)]
fn enter_otherwise(local: &'static ThreadLocal, call: Call, ip: u64, sp: u64, bp: u64) -> Option<HookGuard> {
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

/// True when the hook that is marked as at work will never end, because a handler has left it by `longjmp`. A handler
/// that has interrupted it would run below it, or on a stack of its own; `sp` is the stack pointer of the code that
/// calls the later hook.
fn was_left(local: &ThreadLocal, sp: usize) -> bool {
    local.is_hook_left(sp)
        && allowed_calls::allows(Need::SignalStack)
        // If this cannot be determined, the hook counts as still at work.
        && arch::signal_stack().is_some_and(|flags| {
            flags & libc::SS_ONSTACK == 0 && (flags & libc::SS_DISABLE == 0 || !signal_stacks::are_disarmed())
        })
}

/// Starts over in a thread whose last hook was left in the middle of its work.
#[cold]
fn abandon(local: &'static ThreadLocal) {
    // A handler that interrupts this must find a hook's mark.
    local.take_over_hook(arch::stack_pointer());
    let mut hook = HookGuard { local };
    if local.is_in_session(process::epoch()) {
        thread::abandon(hook.state(), local);
    }
    hook.give_up();
}

/// Another hook of this thread is at work, or the next allocator.
fn enter_nested(local: &'static ThreadLocal, call: Call, caller: Caller) -> Option<HookGuard> {
    if !local.is_busy() {
        if !process::is_recording() {
            return None;
        }
        let mut hook = HookGuard::begin(local);
        if !local.is_in_session(process::epoch()) {
            hook.give_up();
            return None;
        }
        if local.is_allocator_left(caller.sp()) {
            local.forget_allocator();
            return Some(hook);
        }
        // The allocator's own pages are recorded with a flag, and so are blocks of its pools; its own calls for
        // blocks are part of the outer one.
        let is_wanted = matches!(call, Call::Other | Call::Report)
            || match hook.state().beyond(caller) {
                NestedCaller::Handler => true,
                NestedCaller::Allocator => false,
                NestedCaller::Nobody => {
                    local.forget_allocator();
                    true
                }
            };
        return is_wanted.then_some(hook);
    }
    count_nested(local, call);
    None
}

/// Counts a call that cannot be recorded because the agent is at work in this thread: a handler has interrupted the
/// agent, or the agent calls itself.
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

/// Counts a call for the gap that is reported before the thread's next record.
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
fn enter_no_more(local: &'static ThreadLocal) -> Option<HookGuard> {
    if !process::is_recorded() {
        process::leave();
        catch_up(local);
    }
    None
}

/// The thread has no state, or its state belongs to another process or recording.
#[cold]
#[inline(never)]
fn enter_slowly(local: &'static ThreadLocal, call: Call) -> Option<HookGuard> {
    if local.is_in_vfork() {
        return None;
    }
    if local.is_busy() {
        // A handler has interrupted the agent while it set up the thread's state, or took an abandoned one back.
        if process::is_recording() {
            count_nested(local, call);
        }
        return None;
    }
    if !process::is_wanted() && !catch_up(local) {
        return None;
    }
    if local.is_within_allocator(arch::stack_pointer()) {
        return None;
    }
    let hook = adopt(local, call)?;
    if !process::is_recording() {
        // The process has just joined a recording that begins paused.
        hook.give_up();
        return None;
    }
    Some(hook)
}

/// Sets up the thread's state, and claims a slot for its process if need be.
fn adopt(local: &'static ThreadLocal, call: Call) -> Option<HookGuard> {
    if process::has_news(local) {
        local.meet(process::epoch());
    }
    let hook = HookGuard::begin(local);
    arrivals::arrive();
    let may_begin = allowed_calls::allows(Need::Map) && allowed_calls::allows(Need::Counter);
    // A process that may not begin threads' states still has a slot, to count what it loses. Signals are blocked
    // because a handler's calls in the middle of this could not be recorded, and would break off the exchange with
    // the collector.
    let adopted = sys::without_signals(|| {
        let may_join = may_begin || allowed_calls::allows(Need::ProcessId);
        if !may_join || !join::join() || !may_begin {
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
    arrivals::arrived();
    if is_in {
        return Some(hook);
    }
    // Without a state there is no ring to give back.
    hook.give_up();
    None
}

/// Marks that the next allocator is at work, until dropped.
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

/// Finds out for a thread, which is in no hook of a session, what has changed since it last did. True when its calls
/// are to be recorded from now on.
pub(crate) fn catch_up(local: &ThreadLocal) -> bool {
    answer::catch_up(local, pause::tell)
}

/// The thread's destructors have run: its ring is given back now.
#[cold]
pub(crate) fn finish() {
    // When this guard is dropped.
    let local = arch::thread_local();
    if local.is_in_session(process::epoch()) {
        drop(HookGuard::enter_to_tell());
    }
    thread::disown(local);
}
