//! Reads the memory of an interpreter without ever faulting.
//!
//! What an interpreter runs is kept alive by the stack that is read, so all of it can be read. But a program may have
//! overwritten any pointer in it, so the kernel is asked about each page before it is read for the first time, and
//! again whenever any pages may have gone: after each unmapping that a hook sees
//! ([`crate::platform::invalidations`]), and when the heap has become smaller. A part of an arena of libc's that has
//! become empty as a whole is the one thing that goes unnoticed. It holds nothing that is in use, so it takes a
//! pointer that was overwritten by an old one to get there.

use crate::modules::{arenas, c_library, mapped_blocks};
use crate::platform::{invalidations, sys};
use core::hint::black_box;

const PAGE: u64 = 4096;
const PLACES: usize = 256;

/// Pages that can be read. Zeroed memory knows none.
#[derive(Debug)]
pub(crate) struct KnownMemory {
    /// One page in each place, as its address; 0 for none.
    pages: [u64; PLACES],
    /// The number of unmappings for which they are known.
    unmappings: u32,
    /// The end of the heap, likewise.
    heap_end: u64,
}

impl KnownMemory {
    /// One that knows nothing.
    #[cfg(test)]
    pub(crate) const fn unknown() -> Self {
        Self { pages: [0; PLACES], unmappings: 0, heap_end: 0 }
    }

    /// Begins to read; false when everything was forgotten, so nothing of what was read before may be read in place.
    // Cost: two loads and compares.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> bool {
        let is_known = self.unmappings == invalidations::unmappings() && arenas::heap_end() >= self.heap_end;
        if !is_known {
            self.forget();
        }
        // With musl any page may have gone since.
        is_known && self.heap_end != 0
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self) {
        self.pages = [0; PLACES];
        // First: whatever is unmapped after this load invalidates what is learned from here on.
        self.unmappings = invalidations::unmappings();
        self.heap_end = if c_library::is_musl() { 0 } else { arenas::heap_end() };
    }

    /// The word at an address; `None` if it cannot be read, or is not aligned.
    #[inline(always)]
    pub(crate) fn word(&mut self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) || !self.is_readable(address) {
            return None;
        }
        // SAFETY: aligned, so within one page, which the kernel has said is readable and which has not gone since.
        Some(unsafe { core::ptr::read_volatile(address as *const u64) })
    }

    /// The words at these offsets of something, which most often lies in one page.
    #[inline(always)]
    pub(crate) fn words<const N: usize>(&mut self, base: u64, offsets: [u16; N]) -> Option<[u64; N]> {
        let last = base.checked_add(offsets.iter().copied().max().unwrap_or(0).into())?;
        let is_aligned = offsets.iter().fold(base, |all, offset| all | u64::from(*offset)).is_multiple_of(8);
        if !is_aligned || (base ^ last) >= PAGE || !self.is_readable(base) {
            return self.words_apart(base, offsets);
        }
        // SAFETY: aligned, and in the same page as `base` and `last`, which is as in `word`.
        let word =
            |offset: u16| unsafe { core::ptr::read_volatile(base.wrapping_add(offset.into()) as *const u64) };
        Some(offsets.map(word))
    }

    /// The same in several pages.
    #[cold]
    #[inline(never)]
    fn words_apart<const N: usize>(&mut self, base: u64, offsets: [u16; N]) -> Option<[u64; N]> {
        let mut words = [0; N];
        for (word, offset) in words.iter_mut().zip(offsets) {
            *word = self.word(base.checked_add(offset.into())?)?;
        }
        Some(words)
    }

    /// The 32-bit number at an address; `None` if it cannot be read, or is not aligned.
    pub(crate) fn number(&mut self, address: u64) -> Option<u32> {
        if !address.is_multiple_of(4) {
            return None;
        }
        let word = self.word(address & !7)?;
        Some(if address.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 })
    }

    /// The byte at an address.
    pub(crate) fn byte(&mut self, address: u64) -> Option<u8> {
        let word = self.word(address & !7)?;
        word.to_le_bytes().get((address % 8) as usize).copied()
    }

    /// Number of `words`, from the first on, that still have the values that were read since memory was last forgotten.
    // Cost: three loads for each, and a branch for eight.
    #[inline(never)]
    pub(crate) fn held(words: &[unwind::SavedWord]) -> usize {
        let change = |word: &unwind::SavedWord| Self::again(*word) ^ word.value;
        let mut held = 0_usize;
        for chunk in words.as_chunks::<8>().0 {
            // Else it would be a branch for each word.
            if black_box(chunk.iter().fold(0, |changes, word| changes | change(word))) != 0 {
                break;
            }
            held = held.wrapping_add(8);
        }
        for word in words.get(held..).unwrap_or(&[]) {
            if change(word) != 0 {
                break;
            }
            held = held.wrapping_add(1);
        }
        held
    }

    /// The present value of a word that was read since memory was last forgotten.
    #[inline(always)]
    pub(crate) fn again(word: unwind::SavedWord) -> u64 {
        // SAFETY: `word` has read it, and its page has not gone since.
        unsafe { core::ptr::read_volatile(word.address as *const u64) }
    }

    /// A number that tells `length` bytes from others, as far as they can be read.
    // Cost: no multiplication waits for another.
    #[inline(always)]
    pub(crate) fn fingerprint(&mut self, start: u64, length: u64) -> Option<u64> {
        let last = start.checked_add(length)?.checked_sub(1)?;
        let mut sum = length;
        let (mut address, mut key) = (start & !7, 0x9E37_79B9_7F4A_7C15_u64);
        // The bytes before the first one, and those behind the last one, do not count.
        let mut mask = u64::MAX << (8 * (start % 8));
        while address <= last {
            let left = last.wrapping_sub(address);
            if left < 7 {
                mask &= u64::MAX >> (8 * (7 - left));
            }
            sum = sum.wrapping_add((self.word(address)? & mask).wrapping_mul(key));
            (address, mask) = (address.wrapping_add(8), u64::MAX);
            // Odd, so no word counts for nothing.
            key = key.wrapping_add(0x3C6E_F372_FE94_F82A);
        }
        Some(sum ^ sum >> 32)
    }

    #[inline(always)]
    fn is_readable(&mut self, address: u64) -> bool {
        let page = address & !(PAGE - 1);
        self.place(page).is_some_and(|place| *place == page && page != 0) || self.learn(page)
    }

    fn place(&mut self, page: u64) -> Option<&mut u64> {
        let number = page / PAGE;
        self.pages.get_mut((number ^ (number >> 9)) as usize % PLACES)
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, page: u64) -> bool {
        if page == 0 || !sys::is_readable(page) {
            return false;
        }
        // Blocks with a mapping of their own are unmapped unnoticed unless they are watched.
        mapped_blocks::watch();
        if let Some(place) = self.place(page) {
            *place = page;
        }
        true
    }
}
