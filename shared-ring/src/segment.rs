//! Typed access to the segment that agent and collector share.

use crate::geometry::{DIRECTORY_ENTRY, Geometry, Layout, Part};
use crate::intern::{Commit, InternTable};
use crate::module_log::ModuleLog;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::process_slot::ProcessSlot;
use crate::pseudo::FIRST_PC;
use crate::version::PROTOCOL_VERSION;
use crate::{pc_table::PcTable, stack_table::StackTable};
use crossbeam_utils::CachePadded;

/// First word of a segment.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mpSEG\0\0\x01");

/// Identification, and the counters of the tables.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`], written by the collector.
    pub magic: AtomicU64,
    /// [`PROTOCOL_VERSION`].
    pub version: AtomicU32,
    /// Upper bound of the rings that were ever claimed: no ring at or above this index has been used.
    pub rings_used: AtomicU32,
    next_pc: AtomicU32,
    pc_level: AtomicU32,
    next_node: AtomicU32,
    node_level: AtomicU32,
    next_module: AtomicU64,
    /// Upper bound of the slots that were ever claimed.
    pub slots_used: AtomicU32,
    /// Number of calls for the collector, which waits on this word, see [`crate::wakeup`].
    pub wakeups: AtomicU32,
    /// Forked processes that are not recorded, because they found no free slot or were forked within a hook.
    pub refused: AtomicU32,
}

const _: () = assert!(size_of::<Header>() == 56);

/// Owner and head of one ring, on lines of their own: the owner changes with threads, the head with events.
#[repr(C)]
#[derive(Debug)]
pub struct RingEntry {
    /// 0 = free; else the tid in the lower half, the process slot + 1 in the upper half.
    owner: CachePadded<AtomicU64>,
    /// The producer's words.
    pub front: CachePadded<Front>,
}

/// The producer's line of a ring.
#[repr(C)]
#[derive(Debug)]
pub struct Front {
    /// See [`crate::ring`].
    pub head: AtomicU64,
    /// Not 0 while the producer waits for room and wants to be woken. It may be overlooked, so the wait is bounded.
    pub waiting: AtomicU32,
}

const _: () = assert!(size_of::<RingEntry>() == DIRECTORY_ENTRY);

impl RingEntry {
    fn word(slot: u32, tid: u32) -> u64 {
        (u64::from(slot) + 1) << 32 | u64::from(tid)
    }

    /// Claims the ring if it is free.
    pub fn claim(&self, slot: u32, tid: u32) -> bool {
        if self.owner.load(Ordering::Relaxed) != 0 {
            return false;
        }
        let word = Self::word(slot, tid);
        // Acquire pairs with the Release store in `release`: the last owner's head is visible to us.
        self.owner.compare_exchange(0, word, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the ring over from the thread `gone`, for another thread of its process; false when another thread was
    /// first.
    pub fn take_over(&self, slot: u32, gone: u32, tid: u32) -> bool {
        let (before, after) = (Self::word(slot, gone), Self::word(slot, tid));
        // Acquire has no partner in the thread, which ended unnoticed: the kernel said so, after everything the
        // thread did. It keeps what follows after the exchange.
        self.owner.compare_exchange(before, after, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives the ring back.
    pub fn release(&self) {
        // Release pairs with the Acquire exchange in `claim`.
        self.owner.store(0, Ordering::Release);
    }

    /// Slot and tid of the owner; `None` when the ring is free.
    pub fn owner(&self) -> Option<(u32, u32)> {
        let word = self.owner.load(Ordering::Acquire);
        Some((((word >> 32) as u32).checked_sub(1)?, word as u32))
    }
}

/// A mapped segment. Copying it copies the view, not the memory.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    base: *mut u8,
    geometry: Geometry,
    layout: Layout,
}

// SAFETY: all access goes through atomics in memory that is shared anyway.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A view of the segment at `base`.
    ///
    /// # Safety
    /// `base` is page aligned, and `geometry.layout().length` bytes from there stay mapped as long as the view or
    /// anything from it is in use. Parts that are not accessible yet are touched only after the caller has committed
    /// them.
    pub unsafe fn new(base: *mut u8, geometry: Geometry) -> Self {
        Self { base, geometry, layout: geometry.layout() }
    }

    /// Where all parts lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Sizes.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Start of the memory.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    fn array<T>(&self, part: Part) -> &'static [T] {
        let count = part.length / size_of::<T>();
        // SAFETY: the part lies within the mapping, is page aligned, and T consists of atomics for which every bit
        // pattern is valid; `new` demands that the mapping outlives what is made from it.
        unsafe { core::slice::from_raw_parts(self.base.wrapping_add(part.offset).cast::<T>(), count) }
    }

    /// Writes the initial contents of a new segment. Only the collector calls this, before anyone else has the
    /// segment.
    pub fn initialize(&self) {
        let header = self.header();
        header.version.store(PROTOCOL_VERSION, Ordering::Relaxed);
        header.next_pc.store(FIRST_PC, Ordering::Relaxed);
        header.next_node.store(1, Ordering::Relaxed);
        header.next_module.store(u64::from(ModuleLog::FIRST), Ordering::Relaxed);
        // Release: a process that sees the magic number sees the rest; the handshake orders it anyway.
        header.magic.store(MAGIC, Ordering::Release);
    }

    /// True when this is a segment of our version.
    pub fn is_ours(&self) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Acquire) == MAGIC
            && header.version.load(Ordering::Relaxed) == PROTOCOL_VERSION
    }

    /// Identification and counters.
    #[inline(always)]
    pub fn header(&self) -> &'static Header {
        // SAFETY: as in `array`; the header part is larger than a Header.
        unsafe { &*self.base.cast::<Header>() }
    }

    /// Process slots.
    pub fn slots(&self) -> &'static [ProcessSlot] {
        self.array(self.layout.slots)
    }

    /// Owners and heads of the rings.
    pub fn directory(&self) -> &'static [RingEntry] {
        self.array(self.layout.directory)
    }

    /// Words of one ring; empty for a ring outside of the segment.
    pub fn ring(&self, ring: usize) -> &'static [AtomicU64] {
        let length = self.geometry.ring_length();
        let all: &'static [AtomicU64] = self.array(self.layout.rings);
        ring.checked_mul(length).and_then(|start| all.get(start..start + length)).unwrap_or(&[])
    }

    /// The pc table.
    #[inline(always)]
    pub fn pcs<P: Commit>(&self, memory: P) -> PcTable<'static, P> {
        let header = self.header();
        InternTable {
            entries: self.array(self.layout.pcs),
            index: self.array(self.layout.pc_index),
            next: &header.next_pc,
            level: &header.pc_level,
            memory,
        }
    }

    /// The stack table.
    #[inline(always)]
    pub fn stack_table<P: Commit>(&self, memory: P) -> StackTable<'static, P> {
        let header = self.header();
        InternTable {
            entries: self.array(self.layout.nodes),
            index: self.array(self.layout.node_index),
            next: &header.next_node,
            level: &header.node_level,
            memory,
        }
    }

    /// The module log.
    pub fn modules(&self) -> ModuleLog<'static> {
        ModuleLog { words: self.array(self.layout.modules), next: &self.header().next_module }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intern::{Batch, Committed};
    use crate::pc_table::Pc;
    use crate::stack_table::{Node, Path};

    /// A segment on the heap, zeroed and aligned as a mapping would be.
    fn with_segment(check: impl FnOnce(Segment)) {
        let geometry = Geometry { rings: 2, ring_words: 6, nodes: 10, pcs: 10, slots: 1, module_bytes: 12 };
        let layout = std::alloc::Layout::from_size_align(geometry.layout().length, 4096).unwrap();
        // SAFETY: the layout has a size.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        // SAFETY: the memory has the required size and alignment, and outlives `check`.
        let segment = unsafe { Segment::new(base, geometry) };
        segment.initialize();
        check(segment);
        // SAFETY: allocated above with the same layout.
        unsafe { std::alloc::dealloc(base, layout) };
    }

    /// Check that a stack can be rebuilt from its id, through nodes and pcs.
    #[test]
    fn stack_is_rebuilt_from_its_id() {
        with_segment(|segment| {
            assert!(segment.is_ours());
            let (mut pcs, mut nodes) = (Batch::default(), Batch::default());
            let main = segment.pcs(Committed).id(Pc { bits: 0x1000, module: 5 }, &mut pcs).unwrap();
            let leaf =
                segment.pcs(Committed).id(Pc { bits: 0x2000 | Pc::EXACT, module: 5 }, &mut pcs).unwrap();
            assert!(main >= FIRST_PC);
            let outer = segment.stack_table(Committed).extend(Path::ROOT, main, &mut nodes).unwrap();
            let inner = segment.stack_table(Committed).extend(outer, leaf, &mut nodes).unwrap();
            assert_eq!(
                segment.stack_table(Committed).extend(outer, leaf, &mut Batch::default()),
                Some(inner)
            );
            let node = segment.stack_table(Committed).node(inner.id).unwrap();
            assert_eq!(node, Node { parent: outer.id, pc: leaf });
            let pc = segment.pcs(Committed).pc(node.pc).unwrap();
            assert!(pc.is_exact() && pc.address() == 0x2000);
            assert_eq!(segment.stack_table(Committed).node(900), None);
            assert_eq!(segment.stack_table(Committed).node(u32::MAX), None);
        });
    }

    /// Check that every ring is claimed once, can be claimed again after its release, and is taken over only from its
    /// owner.
    #[test]
    fn ring_is_claimed_by_one() {
        with_segment(|segment| {
            let entry = &segment.directory()[3];
            assert!(entry.claim(0, 77));
            assert!(!entry.claim(0, 78));
            assert_eq!(entry.owner(), Some((0, 77)));
            entry.release();
            assert!(entry.claim(1, 78));
            assert!(!entry.take_over(0, 78, 79) && !entry.take_over(1, 77, 79) && entry.take_over(1, 78, 79));
            assert_eq!(entry.owner(), Some((1, 79)));
            assert_eq!(segment.ring(3).len(), 64);
            assert!(segment.ring(4).is_empty());
        });
    }
}
