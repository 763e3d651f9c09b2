//! What a hook records, and in which order.
//!
//! | call | before the next allocator | after it |
//! |---|---|---|
//! | `malloc` and its kin | | stack, time, record |
//! | `free` | time, record, published | |
//! | `realloc` | begin: the old block ends | end: the new block, or that it failed |
//!
//! So for one address the record of its end is always published before any other thread can get it again.

use crate::clock;
use crate::guard::{Busy, Call};
use crate::modules;
use crate::process;
use crate::stack::Caller;
use shared_ring::record::Record;

/// A call returned a block. `kind` is a pseudo frame's id, 0 for plain `malloc`.
#[inline(always)]
pub(crate) fn allocated(address: usize, size: usize, alignment: usize, kind: u32, caller: Caller) {
    let Some(mut busy) = Busy::enter(Call::Allocation) else { return };
    let started = begin(&mut busy);
    let kind = if kind == 0 { busy.local().kind_hint.replace(0) } else { kind };
    let state = busy.state();
    let stack = state.stack(caller, kind);
    state.allocation(address as u64, size as u64, alignment as u64, stack, clock::after());
    end(&mut busy, started);
}

/// A block is about to be freed.
#[inline(always)]
pub(crate) fn freeing(address: usize) {
    let Some(mut busy) = Busy::enter(Call::Free) else { return };
    let started = begin(&mut busy);
    busy.state().free(address as u64, clock::before());
    end(&mut busy, started);
}

/// A `realloc` whose end is still to be told.
#[must_use]
#[derive(Debug)]
pub(crate) struct Realloc {
    serial: u16,
}

/// `realloc` of a block is about to happen; `None` when it is not recorded.
pub(crate) fn reallocating(address: usize) -> Option<Realloc> {
    // One lost call is a lost allocation and a lost free; the free is counted here, the other by `reallocated`.
    let mut busy = Busy::enter(Call::Free)?;
    let started = begin(&mut busy);
    let state = busy.state();
    state.realloc_serial = state.realloc_serial.wrapping_add(1);
    let serial = state.realloc_serial;
    state.emit(Record::ReallocBegin { address: address as u64, serial }, clock::before(), 0, 1);
    end(&mut busy, started);
    Some(Realloc { serial })
}

/// How a `realloc` ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reallocated {
    /// It returned a block of this size.
    Block(usize, usize),
    /// It failed: the old block is as it was.
    Failed,
    /// Size 0: the block was freed.
    Freed,
}

/// A `realloc` returned.
pub(crate) fn reallocated(begun: Option<Realloc>, outcome: Reallocated, kind: u32, caller: Caller) {
    let Some(mut busy) = Busy::enter(Call::Allocation) else { return };
    let started = begin(&mut busy);
    let state = busy.state();
    match (begun, outcome) {
        (Some(Realloc { serial }), Reallocated::Block(address, size)) => {
            let stack = state.stack(caller, kind);
            let (address, size) = (address as u64, size as u64);
            state.emit(Record::ReallocEnd { serial, address, size, stack }, clock::after(), 1, 0);
        }
        (Some(Realloc { serial }), Reallocated::Failed) => {
            state.emit(Record::ReallocFailed { serial }, clock::after(), 0, 0);
        }
        (Some(Realloc { serial }), Reallocated::Freed) => {
            state.emit(Record::ReallocFreed { serial }, clock::after(), 0, 0);
        }
        // The begin was not recorded: the block is new to the recording.
        (None, Reallocated::Block(address, size)) => {
            let stack = state.stack(caller, kind);
            state.allocation(address as u64, size as u64, 0, stack, clock::after());
        }
        (None, _) => {}
    }
    end(&mut busy, started);
}

/// Pages were mapped.
pub(crate) fn mapped(address: usize, length: usize, kind: u32, in_hook: bool, caller: Caller) {
    other(|state| {
        let stack = state.stack(caller, kind);
        Record::Map { address: address as u64, length: length as u64, stack, in_hook }
    });
}

/// Pages are about to be unmapped.
pub(crate) fn unmapping(address: usize, length: usize) {
    modules::note_unmapping();
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
pub(crate) fn broke(address: usize, caller: Caller) {
    other(|state| Record::Break {
        address: address as u64,
        stack: state.stack(caller, shared_ring::pseudo::BRK),
    });
}

/// The process is about to fork: the number of this fork, 0 when nobody records it.
pub(crate) fn forking() -> u32 {
    let Some(mut busy) = Busy::enter(Call::Other).filter(|_| process::follows_forks()) else { return 0 };
    let fork = process::next_fork();
    busy.state().emit(Record::Fork { fork }, clock::before(), 0, 0);
    fork
}

/// The process was just forked: it takes a slot and a ring.
pub(crate) fn joining() {
    drop(Busy::enter(Call::Other));
}

/// Something about the process itself.
pub(crate) fn note(record: Record) {
    other(|_| record);
}

fn other(record: impl FnOnce(&mut crate::thread::ThreadState) -> Record) {
    let Some(mut busy) = Busy::enter(Call::Other) else { return };
    let started = begin(&mut busy);
    let state = busy.state();
    let record = record(state);
    state.emit(record, clock::after(), 0, 0);
    end(&mut busy, started);
}

/// Starts the stopwatch of a hook that is timed, and tells what the thread could not tell before.
#[inline(always)]
fn begin(busy: &mut Busy) -> u64 {
    let local = busy.local();
    let state = busy.state();
    if local.nested_allocations.get() | local.nested_frees.get() != 0 {
        state.tell_nested(local);
    }
    if state.is_timed() { clock::ticks() } else { 0 }
}

#[inline(always)]
fn end(busy: &mut Busy, started: u64) {
    if started != 0 {
        busy.state().add_time(clock::ticks().saturating_sub(started));
    }
}
