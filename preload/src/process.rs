//! The process' part in a recording: its session, its slot, and the page by which a forked child notices that it is
//! one.
//!
//! ```text
//!  unborn ──first hook or constructor──► starting ──no socket, refused──► dormant ◄──all threads out── leaving
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
//! comparison notices a ring. How a process leaves is described in [`crate::session::departure`].
//!
//! All of this is private memory, so fork copies it; only the *page* is zeroed in the child (`MADV_WIPEONFORK`). So
//! the first hook of a child, however it was forked (`fork`, `_Fork`, raw `clone`), takes the slow path, claims a
//! process slot of the inherited segment, and gives the process a new epoch: no system call, no descriptor, no
//! socket. A child that was forked while a thread of its parent was starting or answering finds that state with a
//! zeroed page, and goes back one step.

#[deny(unsafe_code)]
pub(crate) mod clock;
#[expect(unsafe_code, reason = "owns the memory of the filter")]
pub(crate) mod filter;
#[expect(unsafe_code, reason = "makes parts of the segment accessible")]
pub(crate) mod pieces;
#[deny(unsafe_code)]
mod slots;

pub(crate) use shared_ring::process_slot::Loss;
pub(crate) use slots::{
    count_own_allocation, follows_forks, is_followed, is_forsaken, is_itself, lose, next_fork, ring, slot,
    slot_index, slot_to_part_at,
};

use crate::modules;
use crate::next::allocator::{Allocator, Library};
use crate::platform::thread_local::ThreadLocal;
use crate::platform::{arch, changes, config, sys};
use crate::record::lifecycle;
use crate::redirect::linked;
use crate::session::{connect, departure, doorbell, reservation};
use crate::thread::sampler;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use shared_ring::bell::Bell;
use shared_ring::control::ControlHeader;
use shared_ring::doorbell::GENERATION;
use shared_ring::handshake::Purpose;
use shared_ring::{Control, Segment};

/// The page that fork wipes.
#[repr(C)]
#[derive(Debug)]
struct Page {
    /// 0 until the process has a slot.
    epoch: AtomicU32,
    slot: AtomicU32,
    /// Not 0 while a thread claims the slot.
    joining: AtomicU32,
    /// Number of threads that have had a ring so far.
    threads: AtomicU32,
    /// 1 when what is known about threads concerns this process; 0 when it still concerns the one that forked it.
    is_known: AtomicU32,
    /// Not 0 while a thread looks at all others.
    looking: AtomicU32,
}

/// The page; null until the process first wants to connect. Never unmapped.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// The epoch of a process that has done nothing yet. No thread ever has it.
static NO_EPOCH: AtomicU32 = AtomicU32::new(0);
/// The word that all threads compare: in the page, or the doorbell's.
static EPOCH: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NO_EPOCH).cast_mut());

const UNBORN: u32 = 0;
const STARTING: u32 = 1;
const DORMANT: u32 = 2;
const CONNECTED: u32 = 3;
const LEAVING: u32 = 4;
const ANSWERING: u32 = 5;
static STATE: AtomicU32 = AtomicU32::new(UNBORN);

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
    /// The bell that wakes its collector.
    pub(crate) fn bell(&self) -> Bell<'static> {
        Bell { asleep: &self.control.header().asleep, rung: &self.segment.header().bell, wake: sys::wake }
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
fn page() -> Option<&'static Page> {
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
fn control() -> &'static ControlHeader {
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
    changes::note_unmapping();
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
pub(crate) fn traces_frees() -> bool {
    // Relaxed: set before the memory is handed over, and never changed.
    control().free_stacks.load(Ordering::Relaxed) == 1
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
static IS_ASIDE: AtomicBool = AtomicBool::new(false);

/// Notes that the recording did not choose this process; it may choose processes that this one starts.
#[cold]
pub(crate) fn stay_aside() {
    IS_ASIDE.store(true, Ordering::Relaxed);
}

/// True when the recording did not choose this process.
pub(crate) fn is_aside() -> bool {
    IS_ASIDE.load(Ordering::Relaxed)
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

/// Makes this process part of the recording if it is not yet: connects, or claims a slot after a fork. True when the
/// process has an epoch.
#[cold]
pub(crate) fn join() -> bool {
    if STATE.load(Ordering::Relaxed) == UNBORN && lifecycle::is_ready() {
        start();
    }
    let (Some(session), Some(page)) = (session(), page()) else { return false };
    if page.epoch.load(Ordering::Acquire) != 0 {
        return true;
    }
    slots::claim(session, page)
}

/// Looks for the doorbell, and connects to the collector that the environment names. Runs once.
#[cold]
fn start() {
    let is_able = !config::is_disabled()
        && lifecycle::is_supported()
        && lifecycle::is_first_copy()
        && page_for_session();
    if let Some(page) = page() {
        // Before the state: otherwise a thread that sees STARTING would take this process for a forked child of one
        // that is starting.
        page.is_known.store(1, Ordering::Relaxed);
    }
    // AcqRel: only one thread starts; the others see STARTING and continue unrecorded for that moment.
    if STATE.compare_exchange(UNBORN, STARTING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    if !is_able {
        return rest();
    }
    doorbell::find();
    let socket = config::read();
    if (socket.is_some() || doorbell::is_there()) && lifecycle::prepare() {
        sampler::seed();
        linked::lead();
        return begin(socket.and_then(|socket| connect::connect(socket, Purpose::Start)));
    }
    rest();
}

/// Puts a process to rest that has no doorbell to be called by, see [`hear_in`].
#[cold]
pub(crate) fn begin_deaf() {
    let is_able = page_for_session();
    if let Some(page) = page() {
        page.is_known.store(1, Ordering::Relaxed);
    }
    // AcqRel: as in `start`.
    if is_able && STATE.compare_exchange(UNBORN, STARTING, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        rest();
    }
}

/// Begins a session, or rests when there is none. Only one thread is in STARTING or ANSWERING.
#[cold]
fn begin(session: Option<Session>) {
    let session = session.filter(|session| {
        crate::platform::needs::learn();
        let is_begun = modules::start() && sampler::start(session);
        if !is_begun {
            reservation::void(&session.segment.geometry());
        }
        is_begun
    });
    let (Some(session), Some(page)) = (session, page()) else { return rest() };
    pieces::begin();
    FIRST_EPOCH.store(NEXT_EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
    // SAFETY: only this thread is in this state, and nobody reads before CONNECTED.
    unsafe { SESSION.0.get().cast::<Session>().write(session) };
    for word in [&page.epoch, &page.threads, &page.joining] {
        word.store(0, Ordering::Relaxed);
    }
    CONTROL.store(core::ptr::from_ref(session.control.header()).cast_mut(), Ordering::Relaxed);
    // Claimed now; otherwise the first calls of several threads would find each other claiming it.
    if !slots::claim(session, page) {
        return rest();
    }
    crate::record::pause::begin(session.control.header().paused.load(Ordering::Relaxed) != 0);
    // No thread has this epoch yet, whatever it did before, so each will find out what has changed.
    EPOCH.store((&raw const page.epoch).cast_mut(), Ordering::Relaxed);
    // Release pairs with the Acquire load in `session`. Last: a thread that gets in must find that its epoch is the
    // process'.
    STATE.store(CONNECTED, Ordering::Release);
}

/// Maps the page that fork wipes, once.
fn page_for_session() -> bool {
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
    STATE.store(DORMANT, Ordering::Release);
}

/// Makes a resting process listen to a doorbell: the one that it has found, or finds now, or else the one in
/// `folder`. False when there is none, or the process wants none.
#[cold]
pub(crate) fn hear_in(folder: &[u8]) -> bool {
    if doorbell::is_there() || config::is_disabled() || STATE.load(Ordering::Acquire) != DORMANT {
        return doorbell::is_there();
    }
    doorbell::find();
    let is_found = (doorbell::is_there() || doorbell::find_in(folder)) && lifecycle::prepare();
    turn_away();
    is_found
}

/// Lets no hook enter a session any more: from now on threads compare their epoch with the doorbell's word.
pub(crate) fn turn_away() {
    filter::refuse();
    CONTROL.store((&raw const SILENCE).cast_mut(), Ordering::Relaxed);
    silence();
    // Relaxed: `departure` issues the fence before it looks at the threads.
    EPOCH.store(core::ptr::from_ref(doorbell::word()).cast_mut(), Ordering::Relaxed);
}

/// Leaves the recording: it is over, or its collector is gone, or this process is not to be recorded. May be called
/// within a hook, which goes on in the memory that it has.
#[cold]
pub(crate) fn leave() {
    // AcqRel: only one thread leaves.
    if STATE.compare_exchange(CONNECTED, LEAVING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    turn_away();
}

/// Takes a forked child out of the recording. It was forked in a signal handler that had interrupted a hook of its
/// parent; when the handler returns, that hook goes on in the child and would write into the parent's ring.
#[cold]
pub(crate) fn part() {
    let Some(session) = session() else { return };
    // Relaxed: a count, read at the end.
    session.segment.header().refused.fetch_add(1, Ordering::Relaxed);
    // If this fails, the parent's ring is given up as corrupt, which is reported.
    let _ = crate::platform::sys::map_private_over(
        session.segment.base().cast(),
        session.segment.layout().length,
    );
    leave();
}

/// Leaves a recording that is over, without waiting for a hook to notice. False while threads are still in its
/// memory.
#[cold]
pub(crate) fn withdraw() -> bool {
    if STATE.load(Ordering::Acquire) == CONNECTED && !is_recorded() {
        leave();
    }
    STATE.load(Ordering::Acquire) != LEAVING || departure::settle()
}

/// True when the thread has found that nothing is recorded and no thread is still waited for, and the process was not
/// called since: the thread's calls may go straight to the next allocator. Always false if that allocator may call
/// hooks of ours.
// Cost: two compares, of a byte and a word of the thread's.
#[inline(always)]
pub(crate) fn is_at_rest(local: &ThreadLocal) -> bool {
    local.is_at_rest() && !has_news(local)
}

/// True when something has changed since the thread last called [`hear`], which it has to do again.
#[inline(always)]
pub(crate) fn has_news(local: &ThreadLocal) -> bool {
    !local.has_heard(epoch())
}

/// Finds out for a thread, which is in no hook of a session, what has changed since it last did. True when its calls
/// are to be recorded from now on.
#[cold]
#[inline(never)]
pub(crate) fn hear(local: &ThreadLocal) -> bool {
    if local.is_busy() || local.is_in_vfork() || local.is_within_allocator(arch::stack_pointer()) {
        return false;
    }
    if STATE.load(Ordering::Acquire) == CONNECTED && !is_recorded() {
        leave();
    }
    // Loaded before the looks that it stands for: a later change is noticed later.
    let epoch = epoch();
    match STATE.load(Ordering::Acquire) {
        LEAVING | DORMANT => {
            if !answer() {
                let is_settled = departure::settle();
                let bytes = if is_settled { sampler::UNRECORDED } else { departure::until_next_look() };
                local.hear(epoch);
                local.rest(is_settled && Library::is_plain(), bytes);
                return false;
            }
            // The epoch of the session that has just begun.
            local.hear(self::epoch());
        }
        CONNECTED => local.hear(epoch),
        _ => {
            recover(connect::forget_held);
            return false;
        }
    }
    // False while the program itself wants nothing recorded.
    is_recording()
}

/// Connects to the collector that has called this process since it last looked; true when that began a session.
#[cold]
fn answer() -> bool {
    if crate::platform::needs::is_confined() {
        return false;
    }
    let Some(socket) = doorbell::take_call() else { return false };
    // A handler could leave this by `longjmp`, and would break off the exchange.
    sys::without_signals(|| answer_at(socket))
}

fn answer_at(socket: &[u8]) -> bool {
    if !departure::settle() {
        connect::tell_busy(socket);
        return false;
    }
    if !page_for_session() {
        return false;
    }
    begin_alone_after_fork(0);
    // AcqRel: as in `start`.
    if STATE.compare_exchange(DORMANT, ANSWERING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return false;
    }
    begin(connect::connect(socket, Purpose::Called));
    crate::record::pause::tell();
    STATE.load(Ordering::Relaxed) == CONNECTED
}

/// In a child that was forked while a thread of its parent was starting or answering, goes back to the state before
/// that, since that thread does not exist here. `tidy` releases what the thread held.
#[cold]
pub(crate) fn recover(tidy: impl FnOnce()) {
    let before = match STATE.load(Ordering::Acquire) {
        STARTING => UNBORN,
        ANSWERING => DORMANT,
        _ => return,
    };
    // In the parent itself, its own page says that it is known.
    let is_child = page().is_some_and(|page| page.is_known.load(Ordering::Relaxed) == 0);
    if is_child && forget_parent(0) {
        tidy();
        reservation::take_away();
        turn_away();
        // Release: as all stores of STATE.
        STATE.store(before, Ordering::Release);
    }
}

/// Claims the right to look at all other threads, until [`end_look`]; false while another thread of this process has
/// it.
#[cold]
pub(crate) fn begin_look() -> bool {
    // Acquire pairs with the Release store in `end_look`: only one thread looks at a time.
    page().is_some_and(|page| page.looking.swap(1, Ordering::Acquire) == 0)
}

/// Gives that right back.
#[cold]
pub(crate) fn end_look() {
    if let Some(page) = page() {
        page.looking.store(0, Ordering::Release);
    }
}

/// Number of threads that are entering a session: not yet in one of its hooks, but already using its memory.
static ARRIVALS: AtomicU32 = AtomicU32::new(0);

/// Counts the thread among those entering a session, until [`arrived`].
#[cold]
pub(crate) fn arrive() {
    // SeqCst: either a thread that leaves after this sees it, or we see that it has left.
    ARRIVALS.fetch_add(1, Ordering::SeqCst);
}

/// The thread is in a hook of the session, or was refused.
#[cold]
pub(crate) fn arrived() {
    // Release pairs with the Acquire load in `arrivals`.
    ARRIVALS.fetch_sub(1, Ordering::Release);
}

/// Number of threads that are entering a session.
pub(crate) fn arrivals() -> u32 {
    ARRIVALS.load(Ordering::Acquire)
}

/// In a forked child, forgets the threads that only its parent has; `arriving` of its own are entering a session.
/// Returns the epoch that the process had in its session.
#[cold]
pub(crate) fn begin_alone_after_fork(arriving: u32) -> u32 {
    forget_parent(arriving);
    epoch_in_session()
}

/// Forgets them; false when it was done before, or there is nothing to forget.
fn forget_parent(arriving: u32) -> bool {
    let is_new = page().is_some_and(|page| page.is_known.swap(1, Ordering::Relaxed) == 0);
    if is_new {
        ARRIVALS.store(arriving, Ordering::Relaxed);
        crate::thread::forget_owners();
        // A thread that does not exist here may have been writing its rules when they were copied.
        changes::note_unloading();
    }
    is_new
}

/// An epoch that no thread has, and that is no generation of a doorbell.
fn next_epoch() -> u32 {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that rules are stale in a forked child: other threads of its parent may have been writing them when they
    /// were copied.
    #[test]
    fn rules_of_a_parent_are_void_in_its_child() {
        assert!(page_for_session());
        // As fork leaves it.
        page().expect("mapped just now").is_known.store(0, Ordering::Relaxed);
        let before = changes::generation();
        begin_alone_after_fork(0);
        assert_ne!(changes::generation(), before);
    }
}
