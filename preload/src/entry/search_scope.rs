//! The order in which the loader searches modules for symbols, in a process that this library was loaded into.
//!
//! A library that is loaded late is searched last, so libraries that come after it would be bound to libc, and their
//! calls, those of their constructors among them, would be missed until the collector has changed their words. While
//! the process is or may be recorded this library is therefore moved behind the executable, where it would stand had
//! it been preloaded:
//!
//! ```text
//!   global scope   executable │ libc │ … │ this library         as the loader made it (`RTLD_GLOBAL`)
//!                  executable │ this library │ libc │ …         as long as it precedes the others
//! ```
//!
//! Where in its description of the executable the loader keeps that list is not public. It is recognized: the address
//! of a list that begins with the executable and ends with this library, and its length. If there is no such thing,
//! nothing is changed, and the collector looks for new libraries once a second.
//!
//! The list is changed under the loader's lock: as the loader resolves an indirect function (`STT_GNU_IFUNC`) for
//! `dlsym`. Searches take no lock, so no module may be missing from the list at any time: those between both places
//! are moved one by one, and one of them stands there twice meanwhile.

use crate::modules;
use crate::modules::loader::LinkMap;
use crate::platform::{own_call, sys};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Words of the loader's description of a module that are looked at: no version has fewer.
const WORDS: usize = 128;
/// Most modules in a list.
const MOST: usize = 1 << 16;

/// Whether this library is to precede the others: an argument of the resolver, which is called by one thread at a time.
static IS_FIRST: AtomicBool = AtomicBool::new(false);
/// The list, as the loader may replace it at any later time. Read again each time.
type List<'l> = &'l [AtomicPtr<LinkMap>];

/// Has symbols looked for in this library before others than the executable, or after all of them.
#[cold]
pub(crate) fn precede_others(is_first: bool) {
    // Relaxed: the same thread reads it.
    IS_FIRST.store(is_first, Ordering::Relaxed);
    // Calls `move_own`.
    own_call::look_up(c"sysprof_memprof_search_scope");
}

crate::hooks::shims::resolver_shim!(
    /// An indirect function whose resolver changes the order.
    sysprof_memprof_search_scope => move_own
);

/// The resolver: returns the address that `dlsym` is to return.
#[cold]
extern "C" fn move_own() -> *mut c_void {
    let own = modules::around(move_own as *const c_void);
    // SAFETY: reads a number.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
    let executable = modules::around(core::ptr::without_provenance(entry));
    if let (Some(own), Some(executable)) = (own, executable)
        && let Some(list) = find(executable, own)
    {
        // Relaxed: stored by this thread.
        if IS_FIRST.load(Ordering::Relaxed) { advance(list, own) } else { retreat(list, own) }
    }
    move_own as *mut c_void
}

/// The list of the global scope, in which this library is.
fn find<'l>(executable: *mut LinkMap, own: *mut LinkMap) -> Option<List<'l>> {
    let thread = sys::thread_id();
    let words: [u64; WORDS] = sys::copy_words(thread, executable.addr() as u64).ok()?;
    words.windows(2).find_map(|pair| {
        let &[start, length] = pair else { return None };
        let length =
            usize::try_from(length & u64::from(u32::MAX)).ok().filter(|length| (2..MOST).contains(length))?;
        // Anything may be in these words, so the kernel reads where they lead.
        let [first] = sys::copy_words(thread, start).ok()?;
        if start == 0 || start % 8 != 0 || first != executable.addr() as u64 {
            return None;
        }
        let end = start.checked_add(length as u64 * 8)?;
        let is_own = |at: u64| sys::copy_words(thread, at) == Ok([own.addr() as u64]);
        if !is_own(end.checked_sub(8)?) && !is_own(start + 8) {
            return None;
        }
        let start = core::ptr::with_exposed_provenance(start as usize);
        // SAFETY: the loader's list, which it neither moves nor frees while this thread holds its lock; others read it.
        Some(unsafe { core::slice::from_raw_parts(start, length) })
    })
}

/// Moves the last module of a list behind the first one.
fn advance(list: List<'_>, own: *mut LinkMap) {
    let Some(at) = place(list, own) else { return };
    for pair in list.get(1..=at).unwrap_or_default().windows(2).rev() {
        let [one, next] = pair else { continue };
        // Release pairs with the loader's loads, which follow the pointer: it stored the description itself.
        next.store(one.load(Ordering::Relaxed), Ordering::Release);
    }
    if let Some(second) = list.get(1) {
        // Release: as above.
        second.store(own, Ordering::Release);
    }
}

/// Moves a module of a list to its end.
fn retreat(list: List<'_>, own: *mut LinkMap) {
    let Some(at) = place(list, own) else { return };
    for pair in list.get(at..).unwrap_or_default().windows(2) {
        let [one, next] = pair else { continue };
        // Release: as in `advance`.
        one.store(next.load(Ordering::Relaxed), Ordering::Release);
    }
    if let Some(last) = list.last() {
        // Release: as in `advance`.
        last.store(own, Ordering::Release);
    }
}

fn place(list: List<'_>, own: *mut LinkMap) -> Option<usize> {
    // Relaxed: only threads that hold the loader's lock change the list.
    list.iter().position(|map| map.load(Ordering::Relaxed) == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(list: &[AtomicPtr<LinkMap>]) -> Vec<usize> {
        list.iter().map(|map| map.load(Ordering::Relaxed).addr()).collect()
    }

    /// Check that a module is moved behind the first one and back to the end, whatever was added meanwhile, and that
    /// the others keep their order.
    #[test]
    fn one_module_moves_and_the_others_follow() {
        let map = core::ptr::without_provenance_mut::<LinkMap>;
        for length in 2..8 {
            let mut list: Vec<AtomicPtr<LinkMap>> = (1..=length).map(|at| AtomicPtr::new(map(at))).collect();
            for _ in 0..2 {
                advance(&list, map(length));
                let others = 2..length;
                assert_eq!(order(&list), [1, length].into_iter().chain(others).collect::<Vec<_>>());
            }
            list.push(AtomicPtr::new(map(length + 1)));
            retreat(&list, map(length));
            let others = (1..length).chain([length + 1, length]);
            assert_eq!(order(&list), others.collect::<Vec<_>>());
            advance(&list, map(100));
            assert_eq!(order(&list).len(), length + 1, "a module that is not there is not moved");
        }
    }
}
