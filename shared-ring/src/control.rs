//! The words that only the collector writes. Agents map them read-only.

use crate::geometry::Geometry;
use crate::geometry::TAIL_STRIDE;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};

/// First word of the control memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mpCTL\0\0\x01");
/// Bytes before the first tail.
pub const HEADER_BYTES: usize = 4096;
/// Largest mean distance between samples, in bytes: 1 TiB.
pub const MAX_SAMPLE_INTERVAL: u64 = 1 << 40;
/// Set by the kernel in [`ControlHeader::owner`] when the collector died.
pub const OWNER_DIED: u32 = 0x4000_0000;

/// State and policy of the recording.
#[repr(C)]
#[derive(Debug)]
pub struct ControlHeader {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// 1 while recording, 0 when it is over.
    pub recording: AtomicU32,
    /// Robust futex of the collector: its thread id, or [`OWNER_DIED`].
    pub owner: AtomicU32,
    /// 1: threads wait on a full ring, 0: they lose events.
    pub block: AtomicU32,
    /// Longest wait on a full ring, milliseconds.
    pub max_wait_ms: AtomicU32,
    /// Most frames of a stack.
    pub max_depth: AtomicU32,
    /// 1: children are recorded.
    pub follow: AtomicU32,
    /// 1: time is the time stamp counter, 0: nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub tsc: AtomicU32,
    /// Not 0 while the collector sleeps and wants to be woken, see [`crate::wakeup`].
    pub asleep: AtomicU32,
    /// Mean distance between samples in bytes of allocations, 0: every allocation is recorded.
    pub sample_interval: AtomicU64,
    /// 1: processes begin paused, and record when the program says so.
    pub paused: AtomicU32,
    /// 1: a process that is about to exit waits until the collector has looked at its memory, see
    /// [`crate::process_slot::ProcessSlot::parting`].
    pub scan_at_exit: AtomicU32,
    /// 1: frees are recorded with their stacks.
    pub free_stacks: AtomicU32,
    /// 1: frames of interpreters are not read.
    pub no_interpreters: AtomicU32,
}

const _: () = assert!(size_of::<ControlHeader>() == 64);

#[cfg(not(loom))]
impl ControlHeader {
    /// The header when there is no recording.
    pub const fn silent() -> Self {
        Self {
            magic: AtomicU64::new(0),
            recording: AtomicU32::new(0),
            owner: AtomicU32::new(0),
            block: AtomicU32::new(0),
            max_wait_ms: AtomicU32::new(0),
            max_depth: AtomicU32::new(0),
            follow: AtomicU32::new(0),
            tsc: AtomicU32::new(1),
            asleep: AtomicU32::new(0),
            sample_interval: AtomicU64::new(0),
            paused: AtomicU32::new(0),
            scan_at_exit: AtomicU32::new(0),
            free_stacks: AtomicU32::new(0),
            no_interpreters: AtomicU32::new(0),
        }
    }
}

/// Mapped control memory. Copying it copies the view.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    base: *mut u8,
    rings: usize,
}

// SAFETY: all access goes through atomics in memory that is shared anyway.
unsafe impl Send for Control {}
// SAFETY: as above.
unsafe impl Sync for Control {}

impl Control {
    /// A view of the control memory at `base`.
    ///
    /// # Safety
    /// `base` is page aligned, and `geometry.layout().control_length` bytes from there stay mapped and readable as
    /// long as the view or anything from it is in use; and writable for those who store.
    pub unsafe fn new(base: *mut u8, geometry: Geometry) -> Self {
        Self { base, rings: geometry.ring_count() }
    }

    /// State and policy.
    #[inline(always)]
    pub fn header(&self) -> &'static ControlHeader {
        // SAFETY: `new` demands that the memory is mapped and larger than the header.
        unsafe { &*self.base.cast::<ControlHeader>() }
    }

    /// Tail of a ring. A ring that is out of range gets the last one: wrong, but harmless.
    pub fn tail(&self, ring: usize) -> &'static AtomicU64 {
        // SAFETY: the index is clamped to the rings that the memory has room for.
        unsafe { tail(self.base, ring.min(self.rings - 1)) }
    }

    /// True while events are wanted.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        // Relaxed: a late look costs one event more or less.
        self.header().recording.load(Ordering::Relaxed) == 1
    }

    /// Mean distance between samples in bytes, at most [`MAX_SAMPLE_INTERVAL`]; 0 when every allocation is recorded.
    pub fn sample_interval(&self) -> u64 {
        // Relaxed: set before the memory is handed over, and never changed.
        self.header().sample_interval.load(Ordering::Relaxed).min(MAX_SAMPLE_INTERVAL)
    }

    /// True when the collector is gone without having said so.
    pub fn owner_died(&self) -> bool {
        self.header().owner.load(Ordering::Relaxed) & OWNER_DIED != 0
    }
}

/// The tail of a ring, in the control memory at `control`.
///
/// # Safety
/// `control` is the start of a mapped control memory with at least `ring + 1` tails, as in [`Segment::new`](crate::Segment::new).
unsafe fn tail(control: *mut u8, ring: usize) -> &'static AtomicU64 {
    let place = control.wrapping_add(HEADER_BYTES + ring * TAIL_STRIDE);
    // SAFETY: the caller vouches for the mapping; the stride keeps the place aligned.
    unsafe { &*place.cast::<AtomicU64>() }
}
