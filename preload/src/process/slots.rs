//! The process' slot in its recording: how it is claimed, also by a forked child, and what is counted there.

use super::{
    FIRST_EPOCH, NEXT_EPOCH, Page, Session, begin_alone_after_fork, control, leave, next_epoch, page, session,
};
use crate::platform::{arch, sys};
use core::sync::atomic::{AtomicU32, Ordering};
use shared_ring::process_slot::{Loss, ProcessSlot};

/// The slot of this process, which its forked children find in their copy of our memory.
static PARENT_SLOT: AtomicU32 = AtomicU32::new(0);
/// The pid of this process, likewise.
static PARENT_PID: AtomicU32 = AtomicU32::new(0);

/// Number of forks that this process and its ancestors have reported.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// True in a process that was forked from the one that connected.
fn is_child() -> bool {
    NEXT_EPOCH.load(Ordering::Relaxed) > FIRST_EPOCH.load(Ordering::Relaxed)
}

/// Claims a slot for this process and gives it an epoch; false when another thread is doing so, or there is no slot
/// left.
#[cold]
pub(super) fn claim(session: Session, page: &Page) -> bool {
    // Acquire: one thread claims; another one that comes at the same moment loses its event, which is counted.
    if page.joining.swap(1, Ordering::Acquire) != 0 {
        return false;
    }
    begin_alone_after_fork(1);
    let parent = is_child().then(|| PARENT_SLOT.load(Ordering::Relaxed));
    if parent.is_some() && !follows_forks() {
        leave();
        return false;
    }
    let pid = sys::process_id();
    let found = session.segment.slots().iter().position(|slot| slot.claim(pid, parent));
    let Some(index) = found else {
        // Relaxed: a count that is read at the end.
        session.segment.header().refused.fetch_add(1, Ordering::Relaxed);
        leave();
        return false;
    };
    let slot = index as u32;
    session.segment.header().slots_used.fetch_max(slot + 1, Ordering::AcqRel);
    PARENT_SLOT.store(slot, Ordering::Relaxed);
    let parent_pid = PARENT_PID.swap(pid, Ordering::Relaxed);
    let fork = arch::thread_local().fork.replace(0);
    if let Some(slot) = session.segment.slots().get(index) {
        // Relaxed: the collector reads it after the first record of the process, which is published.
        slot.fork.store(u64::from(parent_pid) << 32 | u64::from(fork), Ordering::Relaxed);
    }
    page.slot.store(slot, Ordering::Relaxed);
    // Release pairs with the Acquire load in `join`: the slot is known before the epoch is.
    page.epoch.store(next_epoch(), Ordering::Release);
    true
}

/// True when the recording goes on in forked children.
pub(crate) fn follows_forks() -> bool {
    control().follow.load(Ordering::Relaxed) != 0
}

/// True when the recording goes on in the programs that this one executes.
pub(crate) fn is_followed() -> bool {
    control().follow.load(Ordering::Relaxed) == 1
}

/// The number of the next fork, from 1.
#[cold]
pub(crate) fn next_fork() -> u32 {
    FORKS.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// Index of this process' slot.
pub(crate) fn slot_index() -> u32 {
    page().map_or(0, |page| page.slot.load(Ordering::Relaxed))
}

/// This process' slot.
pub(crate) fn slot() -> Option<&'static ProcessSlot> {
    session()?.segment.slots().get(slot_index() as usize)
}

/// Counts events that were not recorded.
#[cold]
pub(crate) fn lose(reason: Loss, events: u64) {
    if let Some(slot) = slot() {
        slot.lose(reason, events);
    }
}

/// False in a child that shares our memory and our thread's block, created by `clone` directly: its own end is not
/// ours to record.
#[cold]
pub(crate) fn is_itself() -> bool {
    !crate::platform::needs::allows(crate::platform::needs::Need::ProcessId)
        || slot().and_then(ProcessSlot::owner).is_none_or(|(pid, _)| pid == sys::process_id())
}

/// Where this process waits at its end for the collector to look at its memory. `None` when the collector does not
/// want to, in a child that shares our memory, and in a thread that may not wait.
#[cold]
pub(crate) fn slot_to_part_at() -> Option<&'static ProcessSlot> {
    // Relaxed: set before the memory is handed over, and never changed.
    if control().scan_at_exit.load(Ordering::Relaxed) != 1 || !super::is_recording() {
        return None;
    }
    let local = arch::thread_local();
    if local.is_muted() || local.is_in_vfork() || !is_itself() {
        return None;
    }
    slot()
}

/// Wakes the collector, if it sleeps, to read at once what was recorded.
#[cold]
pub(crate) fn ring() {
    if let Some(session) = session() {
        session.bell().ring();
    }
}

/// True when the collector is gone without having said so.
#[cold]
pub(crate) fn is_forsaken() -> bool {
    session().is_none_or(|session| session.control.owner_died())
}

/// Counts an allocation that the agent made for itself; there should be none.
#[cold]
pub(crate) fn count_own_allocation() {
    if let Some(slot) = slot() {
        slot.agent_allocations.fetch_add(1, Ordering::Relaxed);
    }
}
