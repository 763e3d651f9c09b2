//! The memory for rings' states, and which thread has it.
//!
//! The memory is mapped when this process first uses a ring, stays mapped for the life of the process, and passes
//! with the ring from thread to thread.

use super::ThreadState;
use super::notes::Notes;
use crate::interpreters;
use crate::platform::thread_local::ThreadLocal;
use crate::platform::{invalidations, sys};
use crate::thread::provider::{MOST_FRAMES, ScriptFrame};
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use unwind::{Memos, RuleTable, Scratch};

/// What is mapped for one state. The first part is the owner's alone; to the second there are only shared references.
#[repr(C, align(64))]
pub(super) struct Memory {
    own: Own,
    public: Public,
}

/// What the thread that has the ring works with.
#[repr(C)]
struct Own {
    state: MaybeUninit<ThreadState>,
    rules: RuleTable,
    /// The module generation of the rules.
    generation: u32,
    scratch: MaybeUninit<Scratch>,
    /// Without a stack provider never touched, and so never resident.
    script_frames: [ScriptFrame; MOST_FRAMES],
    interpreters: interpreters::Memory,
}

/// What others read, too, and what a thread reads while its state is in use.
#[repr(C)]
pub(super) struct Public {
    /// Block of the thread that has the ring, null while no thread has it: others read there whether the thread is in
    /// a hook.
    pub(super) owner: AtomicPtr<ThreadLocal>,
    /// The thread's id.
    tid: AtomicU32,
    /// Frames that the memos after this struct have room for; written before the memory is published.
    depth: u32,
    /// Notes of the owner's children of vfork.
    pub(super) vfork_notes: Notes,
}

const _: () = assert!(offset_of!(Memory, own) == 0 && offset_of!(Own, state) == 0);

/// Memory by ring; null until this process first uses the ring. Copied by fork: a child finds its parent's memory
/// there, and overwrites it with its own state.
static STATES: AtomicPtr<AtomicPtr<Memory>> = AtomicPtr::new(core::ptr::null_mut());
/// Most rings of any session.
const RINGS: usize = 1 << 16;
/// One more than the highest index of a ring that ever had memory.
static RINGS_USED: AtomicUsize = AtomicUsize::new(0);

/// The places of all memories; `None` while there are none.
fn places() -> Option<&'static [AtomicPtr<Memory>]> {
    let states = STATES.load(Ordering::Acquire);
    if states.is_null() {
        return None;
    }
    // SAFETY: there are so many pointers, mapped for the life of the process; zeroed memory is null.
    Some(unsafe { core::slice::from_raw_parts(states, RINGS) })
}

/// The memory for a ring's state, with room for stacks of `depth` frames, mapped if need be; null if that fails.
pub(super) fn of_ring(ring: usize, depth: usize) -> *mut Memory {
    const BYTES: usize = RINGS * size_of::<AtomicPtr<Memory>>();
    if places().is_none() {
        let states = sys::map_private(BYTES).cast();
        // AcqRel: the second thread to come takes the first one's memory.
        let first =
            STATES.compare_exchange(core::ptr::null_mut(), states, Ordering::AcqRel, Ordering::Acquire);
        if first.is_err() && !states.is_null() {
            // SAFETY: mapped above and not published.
            unsafe { sys::unmap(states.cast(), BYTES) };
        }
    }
    let Some(place) = places().and_then(|places| places.get(ring)) else { return core::ptr::null_mut() };
    let known = place.load(Ordering::Relaxed);
    // SAFETY: null, or published below.
    if unsafe { public(known) }.is_some_and(|known| known.depth as usize >= depth) {
        return known;
    }
    let fresh = sys::map_private(size_of::<Memory>() + Memos::bytes(depth)).cast::<Memory>();
    if !fresh.is_null() {
        // SAFETY: mapped zeroed, and not published.
        unsafe { (*fresh).public.depth = depth as u32 };
        RINGS_USED.fetch_max(ring + 1, Ordering::Relaxed);
        // Release pairs with the Acquire load in `all`. A memory for shorter stacks, of an earlier session, is left
        // behind: a thread that has not ended yet may still refer to it.
        place.store(fresh, Ordering::Release);
    }
    fresh
}

/// A ring's memory as its next owner gets it.
pub(super) struct Parts {
    /// The place for its state.
    pub(super) state: &'static mut MaybeUninit<ThreadState>,
    /// Where to name the owner, once others can wait for it.
    pub(super) owner: &'static AtomicPtr<ThreadLocal>,
    pub(super) tables: Tables,
}

/// What a thread takes stacks with.
pub(super) struct Tables {
    pub(super) rules: &'static mut RuleTable,
    pub(super) scratch: &'static mut MaybeUninit<Scratch>,
    pub(super) memos: Memos<'static>,
    pub(super) script_frames: &'static mut [ScriptFrame],
    pub(super) interpreters: &'static mut interpreters::Memory,
    /// The module generation of the rules.
    pub(super) generation: u32,
    /// The number of unmappings for which the rest is valid.
    pub(super) unmappings: u32,
}

/// The parts of a memory, for another thread with this id, and stacks of `depth` frames.
///
/// # Safety
/// [`of_ring`] returned the memory for as many frames, and the caller has claimed the ring.
pub(super) unsafe fn parts(memory: *mut Memory, tid: u32, depth: usize) -> Parts {
    let behind = memory.wrapping_add(1).cast::<u8>();
    // SAFETY: mapped, zeroed at first, aligned for the type, and the caller's alone.
    let Own { state, rules, generation, scratch, script_frames, interpreters } =
        unsafe { &mut (*memory).own };
    // SAFETY: mapped likewise, and everybody has only shared references to it.
    let Public { owner, tid: owner_id, depth: room, vfork_notes } = unsafe { &(*memory).public };
    // Relaxed, both: the id is published with the next owner. The last owner may have ended unnoticed.
    owner.store(core::ptr::null_mut(), Ordering::Relaxed);
    owner_id.store(tid, Ordering::Relaxed);
    vfork_notes.clear();
    // First: whatever is unmapped or unloaded after this load invalidates the rest.
    let unmappings = invalidations::unmappings();
    let now = invalidations::generation();
    if core::mem::replace(generation, now) == now {
        // Rules of an earlier owner are still right, but its pc ids may belong to another session's table.
        rules.clear_tags();
    } else {
        rules.clear();
    }
    // SAFETY: so many bytes are mapped after the struct, zeroed at first, aligned by the struct's own alignment, and
    // the state is their only user.
    let memos = unsafe { Memos::from_raw(behind, *room as usize) }.up_to(depth);
    let tables = Tables { rules, scratch, memos, script_frames, interpreters, generation: now, unmappings };
    Parts { state, owner, tables }
}

/// The public part of a memory; `None` for null.
///
/// # Safety
/// The pointer is null, or was published by [`of_ring`].
unsafe fn public(memory: *mut Memory) -> Option<&'static Public> {
    // SAFETY: not null, so mapped for the life of the process; to this part there are only shared references.
    (!memory.is_null()).then(|| unsafe { &(*memory).public })
}

fn all() -> impl Iterator<Item = &'static Public> {
    let places = places().unwrap_or(&[]);
    places.iter().take(RINGS_USED.load(Ordering::Relaxed)).filter_map(|place| {
        // SAFETY: null, or published.
        unsafe { public(place.load(Ordering::Acquire)) }
    })
}

/// True when no thread that ever had a ring is in a hook of the session in which this process had `epoch`. The fences
/// in all threads were issued before.
#[cold]
pub(crate) fn are_out(epoch: u32) -> bool {
    all().all(|memory| memory.is_out(epoch))
}

/// Forgets which threads have rings: in a forked child they are threads of its parent.
#[cold]
pub(crate) fn forget_owners() {
    all().for_each(|memory| memory.owner.store(core::ptr::null_mut(), Ordering::Relaxed));
}

/// Removes a thread from the memory whose ring it has, or last had: its block will soon be unmapped.
pub(crate) fn disown(local: &ThreadLocal) {
    Public::disown(local);
}

impl Public {
    /// The public part of the memory whose ring a thread has, or last had.
    pub(super) fn of(local: &ThreadLocal) -> Option<&'static Public> {
        // SAFETY: null, or the address of a memory, which is that of its state.
        unsafe { public(local.state().cast()) }
    }

    /// Removes a thread from its memory, if it is still named there: its block will soon be unmapped.
    pub(super) fn disown(local: &ThreadLocal) {
        let Some(memory) = Public::of(local) else { return };
        let owner = core::ptr::from_ref(local).cast_mut();
        let null = core::ptr::null_mut();
        let _ = memory.owner.compare_exchange(owner, null, Ordering::Release, Ordering::Relaxed);
    }

    fn is_out(&self, epoch: u32) -> bool {
        let owner = self.owner.load(Ordering::Acquire);
        if owner.is_null() {
            return true;
        }
        // The block begins with the thread's epoch and its `busy` word.
        let is_out = match sys::copy_words(sys::process_id(), owner.addr() as u64) {
            Ok([word]) => {
                let (of_thread, busy) = (word as u32, (word >> 32) as u32);
                busy == 0 || of_thread != epoch || !sys::is_alive(self.tid.load(Ordering::Relaxed))
            }
            // The thread ended unnoticed.
            Err(error) => error == rustix::io::Errno::FAULT,
        };
        if is_out {
            // The thread must claim a ring anew before it can be in a hook again.
            let null = core::ptr::null_mut();
            let _ = self.owner.compare_exchange(owner, null, Ordering::Relaxed, Ordering::Relaxed);
        }
        is_out
    }
}
