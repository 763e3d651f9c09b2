//! The words of a mapped stack, read in place.

use crate::memory::Memory;
use core::ops::Range;

/// The words of one readable range of this process, such as the current thread's stack.
#[derive(Clone, Debug)]
pub struct StackMemory {
    start: u64,
    /// Number of byte positions in the range at which a whole word begins.
    starts: u64,
}

impl StackMemory {
    /// The words of `range`.
    ///
    /// # Safety
    ///
    /// Every byte of `range` stays mapped and readable for as long as the value is used.
    #[inline]
    pub const unsafe fn new(range: Range<u64>) -> Self {
        let length = range.end.saturating_sub(range.start);
        Self { start: range.start, starts: length.saturating_sub(7) }
    }
}

impl Memory for StackMemory {
    #[inline(always)]
    fn read(&mut self, address: u64) -> Option<u64> {
        if address.wrapping_sub(self.start) >= self.starts || !address.is_multiple_of(8) {
            return None;
        }
        // Volatile, because the word belongs to some frame's locals, and the compiler knows nothing of this read.
        // SAFETY: the address is aligned and its eight bytes lie in the range that `new` was promised is readable.
        Some(unsafe { core::ptr::read_volatile(address as *const u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::StackMemory;
    use crate::Memory;

    /// Check that whole aligned words inside the range are read and nothing else is.
    #[test]
    fn reads_stop_at_the_bounds() {
        let words = [11u64, 22, 33];
        let start = words.as_ptr() as u64;
        // SAFETY: the range is the local array.
        let mut memory = unsafe { StackMemory::new(start..start + 24) };
        for (offset, expected) in [
            (0, Some(11)),
            (8, Some(22)),
            (16, Some(33)),
            (24, None),
            (17, None),
            (-8, None),
            (4, None),
            (i64::MIN, None),
        ] {
            assert_eq!(memory.read(start.wrapping_add_signed(offset)), expected, "offset {offset}");
        }
    }

    /// Check that a range that is shorter than a word, or reversed, has nothing to read.
    #[test]
    fn short_ranges_are_empty() {
        let words = [1u64, 2];
        let start = words.as_ptr() as u64;
        for end in [start, start + 7, start - 8] {
            // SAFETY: the range lies in the local array or is empty.
            let mut memory = unsafe { StackMemory::new(start..end) };
            assert_eq!(memory.read(start), None, "end {end:#x}");
        }
    }
}
