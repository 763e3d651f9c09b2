//! The process' part in a recording: its session, its slot, and the page by which a forked child notices that it is
//! one.
//!
//! ```text
//!  uninitialized ──first hook or constructor──► starting ──no socket, refused──► dormant ◄──all threads out── leaving
//!                                            │                           │      ▲                        ▲
//!                                            │          the doorbell rings      refused                  │
//!                                            │                           ▼      │                        │
//!                                            │                           answering                       │
//!                                            └──accepted──► connected ◄──accepted──┘                     │
//!                                                               └──over, or the collector is gone────────┘
//! ```
//!
//! On every call, each thread compares one word with the value it knows: the process' *epoch*. While the process is
//! connected, that word lies in a page of its own; otherwise it is the doorbell's generation, so that the same
//! comparison notices a ring. How a process joins and leaves is described in [`crate::session`].
//!
//! All of this is private memory, so fork copies it; only the *page* is zeroed in the child (`MADV_WIPEONFORK`). So
//! the first hook of a child, however it was forked (`fork`, `_Fork`, raw `clone`), takes the slow path, claims a
//! process slot of the inherited segment, and gives the process a new epoch: no system call, no descriptor, no
//! socket. A child that was forked while a thread of its parent was starting or answering finds that state with a
//! zeroed page, and goes back one step.

#[expect(unsafe_code, reason = "makes parts of the segment accessible")]
pub(crate) mod accessible;
#[deny(unsafe_code)]
pub(crate) mod clock;
#[expect(unsafe_code, reason = "owns the memory of the filter")]
pub(crate) mod filter;
#[deny(unsafe_code)]
pub(crate) mod pause;
#[deny(unsafe_code)]
mod slots;
#[expect(unsafe_code, reason = "calls a function through a pointer")]
pub(crate) mod wrappers;

pub(crate) use shared_ring::process_slot::Loss;
pub(crate) use slots::{
    call, count_own_allocation, follows_forks, is_followed, is_forsaken, is_itself, lose, next_fork, slot,
    slot_index, slot_to_part_at,
};

use crate::platform::thread_local::ThreadLocal;
use crate::platform::{invalidations, sys};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use shared_ring::control::ControlHeader;
use shared_ring::doorbell::GENERATION;
use shared_ring::wakeup::Wakeup;
use shared_ring::{Control, Segment};

/// The page that fork wipes.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Page {
    /// 0 until the process has a slot.
    pub(crate) epoch: AtomicU32,
    pub(crate) slot: AtomicU32,
    /// Not 0 while a thread claims the slot.
    pub(crate) joining: AtomicU32,
    /// Number of threads that have had a ring so far.
    threads: AtomicU32,
    /// 1 when what is known about threads concerns this process; 0 when it still concerns the one that forked it.
    pub(crate) is_known: AtomicU32,
    /// Not 0 while a thread looks at all others.
    pub(crate) looking: AtomicU32,
}

/// The page; null until the process first wants to connect. Never unmapped.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// The epoch of a process that has done nothing yet. No thread ever has it.
static NO_EPOCH: AtomicU32 = AtomicU32::new(0);
/// The word that all threads compare: in the page, or the doorbell's.
static EPOCH: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NO_EPOCH).cast_mut());

pub(crate) const UNBORN: u32 = 0;
pub(crate) const STARTING: u32 = 1;
pub(crate) const DORMANT: u32 = 2;
pub(crate) const CONNECTED: u32 = 3;
pub(crate) const LEAVING: u32 = 4;
pub(crate) const ANSWERING: u32 = 5;
static STATE: AtomicU32 = AtomicU32::new(UNBORN);

/// The word that a process compares which is not connected: the doorbell's, or one that never changes.
static AT_REST: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const SILENT_DOORBELL).cast_mut());
/// The word of a process without a doorbell.
static SILENT_DOORBELL: AtomicU32 = AtomicU32::new(GENERATION);

/// The epoch for the next process to join. Copied by fork, so a child's epoch is its parent's plus one.
static NEXT_EPOCH: AtomicU32 = AtomicU32::new(1);
/// The first epoch of the present session: that of the process which connected.
static FIRST_EPOCH: AtomicU32 = AtomicU32::new(1);

/// The mapped session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// Rings and tables.
    pub(crate) segment: Segment,
    /// The collector's words.
    pub(crate) control: Control,
}

impl Session {
    /// What wakes its collector.
    pub(crate) fn wakeup(&self) -> Wakeup<'static> {
        Wakeup {
            asleep: &self.control.header().asleep,
            count: &self.segment.header().wakeups,
            wake: sys::wake,
        }
    }
}

struct Place(UnsafeCell<MaybeUninit<Session>>);

// SAFETY: written by the thread that moved STATE to STARTING or ANSWERING, before CONNECTED is published, and read
// only while STATE is CONNECTED or LEAVING: nobody reads while it is written.
unsafe impl Sync for Place {}

static SESSION: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
/// Takes the place of the collector's words before a session and after it.
static SILENCE: ControlHeader = ControlHeader::silent();
static CONTROL: AtomicPtr<ControlHeader> = AtomicPtr::new((&raw const SILENCE).cast_mut());
/// The word by which hooks see whether events are wanted: the collector's, or, while the program itself wants nothing
/// recorded, one that is always zero.
static WANTED: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const SILENCE.recording).cast_mut());

#[inline(always)]
pub(crate) fn page() -> Option<&'static Page> {
    // Acquire pairs with the Release store in `begin`.
    let page = PAGE.load(Ordering::Acquire);
    // SAFETY: null, or a page that is never unmapped.
    unsafe { page.as_ref() }
}

/// The epoch of this process, which every thread compares with its own.
#[inline(always)]
pub(crate) fn epoch() -> u32 {
    // SAFETY: a static, or a word of a page that is never unmapped.
    unsafe { &*EPOCH.load(Ordering::Relaxed) }.load(Ordering::Relaxed)
}

/// The epoch that this process has in its session.
pub(crate) fn epoch_in_session() -> u32 {
    page().map_or(0, |page| page.epoch.load(Ordering::Relaxed))
}

#[inline(always)]
pub(crate) fn control() -> &'static ControlHeader {
    // SAFETY: a static, or the header of a range that stays readable for the life of the process, see `reservation`.
    unsafe { &*CONTROL.load(Ordering::Relaxed) }
}

/// True while events are wanted from this process.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    // SAFETY: a word of a static, or of a range that stays readable for the life of the process.
    unsafe { &*WANTED.load(Ordering::Relaxed) }.load(Ordering::Relaxed) == 1
}

/// True while the recording goes on, even if the program itself wants nothing recorded at the moment.
pub(crate) fn is_recorded() -> bool {
    control().recording.load(Ordering::Relaxed) == 1
}

/// From here on hooks see that nothing is wanted.
#[cold]
pub(crate) fn silence() {
    // Relaxed here and in `listen`: a late look costs one event more or less, and threads that the program has
    // synchronized with this one see it.
    WANTED.store((&raw const SILENCE.recording).cast_mut(), Ordering::Relaxed);
    crate::process::filter::pause();
}

/// From here on hooks see what the collector wants.
#[cold]
pub(crate) fn listen() {
    crate::process::filter::resume();
    // Blocks that were given back meanwhile were not noticed.
    invalidations::note_unmapping();
    WANTED.store((&raw const control().recording).cast_mut(), Ordering::Relaxed);
    if matches!(STATE.load(Ordering::Acquire), LEAVING | DORMANT) {
        // Another thread has just left.
        silence();
    }
}

/// True when times are those of the time stamp counter.
#[inline(always)]
pub(crate) fn uses_tsc() -> bool {
    control().tsc.load(Ordering::Relaxed) == 1
}

/// True when frees are recorded with their stacks.
pub(crate) fn has_free_stacks() -> bool {
    // Relaxed: set before the memory is handed over, and never changed.
    control().free_stacks.load(Ordering::Relaxed) == 1
}

/// True when a recording wants frames of interpreters.
pub(crate) fn wants_interpreters(session: &Session) -> bool {
    // Relaxed: set before the memory is handed over, and never changed.
    session.control.header().no_interpreters.load(Ordering::Relaxed) == 0
}

/// The recording's session; `None` while there is none.
#[inline(always)]
pub(crate) fn session() -> Option<Session> {
    session_in(CONNECTED)
}

/// The session that was left, while its memory is still mapped.
pub(crate) fn left_session() -> Option<Session> {
    session_in(LEAVING)
}

#[inline(always)]
fn session_in(state: u32) -> Option<Session> {
    // Acquire pairs with the Release stores of STATE.
    if STATE.load(Ordering::Acquire) != state {
        return None;
    }
    // SAFETY: the session was written before these states were published. It is written again only by a thread that
    // has seen all others outside of their hooks.
    Some(unsafe { SESSION.0.get().cast::<Session>().read() })
}

/// The recording did not choose this process.
static IS_NOT_CHOSEN: AtomicBool = AtomicBool::new(false);

/// Notes that the recording did not choose this process; it may choose processes that this one starts.
#[cold]
pub(crate) fn note_not_chosen() {
    IS_NOT_CHOSEN.store(true, Ordering::Relaxed);
}

/// True when the recording did not choose this process.
pub(crate) fn is_not_chosen() -> bool {
    IS_NOT_CHOSEN.load(Ordering::Relaxed)
}

/// Where the process stands, see the picture above.
pub(crate) fn state() -> u32 {
    STATE.load(Ordering::Acquire)
}

/// Moves the process on; false when another thread was first.
#[cold]
pub(crate) fn move_on(from: u32, to: u32) -> bool {
    // AcqRel: only one thread does what follows; the others see that it is being done.
    STATE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Moves the process on, by the only thread that may.
#[cold]
pub(crate) fn settle_in(state: u32) {
    // Release pairs with the Acquire loads.
    STATE.store(state, Ordering::Release);
}

/// From now on, a process that is not connected compares this word.
#[cold]
pub(crate) fn rest_at(word: &'static AtomicU32) {
    // Release pairs with the Acquire load in `turn_away`.
    AT_REST.store(core::ptr::from_ref(word).cast_mut(), Ordering::Release);
}

/// True once it is certain that this process is not recorded, until the doorbell rings.
pub(crate) fn is_dormant() -> bool {
    STATE.load(Ordering::Relaxed) == DORMANT
}

/// True while events of this process are wanted, or while that is not decided yet.
pub(crate) fn is_wanted() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNBORN => true,
        CONNECTED => is_recording(),
        _ => false,
    }
}

/// The same for what is reported even while the program itself wants nothing recorded.
pub(crate) fn may_tell() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNBORN => true,
        CONNECTED => is_recorded(),
        _ => false,
    }
}

/// Prepares for hooks of a session, which cannot enter it yet.
#[cold]
pub(crate) fn prepare(session: Session, page: &Page) {
    FIRST_EPOCH.store(NEXT_EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
    // SAFETY: only this thread is in STARTING or ANSWERING, and nobody reads before CONNECTED.
    unsafe { SESSION.0.get().cast::<Session>().write(session) };
    for word in [&page.epoch, &page.threads, &page.joining] {
        word.store(0, Ordering::Relaxed);
    }
    CONTROL.store(core::ptr::from_ref(session.control.header()).cast_mut(), Ordering::Relaxed);
}

/// Lets hooks enter the session.
#[cold]
pub(crate) fn open(page: &'static Page) {
    // No thread has this epoch yet, whatever it did before, so each will find out what has changed.
    EPOCH.store((&raw const page.epoch).cast_mut(), Ordering::Relaxed);
    // Last: a thread that gets in must find that its epoch is the process'.
    settle_in(CONNECTED);
}

/// True in a process that was forked from the one that connected.
pub(crate) fn is_child() -> bool {
    NEXT_EPOCH.load(Ordering::Relaxed) > FIRST_EPOCH.load(Ordering::Relaxed)
}

/// Maps the page that fork wipes, once.
pub(crate) fn map_page() -> bool {
    if page().is_none() {
        let page = sys::map_wiped_on_fork(size_of::<Page>()).cast::<Page>();
        // Release pairs with the Acquire load in `page`. If two threads map one, the second has mapped its page for
        // nothing.
        let null = core::ptr::null_mut();
        let _ = PAGE.compare_exchange(null, page, Ordering::Release, Ordering::Relaxed);
    }
    page().is_some()
}

/// Nothing is recorded from now on, until somebody rings.
#[cold]
pub(crate) fn rest() {
    turn_away();
    settle_in(DORMANT);
}

/// Lets no hook enter a session any more: from now on threads compare their epoch with the doorbell's word.
pub(crate) fn turn_away() {
    filter::refuse();
    CONTROL.store((&raw const SILENCE).cast_mut(), Ordering::Relaxed);
    silence();
    // Relaxed: `departure` issues the fence before it looks at the threads.
    EPOCH.store(AT_REST.load(Ordering::Acquire), Ordering::Relaxed);
}

/// Leaves the recording: it is over, or its collector is gone, or this process is not to be recorded. May be called
/// within a hook, which goes on in the memory that it has.
#[cold]
pub(crate) fn leave() {
    if move_on(CONNECTED, LEAVING) {
        turn_away();
    }
}

/// True when the thread has found that nothing is recorded and no thread is still waited for, and the process was not
/// called since: the thread's calls may go straight to the next allocator. Always false if that allocator may call
/// hooks of ours.
// Cost: two compares, of a byte and a word of the thread's.
#[inline(always)]
pub(crate) fn is_at_rest(local: &ThreadLocal) -> bool {
    local.is_at_rest() && !has_news(local)
}

/// True when something has changed since the thread last called [`crate::session::answer::catch_up`], which it has to do again.
#[inline(always)]
pub(crate) fn has_news(local: &ThreadLocal) -> bool {
    !local.has_seen(epoch())
}

/// An epoch that no thread has, and that is no generation of a doorbell.
pub(crate) fn next_epoch() -> u32 {
    (NEXT_EPOCH.fetch_add(1, Ordering::Relaxed) & (GENERATION - 1)).max(1)
}

/// Counts a thread that has got a ring, before its first event, and returns the counter: while it is 1, there are no
/// events that another thread's could depend on, and so none needs a fence.
#[cold]
pub(crate) fn count_thread() -> &'static AtomicU32 {
    // There is a page: a thread gets its ring after the process got its slot.
    let threads = page().map_or(&NO_EPOCH, |page| &page.threads);
    // Relaxed here and where it is read: a thread that has seen anything done after this has seen this, since x86-64
    // keeps the order of loads. Elsewhere time is the kernel's clock, which does not ask for this count.
    threads.fetch_add(1, Ordering::Relaxed);
    threads
}
