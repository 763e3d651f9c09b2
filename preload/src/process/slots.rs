//! The process' slot in its recording: how it is claimed, also by a forked child, and what is counted there.

use super::{control, page, session};
use crate::platform::{arch, sys};
use core::sync::atomic::{AtomicU32, Ordering};
use shared_ring::process_slot::{Loss, ProcessSlot};

/// Number of forks that this process and its ancestors have reported.
static FORKS: AtomicU32 = AtomicU32::new(0);

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
    !crate::platform::allowed_calls::allows(crate::platform::allowed_calls::Need::ProcessId)
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

/// Has the collector read at once what was recorded.
#[cold]
pub(crate) fn call() {
    if let Some(session) = session() {
        session.wakeup().call();
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
