//! Finds the heaps of glibc's arenas in memory.
//!
//! glibc maps the memory of threads' arenas itself, so no event reports it. But each heap begins at a multiple of the
//! maximum heap size, with the address of its arena, which lies right after the header of the arena's first heap:
//!
//! ```text
//!  64 MiB × n   │ arena, … │ arena │ blocks and free chunks  │ not yet used: no access │
//!                  └────────►
//!  64 MiB × m   │ arena, … │ blocks and free chunks  │
//!                  └──► after the header at 64 MiB × n
//! ```

/// `HEAP_MAX_SIZE` of 64-bit systems.
const LARGEST: u64 = 64 << 20;
/// Bytes of the header before the arena: before glibc 2.35, and since.
const HEADERS: [u64; 2] = [0x20, 0x30];

/// Start addresses of heaps, in order.
#[derive(Clone, Debug, Default)]
pub struct Arenas {
    heaps: Vec<u64>,
}

impl Arenas {
    /// Examines a pointer; all pointers of a scan are passed in turn.
    #[inline]
    pub fn note(&mut self, from: u64, to: u64) {
        if from.is_multiple_of(LARGEST) && HEADERS.contains(&(to % LARGEST)) {
            self.heaps.push(from);
        }
    }

    /// True for an address in a heap. A heap ends where writable memory does, which the caller knows.
    pub fn contains(&self, address: u64) -> bool {
        self.heaps.binary_search(&(address - address % LARGEST)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that heaps are found by the address at their beginning, both an arena's first heap and later ones, and
    /// nothing else.
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
