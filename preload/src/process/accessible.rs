//! Which parts of the segment this process has committed: the segment is mapped without access, and made accessible
//! where it is used.
//!
//! ```text
//!  segment   │ pcs ░░░░░░│ index ░░│ nodes ░░░│ index ░│ modules ░│ rings  ░ ░░░ │
//!              ███▒▒       █▒        █████      █        ██           █     █       █ used, ▒ committed ahead
//! ```

use crate::platform::sys;
use crate::process::{Session, leave, session};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shared_ring::Segment;
use shared_ring::geometry::{FIRST_LEVEL, Part};
use shared_ring::intern::Commit;
use shared_ring::module_log::Described;
use shared_ring::pc_table::PcTable;
use shared_ring::stack_table::StackTable;

/// How much of a part of the segment this process has made accessible.
#[derive(Debug)]
struct Extent {
    bytes: AtomicUsize,
}

/// Parts are committed in steps of this size.
const STEP: usize = 1 << 20;

impl Extent {
    const fn new() -> Self {
        Self { bytes: AtomicUsize::new(0) }
    }

    /// False when so much cannot be made accessible.
    #[inline(always)]
    fn commit(&self, segment: &Segment, part: Part, bytes: usize) -> bool {
        // Relaxed: it counts only what is certainly accessible, and `mprotect` by two threads at once is harmless.
        bytes <= self.bytes.load(Ordering::Relaxed) || self.commit_more(segment, part, bytes)
    }

    #[cold]
    #[inline(never)]
    fn commit_more(&self, segment: &Segment, part: Part, bytes: usize) -> bool {
        let from = self.bytes.load(Ordering::Relaxed);
        let to = bytes.next_multiple_of(STEP).min(part.length.next_multiple_of(1 << 16));
        if to <= from {
            return bytes <= from;
        }
        let start = segment.base().wrapping_add(part.offset + from);
        // SAFETY: the range lies in the part, which lies in our mapping.
        if unsafe { sys::open(start.cast(), to - from) } {
            self.bytes.fetch_max(to, Ordering::Relaxed);
            true
        } else {
            // Without memory nothing can be recorded.
            leave();
            false
        }
    }
}

static PCS: Extent = Extent::new();
static PC_INDEX: Extent = Extent::new();
static NODES: Extent = Extent::new();
static NODE_INDEX: Extent = Extent::new();
static MODULES: Extent = Extent::new();
/// All rings are accessible, too.
static HAS_ALL: AtomicBool = AtomicBool::new(false);

/// Marks everything as inaccessible, for a new segment.
pub(crate) fn begin() {
    for extent in [&PCS, &PC_INDEX, &NODES, &NODE_INDEX, &MODULES] {
        extent.bytes.store(0, Ordering::Relaxed);
    }
    HAS_ALL.store(false, Ordering::Relaxed);
}

/// Makes the whole segment accessible, because that will not be allowed later.
#[cold]
pub(crate) fn commit_all() {
    let Some(session) = session() else { return };
    let layout = session.segment.layout();
    let start = session.segment.base().cast();
    // SAFETY: the whole of our mapping.
    if unsafe { sys::open(start, layout.length) } {
        let parts = [
            (&PCS, layout.pcs),
            (&PC_INDEX, layout.pc_index),
            (&NODES, layout.nodes),
            (&NODE_INDEX, layout.node_index),
            (&MODULES, layout.modules),
        ];
        for (extent, part) in parts {
            extent.bytes.fetch_max(part.length, Ordering::Relaxed);
        }
        HAS_ALL.store(true, Ordering::Relaxed);
    }
}

/// What is committed of one table: its entries of `W` words, and its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableCommit<const W: usize> {
    segment: Segment,
    entries: &'static Extent,
    index: &'static Extent,
    entries_part: Part,
    index_part: Part,
}

impl<const W: usize> Commit for TableCommit<W> {
    #[inline(always)]
    fn commit(&self, entries: u32, level: u32) -> bool {
        let slots = (2usize << (FIRST_LEVEL + level)) - (1 << FIRST_LEVEL);
        self.entries.commit(&self.segment, self.entries_part, entries as usize * W * 8)
            && self.index.commit(&self.segment, self.index_part, slots * 4)
    }

    fn committed(&self) -> u32 {
        u32::try_from(self.entries.bytes.load(Ordering::Relaxed) / (W * 8)).unwrap_or(u32::MAX)
    }
}

impl Session {
    /// The pc table.
    pub(crate) fn pcs(&self) -> PcTable<'static, TableCommit<2>> {
        let layout = self.segment.layout();
        self.segment.pcs(TableCommit {
            segment: self.segment,
            entries: &PCS,
            index: &PC_INDEX,
            entries_part: layout.pcs,
            index_part: layout.pc_index,
        })
    }

    /// The stack table.
    pub(crate) fn stack_table(&self) -> StackTable<'static, TableCommit<1>> {
        let layout = self.segment.layout();
        self.segment.stack_table(TableCommit {
            segment: self.segment,
            entries: &NODES,
            index: &NODE_INDEX,
            entries_part: layout.nodes,
            index_part: layout.node_index,
        })
    }

    /// Appends a description to the module log and returns its serial; 0 when the log is full.
    pub(crate) fn describe(&self, described: Described<'_>) -> u32 {
        let part = self.segment.layout().modules;
        self.segment
            .modules()
            .append(described, |words| MODULES.commit(&self.segment, part, words * 8))
            .unwrap_or(0)
    }

    /// Makes a ring's words accessible in this process.
    pub(crate) fn commit_ring(&self, ring: usize) -> bool {
        if HAS_ALL.load(Ordering::Relaxed) {
            return true;
        }
        let Part { offset, length } = self.segment.geometry().ring_pages(ring);
        // SAFETY: the ring lies in the rings' part of our mapping; committing more than asked for is harmless.
        unsafe { sys::open(self.segment.base().wrapping_add(offset).cast(), length) }
    }
}
