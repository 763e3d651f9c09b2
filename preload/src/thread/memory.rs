//! The memory of rings' states, and who has it.
//!
//! It is mapped at the first use of a ring by this process, stays for the life of the process, and goes with the ring from
//! thread to thread.

use super::{ThreadState, missed};
use crate::modules;
use crate::provider::{MOST_FRAMES, ScriptFrame};
use crate::sys;
use crate::thread_local::ThreadLocal;
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use unwind::{Memos, RuleTable, Scratch};

/// What is mapped for one state. The first part is the owner's alone; of the second there are shared references only.
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
    /// The generation of modules that the rules are of.
    generation: u32,
    scratch: MaybeUninit<Scratch>,
    /// Never touched, and so no memory, where there is no stack provider.
    script_frames: [ScriptFrame; MOST_FRAMES],
}

/// What others read, too, and what a thread looks at while its state is in use.
#[repr(C)]
pub(super) struct Public {
    /// Block of the thread that has the ring, null while none has: where it stands is read there by others.
    pub(super) owner: AtomicPtr<ThreadLocal>,
    /// Its id.
    tid: AtomicU32,
    /// Frames that the memos behind have room for; written before the memory is published.
    depth: u32,
    /// The owner's and its children's of vfork.
    pub(super) missed: missed::Notes,
}

const _: () = assert!(offset_of!(Memory, own) == 0 && offset_of!(Own, state) == 0);

/// Memory by ring, null until the ring is first used by this process. Copied by fork: a child finds its parent's
/// memory there and writes its own state over it.
static STATES: AtomicPtr<AtomicPtr<Memory>> = AtomicPtr::new(core::ptr::null_mut());
/// Most rings of any session.
const RINGS: usize = 1 << 16;
/// One more than the highest ring that ever had a memory.
static RINGS_USED: AtomicUsize = AtomicUsize::new(0);

/// The places of all memories, null while there are none.
fn places() -> Option<&'static [AtomicPtr<Memory>]> {
    let states = STATES.load(Ordering::Acquire);
    if states.is_null() {
        return None;
    }
    // SAFETY: there are so many pointers, mapped for the life of the process; zeroed memory is null.
    Some(unsafe { core::slice::from_raw_parts(states, RINGS) })
}

/// The memory for a ring's state, with room for stacks of so many frames, mapped if need be; null if it cannot be.
pub(super) fn of_ring(ring: usize, depth: usize) -> *mut Memory {
    const BYTES: usize = RINGS * size_of::<AtomicPtr<Memory>>();
    if places().is_none() {
        let states = sys::map_private(BYTES).cast();
        // AcqRel: whoever comes second takes the first one's.
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
        // Release pairs with the Acquire load in `all`. One for lower stacks, of another session, is left behind:
        // a thread that has not ended yet may still name it.
        place.store(fresh, Ordering::Release);
    }
    fresh
}

/// What a ring's memory is for its next owner.
pub(super) struct Parts {
    /// The place of its state.
    pub(super) state: &'static mut MaybeUninit<ThreadState>,
    /// Where it is to be named, once it can be waited for.
    pub(super) owner: &'static AtomicPtr<ThreadLocal>,
    pub(super) tables: Tables,
}

/// What a thread takes stacks with.
pub(super) struct Tables {
    pub(super) rules: &'static mut RuleTable,
    pub(super) scratch: &'static mut MaybeUninit<Scratch>,
    pub(super) memos: Memos<'static>,
    pub(super) script_frames: &'static mut [ScriptFrame],
    /// The generation of modules that the rules are of.
    pub(super) generation: u32,
    /// Unmappings up to which the rest is true.
    pub(super) unmappings: u32,
}

/// The parts of a memory, for another thread, of this id, and stacks of so many frames.
///
/// # Safety
/// It was given by [`of_ring`] for as many frames, and the caller has claimed the ring.
pub(super) unsafe fn parts(memory: *mut Memory, tid: u32, depth: usize) -> Parts {
    let behind = memory.wrapping_add(1).cast::<u8>();
    // SAFETY: mapped, zeroed at first, aligned for the type, and the caller's alone.
    let Own { state, rules, generation, scratch, script_frames } = unsafe { &mut (*memory).own };
    // SAFETY: mapped likewise, and everybody has shared references to it.
    let Public { owner, tid: owner_id, depth: room, missed } = unsafe { &(*memory).public };
    // Relaxed, both: the id is published with the next owner. The last one may have ended without a word.
    owner.store(core::ptr::null_mut(), Ordering::Relaxed);
    owner_id.store(tid, Ordering::Relaxed);
    missed.clear();
    // First: what is unmapped or unloaded after this look makes the rest void.
    let unmappings = modules::unmappings();
    let now = modules::generation();
    if core::mem::replace(generation, now) == now {
        // Rules of an earlier owner are still right, but its pc ids may be those of another session's table.
        rules.clear_tags();
    } else {
        rules.clear();
    }
    // SAFETY: so many bytes are mapped behind the struct, zeroed at first, aligned by the struct's own alignment, and the state is
    // their only user.
    let memos = unsafe { Memos::from_raw(behind, *room as usize) }.up_to(depth);
    let tables = Tables { rules, scratch, memos, script_frames, generation: now, unmappings };
    Parts { state, owner, tables }
}

/// What everybody may look at of a memory; `None` of none.
///
/// # Safety
/// It is null, or was published by [`of_ring`].
unsafe fn public(memory: *mut Memory) -> Option<&'static Public> {
    // SAFETY: not null, so mapped for the life of the process; of this part there are shared references only.
    (!memory.is_null()).then(|| unsafe { &(*memory).public })
}

fn all() -> impl Iterator<Item = &'static Public> {
    let places = places().unwrap_or(&[]);
    places.iter().take(RINGS_USED.load(Ordering::Relaxed)).filter_map(|place| {
        // SAFETY: null, or published.
        unsafe { public(place.load(Ordering::Acquire)) }
    })
}

/// True when no thread that ever had a ring is in a hook of the session in which this process had `epoch`. All fences
/// were made before.
#[cold]
pub(crate) fn are_out(epoch: u32) -> bool {
    all().all(|memory| memory.is_out(epoch))
}

/// Forgets who has rings: in a child of fork they are threads of its parent.
#[cold]
pub(crate) fn forget_owners() {
    all().for_each(|memory| memory.owner.store(core::ptr::null_mut(), Ordering::Relaxed));
}

impl Public {
    /// That of the ring which a thread has, or had last.
    pub(super) fn of(local: &ThreadLocal) -> Option<&'static Public> {
        // SAFETY: null, or the address of a memory, which its state's is.
        unsafe { public(local.state().cast()) }
    }

    /// Takes a thread's name out of its memory, if it is still there: its block is about to be gone.
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
        // The block begins with the thread's epoch and whether it is in a hook.
        let is_out = match sys::copy_words(sys::process_id(), owner.addr() as u64) {
            Ok([word]) => {
                let (of_thread, busy) = (word as u32, (word >> 32) as u32);
                busy == 0 || of_thread != epoch || !sys::is_alive(self.tid.load(Ordering::Relaxed))
            }
            // It ended without a word.
            Err(error) => error == rustix::io::Errno::FAULT,
        };
        if is_out {
            // It has to claim a ring anew before it can be in again.
            let null = core::ptr::null_mut();
            let _ = self.owner.compare_exchange(owner, null, Ordering::Relaxed, Ordering::Relaxed);
        }
        is_out
    }
}
