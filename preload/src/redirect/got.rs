//! Changes to entries of global offset tables (GOT), the words through which modules call. Needed where the agent was
//! loaded after the modules, or where they were bound past it.
//!
//! The loader has made most of these words read-only (RELRO). They are made writable for some microseconds, and only
//! in a module that the loader is done with: the collector names only words whose protection it has seen. While we
//! are in `dl_iterate_phdr`, no module is removed from the loader's list, hence none is unmapped. Other threads call
//! through a word meanwhile, so each is stored atomically.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use rustix::mm::MprotectFlags;

/// A word of a module to change.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Change {
    word: *const AtomicUsize,
    from: usize,
    to: usize,
    /// Not 0 when its page is read-only.
    is_sealed: usize,
}

struct Work<'a> {
    changes: &'a [Change],
    done: usize,
}

/// Changes those words of modules that have the expected value, and returns how many. Words of one page must be
/// adjacent.
#[cold]
#[expect(clippy::disallowed_methods, reason = "keeps modules loaded, in a thread that holds no lock")]
pub(crate) fn change(changes: &[Change]) -> usize {
    let mut work = Work { changes, done: 0 };
    // SAFETY: the callback gets `work` and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(in_module), (&raw mut work).cast()) };
    work.done
}

/// Changes a word of a module that the loader is done with, if it has the expected value.
#[cold]
#[expect(clippy::disallowed_methods, reason = "keeps modules loaded, in a thread that holds no lock")]
pub(crate) fn lead(word: *const AtomicUsize, from: usize, to: usize) {
    let mut change = Change { word, from, to, is_sealed: 0 };
    // SAFETY: the callback gets `change` and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(in_its_module), (&raw mut change).cast()) };
}

unsafe extern "C" fn in_its_module(info: *mut libc::dl_phdr_info, _: usize, change: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the pointer that `lead` passed, which nobody else uses.
    let change = unsafe { &mut *change.cast::<Change>() };
    // SAFETY: as above.
    if !unsafe { has(info, change.word.cast()) } || !change.word.is_aligned() {
        return 0;
    }
    // SAFETY: as above.
    change.is_sealed = usize::from(unsafe { seals(info, change.word.addr() as u64) });
    // SAFETY: the word lies in a segment of a module that stays loaded until we return, and its protection is the
    // loader's.
    unsafe { make(core::slice::from_ref(change)) };
    1
}

/// True when the loader has made the word at `address` read-only.
///
/// # Safety
/// As for [`has`].
unsafe fn seals(info: &libc::dl_phdr_info, address: u64) -> bool {
    // SAFETY: the module is loaded, and has as many headers as it says.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    // The loader rounds both ends down to pages.
    let page = |address: u64| address & !(page_size() as u64 - 1);
    headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO).any(|header| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        (page(start)..page(start.wrapping_add(header.p_memsz))).contains(&address)
    })
}

unsafe extern "C" fn in_module(info: *mut libc::dl_phdr_info, _: usize, work: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the pointer that `change` passed, which nobody else uses.
    let work = unsafe { &mut *work.cast::<Work<'_>>() };
    // SAFETY: as above.
    let is_inside = |change: &Change| unsafe { has(info, change.word.cast()) } && change.word.is_aligned();
    for page in work.changes.chunk_by(|one, next| one.page() == next.page()) {
        if page.iter().all(is_inside) {
            // SAFETY: the words lie in segments of a module that stays loaded until we return.
            work.done += unsafe { make(page) };
        }
    }
    0
}

/// True when an address lies in the module.
///
/// # Safety
/// The description is one that `dl_iterate_phdr` passed.
#[cold]
pub(crate) unsafe fn has(info: &libc::dl_phdr_info, address: *const c_void) -> bool {
    // SAFETY: the module is loaded, and has as many headers as it says.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let offset = (address.addr() as u64).wrapping_sub(info.dlpi_addr);
    let mut segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    segments.any(|segment| offset.wrapping_sub(segment.p_vaddr) < segment.p_memsz)
}

/// Stores those words of one page that have the expected value, and returns how many.
///
/// # Safety
/// The page is mapped, and all of its words that are not marked as sealed are writable.
unsafe fn make(changes: &[Change]) -> usize {
    let is_sealed = changes.iter().any(|change| change.is_sealed != 0);
    let protect = |flags| {
        // SAFETY: a page of a module's data, which stays readable.
        changes
            .first()
            .is_some_and(|first| unsafe { rustix::mm::mprotect(first.page(), page_size(), flags) }.is_ok())
    };
    if is_sealed && !protect(MprotectFlags::READ | MprotectFlags::WRITE) {
        return 0;
    }
    // SAFETY: the caller vouches for the page. Others only load such a word, or store an address in it.
    let word = |change: &Change| unsafe { &*change.word };
    // Relaxed: a word stands for nothing but itself.
    let exchange = |change: &&Change| {
        word(change).compare_exchange(change.from, change.to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    let made = changes.iter().filter(exchange).count();
    if is_sealed {
        // If this fails, the page stays writable, as it was before the loader protected it.
        protect(MprotectFlags::READ);
    }
    made
}

impl Change {
    fn page(&self) -> *mut c_void {
        self.word.map_addr(|address| address & !(page_size() - 1)).cast_mut().cast()
    }
}

/// Size of a page, which on 64-bit ARM may exceed 4 KiB.
fn page_size() -> usize {
    // SAFETY: reads a number that the kernel passed at the start.
    unsafe { libc::getauxval(libc::AT_PAGESZ) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writable word of this module, and one that the loader makes read-only.
    static WRITABLE: AtomicUsize = AtomicUsize::new(1);
    #[unsafe(link_section = ".data.rel.ro.test")]
    static SEALED: AtomicUsize = AtomicUsize::new(1);

    fn to_two(word: *const AtomicUsize, is_sealed: usize) -> Change {
        Change { word, from: 1, to: 2, is_sealed }
    }

    /// Check that a word in a module is changed once, and a word outside of modules never.
    #[test]
    fn words_of_modules_are_changed() {
        let outside = Box::new(AtomicUsize::new(1));
        let changes = [to_two(&raw const WRITABLE, 0), to_two(&raw const *outside, 0)];
        assert_eq!(change(&changes), 1);
        assert_eq!((WRITABLE.load(Ordering::Relaxed), outside.load(Ordering::Relaxed)), (2, 1));
        assert_eq!(change(&changes), 0, "it is 2 already");
    }

    /// Check that a read-only word is changed and is read-only again afterwards.
    #[test]
    fn sealed_words_stay_sealed() {
        let access = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let address = (&raw const SEALED).addr();
            let line = maps.lines().find(|line| {
                let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
                let number = |digits| usize::from_str_radix(digits, 16).unwrap();
                (number(start)..number(end)).contains(&address)
            });
            line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
        };
        assert_eq!(access(), "r--p");
        assert_eq!(change(&[to_two(&raw const SEALED, 1)]), 1);
        assert_eq!((SEALED.load(Ordering::Relaxed), &*access()), (2, "r--p"));
    }
}
