//! What hooks record, and in which order.
//!
//! | call | before the next allocator | after it |
//! |---|---|---|
//! | `malloc` and its kin | | stack, time, record |
//! | `free` | time, record, published | |
//! | `realloc` | begin: the old block ends | end: the new block, or that it failed |
//! | any that returns no memory | | stack, time, record: what was asked for |
//!
//! So for any address, the record of a block's end is always published before another thread can get that address
//! again.

use crate::platform::thread_local::Attention;
use crate::platform::{arch, invalidations};
use crate::process::{self, Loss, clock, filter, wrappers};
use crate::record::guard::{Call, HookGuard, Returned};
use crate::record::pools;
use crate::thread::sampler::{self, Candidate};
use crate::thread::stack::Caller;
use crate::thread::vfork_notes::{self, FAILED, FREED, Note};
use crate::thread::{self, ThreadState};
use core::ffi::c_int;
use shared_ring::record::Record;
use shared_ring::record::name::{MarkKind, Named};

/// Whether a block is recorded: see [`sampler::takes`].
#[inline(always)]
fn takes(hook: &mut HookGuard, candidate: Candidate, address: usize, size: usize) -> bool {
    let local = hook.local();
    sampler::takes(&mut hook.state().sampler, local, candidate, address, size)
}

/// Whether other blocks came after this one: see [`sampler::Sampler::has_allocated_since`].
#[inline(always)]
fn has_allocated_since(hook: &mut HookGuard, address: usize) -> bool {
    let local = hook.local();
    hook.state().sampler.has_allocated_since(local, address)
}

/// Records that a call returned a block, or none if the address is 0. `kind` is a pseudo frame's id, 0 for plain
/// `malloc`.
// A call that returned none takes the same path. Address 0 has no short form, so it is noticed where long forms are
// made, and calls that succeed need no compare for it.
#[inline(always)]
pub(crate) fn allocated(
    candidate: Candidate,
    address: usize,
    size: usize,
    alignment: usize,
    kind: u32,
    caller: Caller,
) {
    let Some(mut hook) = HookGuard::enter(Returned(address), caller) else {
        return missed_allocation(address, size, alignment);
    };
    if takes(&mut hook, candidate, address, size) {
        let state = hook.state();
        let stack = state.stack(caller, kind);
        if state.allocation(address as u64, size as u64, alignment as u64, stack) {
            Attention::Timed.call(hook.local());
        }
    }
}

/// Records that a call that should have returned memory returned none. `error` is what it left in `errno`, or
/// returned.
// Cost: nothing for a call that succeeds.
#[cold]
#[inline(never)]
pub(crate) fn failed(size: usize, alignment: usize, error: c_int, kind: u32, caller: Caller) {
    let Some(mut hook) = HookGuard::enter(Call::Failure, caller) else {
        return missed_failure(size, alignment);
    };
    tell_failed(&mut hook, size, alignment, error, kind, caller);
}

/// The same for a number of elements of a size, whose product overflows.
#[cold]
#[inline(never)]
pub(crate) fn overflowed(size: usize, count: usize, error: c_int, kind: u32, caller: Caller) {
    let Some(mut hook) = HookGuard::enter(Call::Failure, caller) else {
        return missed_failure(usize::MAX, 0);
    };
    let stack = hook.state().stack(caller, kind);
    hook.state().failure_of((size as u64, count as u64), 0, error, stack);
}

/// The same for a call that was to map pages. An allocator's own call is part of the call that it serves, and many
/// fail for reasons that have nothing to do with memory.
#[cold]
#[inline(never)]
pub(crate) fn failed_to_map(length: usize, error: c_int, kind: u32, caller: Caller) {
    if !matches!(error, libc::ENOMEM | libc::EAGAIN) {
        return;
    }
    let Some(mut hook) = HookGuard::enter(Call::Failure, caller) else { return };
    if !(wrappers::are_there() && hook.state().is_within_new(caller)) {
        tell_failed(&mut hook, length, 0, error, kind, caller);
    }
}

fn tell_failed(hook: &mut HookGuard, size: usize, alignment: usize, error: c_int, kind: u32, caller: Caller) {
    let stack = hook.state().stack(caller, kind);
    hook.state().failure(size as u64, alignment as u64, error, stack);
}

/// What the fast path has done about the end of a block.
#[derive(Debug)]
pub(crate) enum FastPath {
    /// It was recorded.
    Recorded,
    /// It was recorded, but the hook has more to do at its end.
    Pending(HookGuard),
    /// Something is unusual, and nothing was done.
    NotTaken,
}

/// A block is about to be freed whose end is wanted according to the filter of samples. Records it if nothing is
/// unusual.
#[inline(always)]
pub(crate) fn freeing_fast(address: usize) -> FastPath {
    let Some(mut hook) = HookGuard::enter_fast() else { return FastPath::NotTaken };
    let time = if has_allocated_since(&mut hook, address) {
        None
    } else {
        hook.state().free_in_short(address as u64)
    };
    let Some(time) = time else {
        hook.give_up();
        return FastPath::NotTaken;
    };
    if thread::is_followed_by_timed(time) {
        Attention::Timed.call(hook.local());
    }
    hook.leave_fast().map_or(FastPath::Recorded, FastPath::Pending)
}

/// The same, but records it in any case.
#[inline(always)]
pub(crate) fn freeing(address: usize, caller: Caller) {
    match freeing_fast(address) {
        FastPath::Recorded => {}
        FastPath::Pending(hook) => drop(hook),
        FastPath::NotTaken => freeing_otherwise(address, caller),
    }
}

/// The same, if something is unusual.
#[cold]
#[inline(never)]
pub(crate) fn freeing_otherwise(address: usize, caller: Caller) {
    let Some(mut hook) = HookGuard::enter(Call::Free, caller) else { return missed_free(address) };
    if has_allocated_since(&mut hook, address) {
        hook.state().emit(Record::Unsampled, 0, 0);
    }
    let address = address as u64;
    let record = match process::has_free_stacks() {
        true => Record::FreeWithStack { address, stack: hook.state().stack(caller, 0) },
        false => Record::Free { address },
    };
    let time = hook.state().emit(record, 0, 1);
    if thread::is_followed_by_timed(time) {
        Attention::Timed.call(hook.local());
    }
}

/// The time at which a timed hook begins; `None` if the hook is not timed.
#[cold]
#[inline(never)]
pub(crate) fn begin_timed() -> Option<u64> {
    let local = arch::thread_local();
    if !Attention::Timed.is_called(local) {
        return None;
    }
    // First, so that other hooks that run here are not timed.
    Attention::Timed.dismiss(local);
    let Some(mut hook) = HookGuard::enter_to_tell() else {
        Attention::Timed.call(local);
        return None;
    };
    hook.state().look_for_collector();
    drop(hook);
    Some(clock::ticks())
}

/// A `realloc` whose end is still to be recorded.
#[must_use]
#[derive(Debug)]
pub(crate) struct Realloc {
    address: usize,
    /// The block is one of [`filter::add_inner`].
    is_inner: bool,
    /// The end of the old block must be recorded.
    is_wanted: bool,
    /// Serial of the recorded beginning; `None` when that was not recorded.
    serial: Option<u16>,
}

/// A `realloc` of a block is about to happen.
#[inline(always)]
pub(crate) fn reallocating(address: usize, is_inner: bool, caller: Caller) -> Realloc {
    // From here on the address may be another block's, so the filter forgets it before the call, not after.
    let is_wanted = !is_inner && filter::take(address);
    Realloc {
        address,
        is_inner,
        is_wanted,
        serial: if is_wanted { begin_realloc(address, caller) } else { None },
    }
}

fn begin_realloc(address: usize, caller: Caller) -> Option<u16> {
    // A lost call is a lost free and a lost allocation; the free is counted here, the allocation by `reallocated`.
    let mut hook = HookGuard::enter(Call::Free, caller)?;
    let state = hook.state();
    state.realloc_serial = state.realloc_serial.wrapping_add(1);
    let serial = state.realloc_serial;
    state.is_reallocating = true;
    state.emit(Record::ReallocBegin { address: address as u64, serial }, 0, 1);
    Some(serial)
}

/// The outcome of a `realloc`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reallocated {
    /// It returned a block: address and size.
    Block(usize, usize),
    /// It failed, and the old block is unchanged.
    Failed,
    /// Size 0: the block was freed.
    Freed,
}

impl Realloc {
    /// A `realloc` has returned. `candidate` is the new block's, `None` when that block is not to be recorded.
    #[inline(always)]
    pub(crate) fn end(self, candidate: Option<Candidate>, outcome: Reallocated, kind: u32, caller: Caller) {
        if self.is_inner && matches!(outcome, Reallocated::Failed) {
            filter::add_inner(self.address);
        }
        if self.is_wanted || candidate.is_some() {
            self.record_end(candidate, outcome, kind, caller);
        }
    }

    fn record_end(self, candidate: Option<Candidate>, outcome: Reallocated, kind: u32, caller: Caller) {
        if self.is_wanted && matches!(outcome, Reallocated::Failed) {
            // This succeeds, since the block was in before: the filter's leaves stay.
            filter::add(self.address);
        }
        let Some(mut hook) = HookGuard::enter(Call::Allocation, caller) else {
            return self.missed(outcome);
        };
        let block = match (outcome, candidate) {
            (Reallocated::Block(address, size), Some(candidate))
                if takes(&mut hook, candidate, address, size) =>
            {
                Some((address as u64, size as u64, hook.state().stack(caller, kind)))
            }
            _ => None,
        };
        let state = hook.state();
        state.is_reallocating = false;
        match (self.serial, block) {
            (Some(serial), Some((address, size, stack))) => {
                state.emit(Record::ReallocEnd { serial, address, size, stack }, 1, 0);
            }
            // The beginning was not recorded, so the block is new to the recording.
            (None, Some((address, size, stack))) => {
                let _ = state.allocation(address, size, 0, stack);
            }
            (Some(serial), None) if matches!(outcome, Reallocated::Failed) => {
                state.emit(Record::ReallocFailed { serial }, 0, 0);
            }
            // Freed, or the new block is no sample.
            (Some(serial), None) => {
                state.emit(Record::ReallocFreed { serial }, 0, 0);
            }
            (None, None) => {}
        }
    }
}

impl Realloc {
    /// Both halves of a `realloc` that could not be recorded.
    #[cold]
    #[inline(never)]
    fn missed(self, outcome: Reallocated) {
        if let Some(serial) = self.serial {
            end_unwanted(serial, outcome);
        }
        if self.is_wanted && !matches!(outcome, Reallocated::Failed) {
            missed_free(self.address);
        }
        if let Reallocated::Block(address, size) = outcome {
            missed_allocation(address, size, 0);
        }
    }
}

/// Reports the end of a `realloc` during which the program stopped its recording: its beginning was reported, and
/// what becomes of the new block is not.
fn end_unwanted(serial: u16, outcome: Reallocated) {
    let Some(mut hook) = HookGuard::enter_to_tell() else { return };
    let state = hook.state();
    // The thread may have another state by now.
    if core::mem::take(&mut state.is_reallocating) && state.realloc_serial == serial {
        let record = match outcome {
            Reallocated::Failed => Record::ReallocFailed { serial },
            Reallocated::Block(..) | Reallocated::Freed => Record::ReallocFreed { serial },
        };
        state.emit(record, 0, 0);
    }
}

/// A block that could not be recorded. A child of vfork leaves a note for its parent; if only samples are recorded it
/// does not, since nobody can tell which of its blocks are samples.
#[cold]
#[inline(never)]
fn missed_allocation(address: usize, size: usize, alignment: usize) {
    let local = arch::thread_local();
    if address == FAILED {
        missed_failure(size, alignment);
    } else if !sampler::samples() {
        if !local.is_busy() && local.is_within_allocator(arch::stack_pointer()) && process::is_wanted() {
            filter::add_inner(address);
        }
        vfork_notes::note(local, Note { address, size, alignment });
    }
}

/// The end of a block that could not be recorded, likewise noted.
#[cold]
#[inline(never)]
fn missed_free(address: usize) {
    vfork_notes::note(arch::thread_local(), Note { address, size: FREED, alignment: 0 });
}

/// A failed call that could not be recorded, likewise noted.
#[cold]
#[inline(never)]
fn missed_failure(size: usize, alignment: usize) {
    // The full size would mean a freed block.
    let size = size.min(FREED - 1);
    vfork_notes::note(arch::thread_local(), Note { address: FAILED, size, alignment });
}

/// Pages were mapped.
pub(crate) fn mapped(address: usize, length: usize, kind: u32, in_hook: bool, caller: Caller) {
    other(|state| {
        let stack = state.stack(caller, kind);
        let in_hook = in_hook || wrappers::are_there() && state.is_within_new(caller);
        Record::Map { address: address as u64, length: length as u64, stack, in_hook }
    });
}

/// Pages are about to be unmapped.
pub(crate) fn unmapping(address: usize, length: usize) {
    invalidations::note_unmapping();
    other(|_| Record::Unmap { address: address as u64, length: length as u64 });
}

/// Unmapping failed.
pub(crate) fn unmapping_failed(address: usize, length: usize) {
    other(|_| Record::UnmapFailed { address: address as u64, length: length as u64 });
}

/// A mapping was moved or resized.
pub(crate) fn remapped(old: (usize, usize), new: (usize, usize), caller: Caller) {
    other(|state| Record::Remap {
        old_address: old.0 as u64,
        old_length: old.1 as u64,
        address: new.0 as u64,
        length: new.1 as u64,
        stack: state.stack(caller, shared_ring::pseudo::MREMAP),
    });
}

/// The program break moved.
pub(crate) fn broke(from: usize, address: usize, in_hook: bool, caller: Caller) {
    other(|state| Record::Break {
        from: from as u64,
        address: address as u64,
        stack: state.stack(caller, shared_ring::pseudo::BRK),
        in_hook,
    });
}

/// The process is about to fork: the number of this fork, 0 when nobody records it.
pub(crate) fn forking() -> u32 {
    let Some(mut hook) = HookGuard::enter_to_tell().filter(|_| process::follows_forks()) else { return 0 };
    let fork = process::next_fork();
    hook.state().emit(Record::Fork { fork }, 0, 0);
    fork
}

/// The process was just forked: takes a slot and a ring.
pub(crate) fn joining() {
    sampler::begin_child();
    drop(HookGuard::enter_to_tell());
    crate::record::guard::pause::tell();
}

/// Records something about the process itself.
pub(crate) fn note(record: Record) {
    let Some(mut hook) = HookGuard::enter_to_tell().filter(|_| process::is_itself()) else { return };
    hook.state().emit(record, 0, 0);
}

/// The process exits, with a code if that is known. This takes a ring, so even a process that has done nothing else
/// is known.
pub(crate) fn exiting(code: Option<i32>) {
    let Some(mut hook) = HookGuard::enter_to_tell().filter(|_| process::is_itself()) else { return };
    if let Some(code) = code {
        hook.state().emit(Record::Exit { code }, 0, 0);
    }
}

/// The program marks this moment with a name.
pub(crate) fn marked(kind: MarkKind, name: &[u8]) {
    match HookGuard::enter_to_tell() {
        Some(mut hook) => {
            hook.state().tell(Named::Mark(kind), name);
        }
        None if process::is_recorded() => process::lose(Loss::Nested, 1),
        None => {}
    }
}

/// The program reports a new block in a pool.
pub(crate) fn reported(pool: u32, address: usize, size: usize, caller: Caller) {
    report(pool, |state| {
        let stack = state.stack(caller, shared_ring::pseudo::REPORT_ALLOC);
        let record = Record::ReportAlloc { pool, address: address as u64, size: size as u64, stack };
        state.emit(record, 1, 0);
    });
}

/// The program reports that a block of a pool has become another one.
pub(crate) fn reported_again(pool: u32, old: usize, address: usize, size: usize, caller: Caller) {
    report(pool, |state| {
        let stack = state.stack(caller, shared_ring::pseudo::REPORT_REALLOC);
        let (old, address, size) = (old as u64, address as u64, size as u64);
        state.emit(Record::ReportRealloc { pool, old, address, size, stack }, 1, 1);
    });
}

/// The program reports that a block of a pool is about to be freed.
pub(crate) fn report_ends(pool: u32, address: usize) {
    report(pool, |state| {
        state.emit(Record::ReportFree { pool, address: address as u64 }, 0, 1);
    });
}

fn report(pool: u32, tell: impl FnOnce(&mut ThreadState)) {
    let Some(mut hook) = HookGuard::enter(Call::Report, Caller::here()) else { return };
    if pools::is_reported(&mut hook, pool) {
        tell(hook.state());
    } else {
        process::lose(Loss::NoPool, 1);
    }
}

fn other(record: impl FnOnce(&mut ThreadState) -> Record) {
    let Some(mut hook) = HookGuard::enter(Call::Other, Caller::here()) else { return };
    let state = hook.state();
    let record = record(state);
    state.emit(record, 0, 0);
}
