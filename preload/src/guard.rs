//! One hook at a time in a thread.
//!
//! While a hook works (`busy`), another hook of the same thread can only come from a signal handler that interrupted
//! it, or from a defect of ours. Its call goes through to the next allocator unrecorded and is counted; the count
//! is told as a gap with the thread's next record. The mark is the hook's stack pointer: when a handler leaves by
//! `longjmp`, the hook is never finished, and a later one finds itself where the interrupted one was, or above it. Then
//! the thread begins anew, with another ring, since nobody knows what its state was in the middle of.
//!
//! While a *next allocator* works that may call hooks (`inside`), those that it calls itself (its own `mmap`, glibc's
//! `reallocarray` calling `realloc`) are part of the outer call: they go through, and only `mmap` records, flagged. Those of a
//! signal handler that has interrupted it are recorded as any other: the stack tells both apart. It also tells when a
//! handler has left the allocator by `longjmp`: then there is no outer hook on it, or the caller is above the mark. Most functions
//! of libc's call none, so hooks that come meanwhile are a handler's, and nothing need be marked.

use crate::arch::{self, ThreadLocal};
use crate::process::{self, Loss};
use crate::sandbox::{self, Need};
use crate::signal_stacks;
use crate::stack::{Beyond, Caller};
use crate::sys;
use crate::thread::{self, ThreadState};

/// Value of `busy` while a function of libc works for the agent itself. Hooks have odd ones.
pub(crate) const OWN_CALL: u32 = 2;
/// Value of `busy` in a thread that may not even read the time.
const MUTED: u32 = 4;

/// The mark of a hook at this stack pointer: the low half of it, made odd. So it is neither 0 nor one of those above.
#[inline(always)]
fn mark(sp: usize) -> u32 {
    sp as u32 | 1
}

/// True in a signal handler that has interrupted a hook of this thread's, or seems to have.
pub(crate) fn is_in_hook(local: &ThreadLocal) -> bool {
    local.busy.get() & 1 != 0
}

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
    /// It tells of a block in a pool of the program's own.
    Report,
    /// None of these.
    Other,
}

impl Busy {
    /// Enters a hook; `None` when nothing is to be recorded.
    // Cost: the thread's block, the process page, the recording flag: four loads and compares.
    #[inline(always)]
    pub(crate) fn enter(call: Call, caller: Caller) -> Option<Busy> {
        let local = arch::thread_local();
        // Not as one word with the epoch: a hook that begins just when the last one has ended would wait for its store.
        if local.busy.get() != 0 || local.inside.get() != 0 {
            let [ip, sp, bp] = caller.into_words();
            return enter_otherwise(local, call, ip, sp, bp);
        }
        // First busy, then the look: so whoever leaves the session sees that we are in it, or we that it has left.
        let mut busy = Self::begin(local);
        if local.epoch.get() != process::epoch() {
            busy.give_up();
            return enter_slowly(local, call);
        }
        if !process::is_recording() {
            busy.give_up();
            return enter_no_more(local);
        }
        if local.attention.get() != 0 {
            busy = busy.attend();
        }
        Some(busy)
    }

    /// Enters a hook in which nothing is to be done beside its own work; `None` otherwise, or when nothing is to be recorded.
    // Cost: as `enter`; no other function is called, so whoever calls none either has no registers to save.
    #[inline(always)]
    pub(crate) fn enter_as_usual() -> Option<Busy> {
        let local = arch::thread_local();
        if local.busy.get() != 0 || local.inside.get() != 0 {
            return None;
        }
        // As in `enter`.
        let busy = Self::begin(local);
        if local.epoch.get() != process::epoch() || !process::is_recording() || local.attention.get() != 0 {
            busy.give_up();
            return None;
        }
        Some(busy)
    }

    /// Ends such a hook. It is given back if something has come up that is to be done at its end.
    #[inline(always)]
    pub(crate) fn leave_as_usual(self) -> Option<Busy> {
        arch::fence();
        // What is to be timed is the next one.
        if self.local.attention.get() & !(Attention::Timed as u8) != 0 {
            return Some(self);
        }
        self.give_up();
        None
    }

    /// Enters to tell something that is told even while the program wants nothing recorded; `None` when it cannot be.
    #[cold]
    pub(crate) fn enter_to_tell() -> Option<Busy> {
        let local = arch::thread_local();
        if local.in_vfork.get() != 0 || local.busy.get() != 0 || !process::may_tell() {
            return None;
        }
        // As in `enter`.
        let mut busy = Self::begin(local);
        if local.epoch.get() != process::epoch() {
            busy.give_up();
            return adopt(local, Call::Other);
        }
        if local.attention.get() != 0 {
            busy = busy.attend();
        }
        Some(busy)
    }

    #[inline(always)]
    fn begin(local: &'static ThreadLocal) -> Busy {
        local.busy.set(mark(arch::stack_pointer()));
        arch::fence();
        Busy { local }
    }

    /// Ends a hook without a look at what else there is to do, as before anything was done in it.
    #[inline(always)]
    pub(crate) fn give_up(self) {
        let local = self.local;
        core::mem::forget(self);
        arch::fence();
        local.busy.set(0);
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

    /// Does what a signal handler could not do that wanted the recording to stop or to go on.
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
        self.switch();
        if Attention::Timed.is_called(self.local) && self.state().stop_watch() {
            Attention::Timed.dismiss(self.local);
        }
        if Attention::Exiting.is_called(self.local) {
            thread::leave_for_good(self);
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
        thread::state(self)
    }
}

impl Drop for Busy {
    #[inline(always)]
    fn drop(&mut self) {
        arch::fence();
        if self.local.attention.get() != 0 {
            self.attend_at_end();
        }
        self.local.busy.set(0);
    }
}

/// What a thread has to do beside its hooks' own work: bits of [`ThreadLocal::attention`], which costs hooks one look.
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

/// Something is not as usual. Of the caller it takes the words.
#[cold]
#[inline(never)]
fn enter_otherwise(local: &'static ThreadLocal, call: Call, ip: u64, sp: u64, bp: u64) -> Option<Busy> {
    let caller = Caller::from_words([ip, sp, bp]);
    if was_left(local.busy.get(), caller.sp()) {
        abandon(local);
    }
    if local.epoch.get() != process::epoch() {
        enter_slowly(local, call)
    } else {
        enter_nested(local, call, caller)
    }
}

/// Stacks are taken to be the same within this distance.
const SAME_STACK: u32 = 8 << 20;

/// True when the hook of this mark will never end: a handler has left it by `longjmp`. A handler that has interrupted it
/// runs below it, or on a stack of its own; `sp` is the stack pointer of the code that calls the later hook.
fn was_left(busy: u32, sp: usize) -> bool {
    busy & 1 != 0
        && mark(sp).wrapping_sub(busy) < SAME_STACK
        && sandbox::allows(Need::SignalStack)
        // What cannot be told is taken for the case in which nothing is done.
        && arch::signal_stack().is_some_and(|flags| {
            flags & libc::SS_ONSTACK == 0 && (flags & libc::SS_DISABLE == 0 || !signal_stacks::are_disarmed())
        })
}

/// Begins anew in a thread whose last hook was left in the middle of its work.
#[cold]
fn abandon(local: &'static ThreadLocal) {
    local.inside.set(0);
    local.kind_hint.set(0);
    if local.epoch.get() == process::epoch() {
        // Whoever interrupts this finds the mark of a hook.
        let mut busy = Busy::begin(local);
        thread::abandon(&mut busy);
        busy.give_up();
    }
    local.busy.set(0);
}

/// The calling thread is about to lose the right to do anything but read and write.
#[cold]
pub(crate) fn mute(local: &ThreadLocal) {
    local.busy.set(MUTED);
}

/// True of a thread that has lost it.
pub(crate) fn is_muted(local: &ThreadLocal) -> bool {
    local.busy.get() == MUTED
}

/// It has kept it, or has it again.
#[cold]
pub(crate) fn unmute(local: &ThreadLocal) {
    if local.busy.get() == MUTED {
        local.busy.set(0);
    }
}

/// Another hook of this thread is at work.
fn enter_nested(local: &'static ThreadLocal, call: Call, caller: Caller) -> Option<Busy> {
    if local.busy.get() == 0 {
        if !process::is_recording() {
            return None;
        }
        let mut busy = Busy::begin(local);
        if local.epoch.get() != process::epoch() {
            busy.give_up();
            return None;
        }
        if caller.sp() > local.inside.get() {
            local.inside.set(0);
            return Some(busy);
        }
        // The allocator's own pages are recorded, flagged, and so are blocks of its pools; its own calls for blocks are part
        // of the outer one.
        let is_wanted = matches!(call, Call::Other | Call::Report)
            || match busy.state().beyond(caller) {
                Beyond::Handler => true,
                Beyond::Allocator => false,
                Beyond::Nobody => {
                    local.inside.set(0);
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
    if local.busy.get() == MUTED {
        if call != Call::Other {
            process::lose(Loss::Sandbox, 1);
        }
        return;
    }
    if local.busy.get() == OWN_CALL {
        if call == Call::Allocation {
            process::count_own_allocation();
        }
        return;
    }
    if call != Call::Other {
        count_untold(local, call);
        process::lose(Loss::Nested, 1);
    }
}

/// Forgets calls that were counted and are not told yet.
#[cold]
pub(crate) fn forget_nested(local: &ThreadLocal) {
    Attention::Nested.dismiss(local);
    local.nested_allocations.set(0);
    local.nested_frees.set(0);
}

/// Counts a call for the gap that is told with the thread's next record.
fn count_untold(local: &ThreadLocal, call: Call) {
    let untold = match call {
        Call::Allocation | Call::Report => &local.nested_allocations,
        Call::Free => &local.nested_frees,
        Call::Other => return,
    };
    untold.set(untold.get().wrapping_add(1));
    Attention::Nested.call(local);
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
    if local.in_vfork.get() != 0 {
        return None;
    }
    if local.busy.get() != 0 {
        // A handler has interrupted the agent while it gave the thread a state, or took one back that it had left.
        if process::is_recording() {
            count_nested(local, call);
        }
        return None;
    }
    if !process::is_wanted() && !process::hear(local) {
        return None;
    }
    let inside = local.inside.get();
    if inside != 0 && arch::stack_pointer() < inside {
        return None;
    }
    adopt(local, call)
}

/// Gives the thread a state, and its process a slot if need be.
fn adopt(local: &'static ThreadLocal, call: Call) -> Option<Busy> {
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
    before: usize,
}

impl Inside {
    /// Sets the mark of the calling thread.
    #[inline(always)]
    pub(crate) fn of(local: &'static ThreadLocal) -> Inside {
        let before = local.inside.get();
        if before == 0 {
            local.inside.set(arch::stack_pointer());
        }
        arch::fence();
        Inside { local, before }
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        arch::fence();
        self.local.inside.set(self.before);
    }
}

/// True while the calling thread is inside the next allocator, or in the agent itself.
pub(crate) fn is_inside() -> bool {
    let local = arch::thread_local();
    local.busy.get() != 0 || (local.inside.get() != 0 && arch::stack_pointer() < local.inside.get())
}
