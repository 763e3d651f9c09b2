//! One hook at a time in a thread.
//!
//! While a hook works (`busy`), another hook of the same thread can only come from a signal handler that interrupted
//! it, or from a defect of ours. Its call goes through to the next allocator unrecorded and is counted; the count
//! is told as a gap with the thread's next record.
//!
//! While the *next allocator* works (`inside`), hooks that it calls itself (its own `mmap`, glibc's `reallocarray`
//! calling `realloc`) are part of the outer call: they go through, and only `mmap` records, flagged. Those of a
//! signal handler that has interrupted it are recorded as any other: the stack tells both apart. The mark is the
//! stack pointer of the outer hook: when a handler leaves by `longjmp`, a later hook finds itself above the mark and
//! takes it for stale.

use crate::arch::{self, ThreadLocal};
use crate::process::{self, Loss};
use crate::thread::{self, ThreadState};

/// Value of `busy` while a function of libc works for the agent itself.
pub(crate) const OWN_CALL: u32 = 2;

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
    /// Neither.
    Other,
}

impl Busy {
    /// Enters a hook; `None` when nothing is to be recorded.
    // Cost: the thread's block, the process page, the recording flag: four loads and compares.
    #[inline(always)]
    pub(crate) fn enter(call: Call) -> Option<Busy> {
        let local = arch::thread_local();
        if local.epoch.get() != process::epoch() {
            return enter_slowly(local, call);
        }
        if local.busy.get() != 0 || local.inside.get() != 0 {
            return enter_nested(local, call);
        }
        if !process::is_recording() {
            return None;
        }
        Some(Self::begin(local))
    }

    #[inline(always)]
    fn begin(local: &'static ThreadLocal) -> Busy {
        local.busy.set(1);
        arch::fence();
        Busy { local }
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
        if self.local.exiting.get() != 0 {
            thread::leave_for_good(self);
        }
        self.local.busy.set(0);
    }
}

/// Another hook of this thread is at work.
#[cold]
#[inline(never)]
fn enter_nested(local: &'static ThreadLocal, call: Call) -> Option<Busy> {
    if local.busy.get() == 0 {
        if !process::is_recording() {
            return None;
        }
        if arch::stack_pointer() >= local.inside.get() {
            // The outer hook is gone: a handler left it by longjmp.
            local.inside.set(0);
            return Some(Busy::begin(local));
        }
        let mut busy = Busy::begin(local);
        // The allocator's own pages are recorded, flagged; its own calls for blocks are part of the outer one.
        return (call == Call::Other || busy.state().is_in_handler()).then_some(busy);
    }
    if local.busy.get() == OWN_CALL {
        if call == Call::Allocation {
            process::count_own_allocation();
        }
        return None;
    }
    match call {
        Call::Allocation => local.nested_allocations.set(local.nested_allocations.get().wrapping_add(1)),
        Call::Free => local.nested_frees.set(local.nested_frees.get().wrapping_add(1)),
        Call::Other => return None,
    }
    process::lose(Loss::Nested, 1);
    None
}

/// The thread has no state, or one of another process or recording.
#[cold]
#[inline(never)]
fn enter_slowly(local: &'static ThreadLocal, call: Call) -> Option<Busy> {
    if local.in_vfork.get() != 0 || local.busy.get() != 0 || !process::is_wanted() {
        return None;
    }
    let inside = local.inside.get();
    if inside != 0 && arch::stack_pointer() < inside {
        return None;
    }
    let busy = Busy::begin(local);
    if process::join() && thread::adopt(local) {
        return Some(busy);
    }
    if call != Call::Other && process::is_recording() {
        process::lose(Loss::NoRing, 1);
    }
    // Without a state there is no ring to give back.
    core::mem::forget(busy);
    arch::fence();
    local.busy.set(0);
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
