//! Pages that the kernel has confirmed to be readable.
//!
//! Asking the kernel about each new address of a module would cost half a microsecond, and asking the dynamic loader,
//! too, a whole one for each frame of code generated at run time. So pages are remembered, each with the number of
//! unmappings at the time of the question. Any `munmap`, `mremap`, `mmap` over something, `mprotect` that forbids
//! reading, or `dlclose` changes that number and so invalidates all of them.

use crate::modules::mapped_blocks;
use crate::platform::{invalidations, sys};
use core::sync::atomic::{AtomicU64, Ordering};

const PAGE: u32 = 12;
const PLACES: usize = 4096;

/// Pages outside of modules: where code generated at run time lies. A module can only be loaded there after the page
/// was unmapped.
pub(crate) static FOREIGN: KnownPages = KnownPages::none();

/// Pages of modules. libc unloads modules of its own without telling us, so these are only asked about while the
/// loader still has their module.
pub(crate) static OF_MODULES: KnownPages = KnownPages::none();

/// Pages that begin a part of an arena of libc's. A part that goes as a whole does so unnoticed: see
/// [`crate::modules::arenas`].
pub(crate) static OF_ARENAS: KnownPages = KnownPages::none();

/// One page in each place: its number above, the low 28 bits of the number of unmappings below. Relaxed everywhere: a
/// word is complete in itself, and a thread that sees an old one asks again.
pub(crate) struct KnownPages([AtomicU64; PLACES]);

/// True for two addresses on one page.
pub(crate) fn share_a_page(one: u64, other: u64) -> bool {
    one >> PAGE == other >> PAGE
}

fn word(address: u64) -> u64 {
    (address >> PAGE) << 28 | u64::from(invalidations::unmappings() >> 2 & ((1 << 28) - 1))
}

impl KnownPages {
    const fn none() -> Self {
        KnownPages([const { AtomicU64::new(0) }; PLACES])
    }

    fn place(&self, address: u64) -> Option<&AtomicU64> {
        let page = address >> PAGE;
        self.0.get((page ^ (page >> PAGE)) as usize % PLACES)
    }

    /// True when the page of `address` is known to be readable.
    pub(crate) fn has(&self, address: u64) -> bool {
        // The first page has the word of an empty place.
        address >> PAGE != 0
            && self.place(address).is_some_and(|place| place.load(Ordering::Relaxed) == word(address))
    }

    /// Asks whether the page can be read, and remembers it if so. The caller knows whether a module lies there, and
    /// whether libc's allocator may unmap the page instead of the loader.
    #[cold]
    pub(crate) fn learn(&self, address: u64, may_be_in_a_block: bool) -> bool {
        self.learn_if(address, || {
            let is_readable = sys::is_readable(address & !7);
            if is_readable && may_be_in_a_block {
                mapped_blocks::watch();
            }
            is_readable
        })
    }

    /// Asks whether the page is what these are known to be, and remembers it if so.
    pub(crate) fn learn_if(&self, address: u64, is_one: impl FnOnce() -> bool) -> bool {
        // Computed first: an unmapping meanwhile invalidates the word.
        let word = word(address);
        if !is_one() {
            return false;
        }
        if let Some(place) = self.place(address) {
            place.store(word, Ordering::Relaxed);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::KnownPages;

    /// Check that a page is known once it was learned, and that an unreadable page never is, the first page included.
    #[test]
    fn only_what_can_be_read_is_known() {
        let pages = KnownPages::none();
        let word = 1_u64;
        let address = (&raw const word).addr() as u64;
        assert!(!pages.has(address) && pages.learn(address, true) && pages.has(address));
        for address in [0, 1, 4095] {
            assert!(!pages.has(address) && !pages.learn(address, true) && !pages.has(address), "{address}");
        }
    }
}
