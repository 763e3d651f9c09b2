//! Sizes and offsets of a session's memory.
//!
//! Everything is sized for the worst case and mapped once: memory that is never touched costs nothing, and no hook
//! ever needs a system call to get more, except to open the next piece. With the defaults:
//!
//! | part | entries | bytes at most |
//! |---|---|---|
//! | header | 1 | 4 KiB |
//! | process slots | 1,024 × 256 B | 256 KiB |
//! | ring directory | 4,096 × 256 B | 1 MiB |
//! | module log | | 16 MiB |
//! | pc table | 2²² × 16 B | 64 MiB |
//! | pc index, all levels | 2²⁴ × 4 B | 64 MiB |
//! | stack table | 2²⁴ × 8 B | 128 MiB |
//! | stack table index, all levels | 2²⁶ × 4 B | 256 MiB |
//! | rings | 4,096 × 1 MiB | 4 GiB |

/// Page size: every part begins on a page. 64 KiB also serves kernels with large pages.
const PAGE: usize = 1 << 16;
/// Bytes of one entry of the ring directory.
pub const DIRECTORY_ENTRY: usize = 256;
/// Bytes of one process slot.
pub const PROCESS_SLOT: usize = 256;
/// Bytes between two tails in the control memory.
pub const TAIL_STRIDE: usize = 128;
/// The smallest index level has 2^this slots.
pub const FIRST_LEVEL: u32 = 12;

/// The size of each part. Sizes are powers of two, given as logarithms, so that a hostile one cannot overflow
/// anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// log₂ of the number of rings.
    pub rings: u32,
    /// log₂ of the words of one ring.
    pub ring_words: u32,
    /// log₂ of the number of stack nodes.
    pub nodes: u32,
    /// log₂ of the number of code addresses.
    pub pcs: u32,
    /// log₂ of the number of process slots.
    pub slots: u32,
    /// log₂ of the bytes of the module log.
    pub module_bytes: u32,
}

impl Default for Geometry {
    fn default() -> Self {
        Self { rings: 12, ring_words: 17, nodes: 24, pcs: 22, slots: 10, module_bytes: 24 }
    }
}

/// A part of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes from the start of the segment.
    pub offset: usize,
    /// Bytes.
    pub length: usize,
}

/// Where all parts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Counters and identification.
    pub header: Part,
    /// Process slots.
    pub slots: Part,
    /// Heads and owners of the rings.
    pub directory: Part,
    /// Descriptions of modules.
    pub modules: Part,
    /// Code addresses.
    pub pcs: Part,
    /// Index of `pcs`.
    pub pc_index: Part,
    /// Stack nodes.
    pub nodes: Part,
    /// Index of `nodes`.
    pub node_index: Part,
    /// The rings' words.
    pub rings: Part,
    /// Size of the whole segment in bytes.
    pub length: usize,
    /// Size of the control memory in bytes.
    pub control_length: usize,
}

impl Geometry {
    /// True when this crate can work with every size: the check of what the other side sent.
    pub fn is_sound(&self) -> bool {
        (0..=16).contains(&self.rings)
            && (6..=27).contains(&self.ring_words)
            && (8..=28).contains(&self.nodes)
            && (8..=26).contains(&self.pcs)
            && (0..=16).contains(&self.slots)
            && (12..=28).contains(&self.module_bytes)
            && self.rings + self.ring_words <= 34
    }

    /// The same with rings of at least `bytes` bytes, and fewer of them when that is needed to stay within the bound.
    pub fn with_ring_bytes(self, bytes: usize) -> Self {
        let words = (bytes / 8).clamp(1 << 9, 1 << 27).next_power_of_two();
        let ring_words = words.trailing_zeros();
        let rings = self.rings.min(32 - ring_words);
        Self { rings, ring_words, ..self }
    }

    /// A smaller geometry for a process whose address space is limited to `bytes`: at most a sixteenth of it.
    pub fn within(self, bytes: u64) -> Self {
        let mut geometry = self;
        while geometry.layout().length as u64 > bytes / 16 && geometry.rings > 5 {
            geometry.rings -= 1;
            geometry.nodes = geometry.nodes.saturating_sub(1).max(14);
            geometry.pcs = geometry.pcs.saturating_sub(1).max(13);
            geometry.ring_words = geometry.ring_words.saturating_sub(1).max(12);
            geometry.module_bytes = geometry.module_bytes.saturating_sub(1).max(18);
        }
        geometry
    }

    /// Where all parts lie.
    pub fn layout(&self) -> Layout {
        let mut end = 0;
        let mut part = |length: usize| {
            let offset = end;
            end += length.next_multiple_of(PAGE);
            Part { offset, length }
        };
        let header = part(4096);
        let slots = part((1 << self.slots) * PROCESS_SLOT);
        let directory = part((1 << self.rings) * DIRECTORY_ENTRY);
        let modules = part(1 << self.module_bytes);
        let pcs = part((1 << self.pcs) * 16);
        let pc_index = part(index_slots(self.pcs) * 4);
        let nodes = part((1 << self.nodes) * 8);
        let node_index = part(index_slots(self.nodes) * 4);
        let rings = part((1 << (self.rings + self.ring_words)) * 8);
        let control_length = (4096 + (1 << self.rings) * TAIL_STRIDE).next_multiple_of(PAGE);
        Layout {
            header,
            slots,
            directory,
            modules,
            pcs,
            pc_index,
            nodes,
            node_index,
            rings,
            length: end,
            control_length,
        }
    }

    /// Words of one ring.
    pub fn ring_length(&self) -> usize {
        1 << self.ring_words
    }

    /// The pages that contain a ring, whatever their size. Small rings share pages.
    pub fn ring_pages(&self, ring: usize) -> Part {
        let bytes = self.ring_length() * 8;
        let start = ring * bytes / PAGE * PAGE;
        Part {
            offset: self.layout().rings.offset + start,
            length: ((ring + 1) * bytes).next_multiple_of(PAGE) - start,
        }
    }

    /// Number of rings.
    pub fn ring_count(&self) -> usize {
        1 << self.rings
    }

    /// Number of process slots.
    pub fn slot_count(&self) -> usize {
        1 << self.slots
    }

    /// The words that the handshake carries.
    pub fn to_words(&self) -> [u32; 6] {
        [self.rings, self.ring_words, self.nodes, self.pcs, self.slots, self.module_bytes]
    }

    /// From the words of the handshake; `None` when it is not sound.
    pub fn from_words(words: [u32; 6]) -> Option<Self> {
        let [rings, ring_words, nodes, pcs, slots, module_bytes] = words;
        let geometry = Self { rings, ring_words, nodes, pcs, slots, module_bytes };
        geometry.is_sound().then_some(geometry)
    }
}

/// Slots of all levels of an index over 2^`entries` entries: the last level has twice as many slots as entries, so
/// that it is never more than half full, and all levels before it together have as many as the last.
pub fn index_slots(entries: u32) -> usize {
    let last = last_level_log2(entries);
    (1usize << (last + 1)) - (1usize << FIRST_LEVEL)
}

/// log₂ of the slots of the last level.
#[inline]
pub(crate) fn last_level_log2(entries: u32) -> u32 {
    (entries + 1).max(FIRST_LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the table in the module's documentation matches the layout.
    #[test]
    fn default_layout_is_as_documented() {
        let layout = Geometry::default().layout();
        assert_eq!(layout.slots.length, 256 << 10);
        assert_eq!(layout.directory.length, 1 << 20);
        assert_eq!(layout.modules.length, 16 << 20);
        assert_eq!(layout.pcs.length, 64 << 20);
        assert_eq!(layout.nodes.length, 128 << 20);
        assert_eq!(layout.rings.length, 4 << 30);
        assert!(layout.node_index.length <= 256 << 20);
    }

    /// Check that parts neither overlap nor leave the segment, for a range of sound geometries.
    #[test]
    fn parts_do_not_overlap() {
        for rings in [0, 5, 12, 16] {
            for ring_words in [6, 12, 17] {
                for tables in [8, 13, 20] {
                    let geometry = Geometry {
                        rings,
                        ring_words,
                        nodes: tables,
                        pcs: tables,
                        slots: 4,
                        module_bytes: 14,
                    };
                    assert!(geometry.is_sound());
                    let layout = geometry.layout();
                    let parts = [
                        layout.header,
                        layout.slots,
                        layout.directory,
                        layout.modules,
                        layout.pcs,
                        layout.pc_index,
                        layout.nodes,
                        layout.node_index,
                        layout.rings,
                    ];
                    for pair in parts.windows(2) {
                        assert!(pair[0].offset + pair[0].length <= pair[1].offset);
                    }
                    assert!(layout.rings.offset + layout.rings.length <= layout.length);
                }
            }
        }
    }

    /// Check that a ring is opened by whole pages, also on machines with large ones, and that nothing beyond the
    /// rings is.
    #[test]
    fn rings_lie_in_pages() {
        for ring_words in [6, 9, 12, 13, 17] {
            let geometry = Geometry { rings: 5, ring_words, ..Geometry::default() };
            let Layout { rings, length: all, .. } = geometry.layout();
            for ring in 0..geometry.ring_count() {
                let Part { offset, length } = geometry.ring_pages(ring);
                let (start, bytes) =
                    (rings.offset + ring * geometry.ring_length() * 8, geometry.ring_length() * 8);
                assert!(offset.is_multiple_of(PAGE) && length.is_multiple_of(PAGE), "{ring} of {ring_words}");
                assert!(offset <= start && start + bytes <= offset + length, "{ring} of {ring_words}");
                assert!(offset >= rings.offset && offset + length <= all, "{ring} of {ring_words}");
                assert!(length < bytes + PAGE, "{ring} of {ring_words}");
            }
        }
    }

    /// Check that a process with little address space gets a small segment.
    #[test]
    fn limited_address_space_shrinks_the_segment() {
        let small = Geometry::default().within(2 << 30);
        assert!(small.is_sound());
        assert!(small.layout().length <= (2 << 30) / 16, "{:?}", small.layout());
        assert_eq!(Geometry::default().within(u64::MAX), Geometry::default());
    }

    /// Check that an impossible geometry from the other side is refused.
    #[test]
    fn unsound_geometry_is_refused() {
        assert_eq!(Geometry::from_words([40, 17, 24, 22, 10, 24]), None);
        assert_eq!(Geometry::from_words([12, 60, 24, 22, 10, 24]), None);
        let words = Geometry::default().to_words();
        assert_eq!(Geometry::from_words(words), Some(Geometry::default()));
    }

    /// Check that a requested ring size is met and that the total stays bounded.
    #[test]
    fn ring_size_is_a_power_of_two_within_the_bound() {
        let geometry = Geometry::default().with_ring_bytes(100_000);
        assert_eq!(geometry.ring_length() * 8, 128 << 10);
        let huge = Geometry::default().with_ring_bytes(1 << 30);
        assert!(huge.is_sound());
        assert_eq!(huge.ring_length() * 8, 1 << 30);
    }
}
