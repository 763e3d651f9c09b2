//! How a process gets its slot in a recording, also a forked child.

use super::fork;
use crate::platform::{arch, sys};
use crate::process::{self, Page, Session};
use core::sync::atomic::{AtomicU32, Ordering};

/// The slot of this process, which its forked children find in their copy of our memory.
static PARENT_SLOT: AtomicU32 = AtomicU32::new(0);
/// The pid of this process, likewise.
static PARENT_PID: AtomicU32 = AtomicU32::new(0);

/// Claims a slot for this process and gives it an epoch; false when another thread is doing so, or there is no slot
/// left.
#[cold]
pub(super) fn claim(session: Session, page: &Page) -> bool {
    // Acquire: one thread claims; another one that comes at the same moment loses its event, which is counted.
    if page.joining.swap(1, Ordering::Acquire) != 0 {
        return false;
    }
    fork::begin_alone_after_fork(1);
    let parent = process::is_child().then(|| PARENT_SLOT.load(Ordering::Relaxed));
    if parent.is_some() && !process::follows_forks() {
        process::leave();
        return false;
    }
    let pid = sys::process_id();
    let found = session.segment.slots().iter().position(|slot| slot.claim(pid, parent));
    let Some(index) = found else {
        // Relaxed: a count that is read at the end.
        session.segment.header().refused.fetch_add(1, Ordering::Relaxed);
        process::leave();
        return false;
    };
    let slot = index as u32;
    session.segment.header().slots_used.fetch_max(slot + 1, Ordering::AcqRel);
    PARENT_SLOT.store(slot, Ordering::Relaxed);
    let parent_pid = PARENT_PID.swap(pid, Ordering::Relaxed);
    let number = arch::thread_local().fork.replace(0);
    if let Some(slot) = session.segment.slots().get(index) {
        // Relaxed: the collector reads it after the first record of the process, which is published.
        slot.fork.store(u64::from(parent_pid) << 32 | u64::from(number), Ordering::Relaxed);
    }
    page.slot.store(slot, Ordering::Relaxed);
    // Release pairs with the Acquire load in `join::join`: the slot is known before the epoch is.
    page.epoch.store(process::next_epoch(), Ordering::Release);
    true
}
