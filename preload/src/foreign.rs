//! Pages that can be read and belong to no module: where code made at run time lies.
//!
//! Asking the kernel and the dynamic loader about each frame of such code would cost a microsecond a frame. So pages
//! are remembered once both have answered, each with the number of unmappings at that time: any `munmap`, `mremap`,
//! `mmap` over something, `mprotect` that forbids reading, or `dlclose` makes all of them void. A module can come to
//! lie on such a page only after it was unmapped.

use crate::arch;
use crate::modules;
use core::sync::atomic::{AtomicU64, Ordering};

const PAGE: u32 = 12;
const PLACES: usize = 4096;

/// Page number above, the low 28 bits of the number of unmappings below. Relaxed everywhere: a word is complete in
/// itself, and a thread that sees an old one asks again.
static PAGES: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

fn word(address: u64) -> u64 {
    (address >> PAGE) << 28 | u64::from(modules::unmappings() >> 1 & ((1 << 28) - 1))
}

fn place(address: u64) -> Option<&'static AtomicU64> {
    let page = address >> PAGE;
    PAGES.get((page ^ (page >> PAGE)) as usize % PLACES)
}

/// True when the page of `address` is known to be one.
pub(crate) fn is_known(address: u64) -> bool {
    // The first page has the word of an empty place.
    address >> PAGE != 0 && place(address).is_some_and(|place| place.load(Ordering::Relaxed) == word(address))
}

/// Asks whether the page can be read, and remembers it if so. The caller knows that no module lies there.
#[cold]
pub(crate) fn learn(address: u64) -> bool {
    // Taken first: what is unmapped meanwhile makes the word void.
    let word = word(address);
    if !arch::is_readable(address & !7) {
        return false;
    }
    if let Some(place) = place(address) {
        place.store(word, Ordering::Relaxed);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{is_known, learn};

    /// Check that a page is known once it was learned, and that those which cannot be read never are: the first one, too.
    #[test]
    fn only_what_can_be_read_is_known() {
        let word = 1_u64;
        let address = (&raw const word).addr() as u64;
        assert!(!is_known(address) && learn(address) && is_known(address));
        for address in [0, 1, 4095] {
            assert!(!is_known(address) && !learn(address) && !is_known(address), "{address}");
        }
    }
}
