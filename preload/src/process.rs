//! The process' part in a recording: its session, its slot, and the page by which a child of fork notices itself.
//!
//! ```text
//!  unborn ──first hook or constructor──► starting ──no socket, refused──► dormant
//!                                           └──────accepted────────────► connected
//! ```
//!
//! All of this is private memory, so fork copies it; only the *page* is zeroed in the child (`MADV_WIPEONFORK`).
//! It holds the epoch that every thread compares with its own on every call, so the first hook of a child, however
//! it was forked (`fork`, `_Fork`, raw `clone`), takes the slow path, claims a process slot of the inherited segment
//! and gives itself a new epoch: no system call, no descriptor, no socket.

use crate::sys;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use shared_ring::control::ControlHeader;
use shared_ring::geometry::{FIRST_LEVEL, Part};
use shared_ring::intern::Pieces;
use shared_ring::pc_table::PcTable;
pub(crate) use shared_ring::process_slot::Loss;
use shared_ring::process_slot::ProcessSlot;
use shared_ring::stash::Stash;
use shared_ring::{Control, Segment};

/// What fork wipes.
#[repr(C)]
#[derive(Debug)]
struct Page {
    /// 0 until the process has a slot.
    epoch: AtomicU32,
    slot: AtomicU32,
    /// Not 0 while a thread claims the slot.
    joining: AtomicU32,
    /// Threads that have had a ring so far.
    threads: AtomicU32,
}

/// Stands for the page before there is one: no thread ever has its epoch.
static NO_PAGE: Page = Page {
    epoch: AtomicU32::new(0),
    slot: AtomicU32::new(0),
    joining: AtomicU32::new(0),
    threads: AtomicU32::new(0),
};
static PAGE: AtomicPtr<Page> = AtomicPtr::new((&raw const NO_PAGE).cast_mut());

const UNBORN: u32 = 0;
const STARTING: u32 = 1;
const DORMANT: u32 = 2;
const CONNECTED: u32 = 3;
static STATE: AtomicU32 = AtomicU32::new(UNBORN);

/// The epoch that the next process to join gets; copied by fork, so a child's is its parent's plus one.
static NEXT_EPOCH: AtomicU32 = AtomicU32::new(1);

/// The mapped session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// Rings and tables.
    pub(crate) segment: Segment,
    /// The collector's words.
    pub(crate) control: Control,
}

struct Place(UnsafeCell<MaybeUninit<Session>>);

// SAFETY: written once, by the thread that moved STATE from UNBORN to STARTING, before CONNECTED is published.
unsafe impl Sync for Place {}

static SESSION: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
/// Stands for the collector's words before there are any, and after.
static SILENCE: ControlHeader = ControlHeader::silent();
static CONTROL: AtomicPtr<ControlHeader> = AtomicPtr::new((&raw const SILENCE).cast_mut());
/// The word by which hooks see whether events are wanted: the collector's, but while the program itself wants nothing
/// recorded, one that is always zero.
static WANTED: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const SILENCE.recording).cast_mut());

#[inline(always)]
fn page() -> &'static Page {
    // SAFETY: the pointer is that of a static, or of a page that is never unmapped.
    unsafe { &*PAGE.load(Ordering::Relaxed) }
}

/// The epoch of this process, 0 while it takes no part.
#[inline(always)]
pub(crate) fn epoch() -> u32 {
    page().epoch.load(Ordering::Relaxed)
}

#[inline(always)]
fn control() -> &'static ControlHeader {
    // SAFETY: a static, or the header of a mapping that stays for the life of the process.
    unsafe { &*CONTROL.load(Ordering::Relaxed) }
}

/// True while events are wanted from this process.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    // SAFETY: a word of a static, or of a mapping that stays for the life of the process.
    unsafe { &*WANTED.load(Ordering::Relaxed) }.load(Ordering::Relaxed) == 1
}

/// True while the recording goes on, even if the program itself wants nothing recorded at this moment.
pub(crate) fn is_recorded() -> bool {
    control().recording.load(Ordering::Relaxed) == 1
}

/// From here on hooks see that nothing is wanted.
#[cold]
pub(crate) fn silence() {
    // Relaxed here and in `listen`: a late look costs one event more or less, and threads that the program has ordered
    // after this see it.
    WANTED.store((&raw const SILENCE.recording).cast_mut(), Ordering::Relaxed);
    crate::filter::pause();
}

/// From here on hooks see what the collector wants.
#[cold]
pub(crate) fn listen() {
    crate::filter::resume();
    WANTED.store((&raw const control().recording).cast_mut(), Ordering::Relaxed);
    if STATE.load(Ordering::Acquire) == DORMANT {
        // Another thread has just retired.
        silence();
    }
}

/// True when times are those of the time stamp counter.
#[inline(always)]
pub(crate) fn uses_tsc() -> bool {
    control().tsc.load(Ordering::Relaxed) == 1
}

/// The recording's session; `None` while there is none.
#[inline(always)]
pub(crate) fn session() -> Option<Session> {
    // Acquire pairs with the Release store in `start`.
    if STATE.load(Ordering::Acquire) != CONNECTED {
        return None;
    }
    // SAFETY: CONNECTED is stored after the session was written, and nothing writes it again.
    Some(unsafe { SESSION.0.get().cast::<Session>().read() })
}

/// The recording did not choose this process.
static IS_ASIDE: AtomicBool = AtomicBool::new(false);

/// Notes that the recording did not choose this process; it may choose those that this one starts.
#[cold]
pub(crate) fn stay_aside() {
    IS_ASIDE.store(true, Ordering::Relaxed);
}

/// True when the recording did not choose this process.
pub(crate) fn is_aside() -> bool {
    IS_ASIDE.load(Ordering::Relaxed)
}

/// True once it is certain that this process is not recorded, and not going to be.
pub(crate) fn is_dormant() -> bool {
    STATE.load(Ordering::Relaxed) == DORMANT
}

/// False while this process is not recorded.
pub(crate) fn is_wanted() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNBORN => true,
        CONNECTED => is_recording(),
        _ => false,
    }
}

/// The same of what is told even while the program itself wants nothing recorded.
pub(crate) fn may_tell() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNBORN => true,
        CONNECTED => is_recorded(),
        _ => false,
    }
}

/// Makes this process part of the recording if it is not yet: connects, or claims a slot after fork. True when the
/// process has an epoch.
#[cold]
pub(crate) fn join() -> bool {
    if STATE.load(Ordering::Relaxed) == UNBORN && crate::lifecycle::is_ready() {
        start();
    }
    let Some(session) = session() else { return false };
    if page().epoch.load(Ordering::Acquire) != 0 {
        return true;
    }
    claim_slot(session)
}

/// Connects to the collector that the environment names, once.
#[cold]
pub(crate) fn start() {
    // AcqRel: only one thread starts; the others see STARTING and go on unrecorded for that moment.
    if STATE.compare_exchange(UNBORN, STARTING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let connected = crate::config::read().and_then(crate::connect::connect).filter(crate::sampler::start);
    let next = match (connected, sys::map_wiped_on_fork(size_of::<Page>())) {
        (Some(session), page) if !page.is_null() => {
            // SAFETY: only this thread is in STARTING, and nobody reads before CONNECTED.
            unsafe { SESSION.0.get().cast::<Session>().write(session) };
            CONTROL.store(core::ptr::from_ref(session.control.header()).cast_mut(), Ordering::Relaxed);
            PAGE.store(page.cast(), Ordering::Relaxed);
            if session.control.header().paused.load(Ordering::Relaxed) == 0 {
                listen();
            } else {
                crate::pause::begin();
            }
            CONNECTED
        }
        _ => DORMANT,
    };
    // Release pairs with the Acquire load in `session`.
    STATE.store(next, Ordering::Release);
    if next == CONNECTED {
        crate::lifecycle::register();
    } else {
        crate::filter::refuse();
    }
}

/// Stops taking part for good: the collector is gone, or this process is not to be recorded.
#[cold]
pub(crate) fn retire() {
    STATE.store(DORMANT, Ordering::Release);
    crate::filter::refuse();
    CONTROL.store((&raw const SILENCE).cast_mut(), Ordering::Relaxed);
    silence();
}

/// True in a process that was forked from the one that connected.
fn is_child() -> bool {
    NEXT_EPOCH.load(Ordering::Relaxed) > 1
}

#[cold]
fn claim_slot(session: Session) -> bool {
    let page = page();
    // Acquire: one thread claims; a second one that comes at the same moment loses its event, which is counted.
    if page.joining.swap(1, Ordering::Acquire) != 0 {
        return false;
    }
    let parent = is_child().then(|| PARENT_SLOT.load(Ordering::Relaxed));
    if parent.is_some() && !follows_forks() {
        retire();
        return false;
    }
    let pid = sys::process_id();
    let found = session.segment.slots().iter().position(|slot| slot.claim(pid, parent));
    let Some(index) = found else {
        retire();
        return false;
    };
    let slot = index as u32;
    session.segment.header().slots_used.fetch_max(slot + 1, Ordering::AcqRel);
    PARENT_SLOT.store(slot, Ordering::Relaxed);
    let parent_pid = PARENT_PID.swap(pid, Ordering::Relaxed);
    let fork = crate::arch::thread_local().fork.replace(0);
    if let Some(slot) = session.segment.slots().get(index) {
        // Relaxed: read by the collector after the first record of the process, which is published.
        slot.fork.store(u64::from(parent_pid) << 32 | u64::from(fork), Ordering::Relaxed);
    }
    page.slot.store(slot, Ordering::Relaxed);
    // Release pairs with the Acquire load in `join`: the slot is known before the epoch is.
    page.epoch.store(NEXT_EPOCH.fetch_add(1, Ordering::Relaxed), Ordering::Release);
    true
}

/// Forks that this process and its ancestors told of.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// True when the recording goes on in forked children.
pub(crate) fn follows_forks() -> bool {
    control().follow.load(Ordering::Relaxed) != 0
}

/// The number of the next fork, from 1.
#[cold]
pub(crate) fn next_fork() -> u32 {
    FORKS.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// Counts a thread that has got a ring, before its first event, and gives the count: while it is 1, there are no events
/// that another thread's could depend on.
#[cold]
pub(crate) fn count_thread() -> &'static AtomicU32 {
    let threads = &page().threads;
    // Relaxed here and where it is read: whoever has seen something that a thread did after this has seen this.
    threads.fetch_add(1, Ordering::Relaxed);
    threads
}

/// The slot of this process, as its forked children find it in their copy of our memory.
static PARENT_SLOT: AtomicU32 = AtomicU32::new(0);
/// Its pid, likewise.
static PARENT_PID: AtomicU32 = AtomicU32::new(0);

/// Index of this process' slot.
pub(crate) fn slot_index() -> u32 {
    page().slot.load(Ordering::Relaxed)
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

/// Counts an allocation that the agent made for itself: there should be none.
#[cold]
pub(crate) fn count_own_allocation() {
    if let Some(slot) = slot() {
        slot.agent_allocations.fetch_add(1, Ordering::Relaxed);
    }
}

/// How much of a part of the segment this process has made accessible.
#[derive(Debug)]
struct Opening {
    bytes: AtomicUsize,
}

/// Parts are opened in pieces of this size.
const PIECE: usize = 1 << 20;

impl Opening {
    const fn new() -> Self {
        Self { bytes: AtomicUsize::new(0) }
    }

    #[inline(always)]
    fn open(&self, segment: &Segment, part: Part, bytes: usize) {
        // Relaxed: the count is of what is certainly open, and mprotect by two threads at once does no harm.
        if bytes > self.bytes.load(Ordering::Relaxed) {
            self.open_more(segment, part, bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn open_more(&self, segment: &Segment, part: Part, bytes: usize) {
        let from = self.bytes.load(Ordering::Relaxed);
        let to = bytes.next_multiple_of(PIECE).min(part.length.next_multiple_of(1 << 16));
        let start = segment.base().wrapping_add(part.offset + from);
        // SAFETY: the range lies in the part, which lies in our mapping.
        if to > from && unsafe { sys::open(start.cast(), to - from) } {
            self.bytes.fetch_max(to, Ordering::Relaxed);
        } else if to > from {
            // Nothing can be recorded without memory.
            retire();
        }
    }
}

static PCS: Opening = Opening::new();
static PC_INDEX: Opening = Opening::new();
static NODES: Opening = Opening::new();
static NODE_INDEX: Opening = Opening::new();
static MODULES: Opening = Opening::new();

/// Opens the pieces of one table: its entries of `W` words, and its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePieces<const W: usize> {
    segment: Segment,
    entries: &'static Opening,
    index: &'static Opening,
    entries_part: Part,
    index_part: Part,
}

impl<const W: usize> Pieces for TablePieces<W> {
    #[inline(always)]
    fn open(&self, entries: u32, level: u32) {
        self.entries.open(&self.segment, self.entries_part, entries as usize * W * 8);
        let slots = (2usize << (FIRST_LEVEL + level)) - (1 << FIRST_LEVEL);
        self.index.open(&self.segment, self.index_part, slots * 4);
    }

    fn opened(&self) -> u32 {
        u32::try_from(self.entries.bytes.load(Ordering::Relaxed) / (W * 8)).unwrap_or(u32::MAX)
    }
}

impl Session {
    /// The pc table.
    pub(crate) fn pcs(&self) -> PcTable<'static, TablePieces<2>> {
        let layout = self.segment.layout();
        self.segment.pcs(TablePieces {
            segment: self.segment,
            entries: &PCS,
            index: &PC_INDEX,
            entries_part: layout.pcs,
            index_part: layout.pc_index,
        })
    }

    /// The stack stash.
    pub(crate) fn stash(&self) -> Stash<'static, TablePieces<1>> {
        let layout = self.segment.layout();
        self.segment.stash(TablePieces {
            segment: self.segment,
            entries: &NODES,
            index: &NODE_INDEX,
            entries_part: layout.nodes,
            index_part: layout.node_index,
        })
    }

    /// Appends a module's description; its serial, or 0 when the log is full.
    pub(crate) fn describe(&self, module: shared_ring::module_log::Module<'_>) -> u32 {
        let part = self.segment.layout().modules;
        self.segment
            .modules()
            .append(module, |words| MODULES.open(&self.segment, part, words * 8))
            .unwrap_or(0)
    }

    /// Makes a ring's words accessible in this process.
    pub(crate) fn open_ring(&self, ring: usize) -> bool {
        let bytes = self.segment.geometry().ring_length() * 8;
        let offset = self.segment.layout().rings.offset + ring * bytes;
        let start = self.segment.base().wrapping_add(offset);
        // SAFETY: the ring lies in the rings' part, which lies in our mapping; rings smaller than a page share one,
        // and opening more than asked for is harmless.
        unsafe { sys::open(start.map_addr(|address| address & !4095).cast(), bytes.next_multiple_of(4096)) }
    }
}
