//! What a child of vfork does to its parent's heap.
//!
//! The child runs on its parent's memory, and on the thread that called vfork, which waits meanwhile. Its blocks are
//! the parent's: the parent may free a block that the child leaves behind. But it is another process, which may be
//! killed at any moment, so it writes nothing into the ring. It leaves a note in the thread's memory, and the thread
//! reports it before its next record:
//!
//! ```text
//!  thread in the parent   vfork ···············································► free(b)
//!                                                                               alloc b, free a, free b
//!  child                        b = malloc(64)   free(a)   exec
//!                               note: alloc b    note: free a
//! ```
//!
//! So the parent's counts are exact, as long as no other thread of it gets hold of such a block between the child's
//! call and the thread's next one. That would produce an event that contradicts the others, and it is shown as such.
//! No stack can be taken, since the child's frames are gone when the thread reports the note.

use super::ThreadState;
use super::memory::Public;
pub(crate) use super::notes::{FAILED, FREED, Note};
use crate::platform::thread_local::{Attention, ThreadLocal, fence};
use crate::process::{self, Loss};
use shared_ring::pseudo;
use shared_ring::record::Record;

/// Leaves a note if the calling thread is a child of vfork whose parent is recorded; otherwise does nothing.
#[cold]
#[inline(never)]
pub(crate) fn note(local: &ThreadLocal, note: Note) {
    if !local.is_in_vfork() || local.is_busy() || !process::is_recording() {
        return;
    }
    // Calls of the allocator itself are part of the outer call, as in `guard`.
    if local.is_within_allocator(crate::platform::arch::stack_pointer()) {
        return;
    }
    let Some(memory) = Public::of(local) else { return };
    // A thread that had no ring when it called vfork records nothing, and its last ring may be another thread's.
    if !core::ptr::eq(memory.owner.load(core::sync::atomic::Ordering::Relaxed), local) {
        return;
    }
    let count = memory.vfork_notes.count.get();
    if let Some(place) = memory.vfork_notes.notes.get(count) {
        place.set(note);
        Attention::VforkNotes.call(local);
        // Last, since the child may be killed in between.
        fence();
        memory.vfork_notes.count.set(count.wrapping_add(1));
    } else {
        if note.size == FREED {
            local.count_free()
        } else if note.address != FAILED {
            local.count_allocation()
        }
        process::lose(Loss::Nested, 1);
    }
}

/// Reports what was noted.
#[cold]
pub(crate) fn tell(state: &mut ThreadState, local: &ThreadLocal) {
    let Some(memory) = Public::of(local) else { return };
    let count = memory.vfork_notes.count.replace(0);
    for note in memory.vfork_notes.notes.iter().take(count) {
        state.tell_missed(note.get());
    }
}

impl ThreadState {
    fn tell_missed(&mut self, note: Note) {
        let address = note.address as u64;
        if note.size == FREED {
            self.emit(Record::Free { address }, 0, 1);
            return;
        }
        let stack = self.accessors.labels.pseudo(pseudo::NOT_TAKEN);
        let (size, alignment) = (note.size as u64, note.alignment as u64);
        if note.address == FAILED {
            self.emit(Record::AllocFailed { size, alignment, count: 0, error: 0, stack }, 0, 0);
        } else {
            self.emit(Record::Alloc { address, size, alignment, stack }, 1, 0);
        }
    }
}
