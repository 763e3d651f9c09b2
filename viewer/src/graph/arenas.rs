//! The heaps of glibc's arenas, as they are found in memory.
//!
//! glibc maps the memory of threads' arenas by itself, so no event tells of it. But each heap begins at a multiple of its greatest size,
//! with the address of its arena, which lies right behind the header of the first heap of that:
//!
//! ```text
//!  64 MiB × n   │ arena, … │ arena │ blocks and free chunks  │ not yet used: no access │
//!                  └────────►
//!  64 MiB × m   │ arena, … │ blocks and free chunks  │
//!                  └──► behind the header at 64 MiB × n
//! ```

/// `HEAP_MAX_SIZE` of 64-bit systems.
const LARGEST: u64 = 64 << 20;
/// Bytes of the header before the arena: before glibc 2.35, and since then.
const HEADERS: [u64; 2] = [0x20, 0x30];

/// Where heaps begin, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arenas {
    heaps: Vec<u64>,
}

impl Arenas {
    /// Looks at a pointer, of those of a scan one after the other.
    #[inline]
    pub(crate) fn note(&mut self, from: u64, to: u64) {
        if from.is_multiple_of(LARGEST) && HEADERS.contains(&(to % LARGEST)) {
            self.heaps.push(from);
        }
    }

    /// True of an address in a heap. It ends where the memory does that can be written, which the caller knows.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.heaps.binary_search(&(address - address % LARGEST)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that heaps are found by the address at their beginning, of the arena's first heap and of later ones, and by no other.
    #[test]
    fn heaps_are_found_by_their_beginning() {
        let mut arenas = Arenas::default();
        for (from, to) in [
            (4 * LARGEST, 4 * LARGEST + 0x30),
            (5 * LARGEST, 5 * LARGEST + 0x40),
            (6 * LARGEST, 4 * LARGEST + 0x30),
            (7 * LARGEST + 8, 7 * LARGEST + 0x30),
            (8 * LARGEST, 8 * LARGEST + 0x20),
        ] {
            arenas.note(from, to);
        }
        let is_in =
            |heap: u64| arenas.contains(heap * LARGEST) && arenas.contains(heap * LARGEST + LARGEST - 1);
        assert_eq!((0..10).filter(|heap| is_in(*heap)).collect::<Vec<_>>(), [4, 6, 8]);
    }
}
