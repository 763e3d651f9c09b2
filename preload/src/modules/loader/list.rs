//! The loader's list of modules, read as a debugger reads it.
//!
//! ```text
//! _r_debug ─► program ⇄ libm ⇄ libc ⇄ ld.so ⇄ plug-in      modules that are loaded later are appended
//! ```
//!
//! Both glibc and musl have this list, with descriptions that begin alike.
//!
//! The list changes under a lock of the loader, which no hook may wait for. So it is copied by the kernel, which
//! fails instead of faulting when a description or a module is gone. A description counts only while its neighbour in
//! the list leads to it: a freed one may still be in memory unchanged, but nothing leads there.
//!
//! Modules that were found are kept with the addresses of their segments. Asking about one takes two copies, half a
//! microsecond; finding that an address belongs to none takes a check whether the list has grown at its end.
//!
//! Before 2.35, glibc lists modules of other namespaces (`dlmopen`) nowhere that debuggers can find: their code is
//! unknown.

use super::{LinkMap, Object};
use crate::platform::allowed_calls::{self, Need};
use crate::platform::seqlock::{Mapped, Slot};
use crate::platform::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use unwind::module::Image;

/// Most modules at a time; any beyond are unknown.
const MODULES: usize = 8192;

/// How often the list is read again when others are changing it.
const TRIES: usize = 16;
/// Readings of the whole list after which an address is believed to belong to no module.
const READINGS: u32 = 2;

/// Words of a [`Known`].
const WORDS: usize = 5;

/// The beginning of `struct r_debug` of `link.h`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Debug {
    version: c_int,
    first: AtomicPtr<LinkMap>,
}

/// The loader's structure, which never moves.
static DEBUG: AtomicPtr<Debug> = AtomicPtr::new(core::ptr::null_mut());
/// The modules that were found in the list.
static KNOWN: Mapped<WORDS> = Mapped::new(MODULES);
/// Address of the last description that was seen in the list; 0 at first.
// Relaxed: its value is checked against the list.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Takes the loader's list, and maps memory for what will be found in it; false when there is no list or no memory.
#[cold]
pub(super) fn prepare(debug: *mut Debug) -> bool {
    if debug.is_null() {
        return false;
    }
    DEBUG.store(debug, Ordering::Relaxed);
    KNOWN.map()
}

/// True when there is a list and memory.
pub(super) fn is_prepared() -> bool {
    KNOWN.is_mapped()
}

/// The module around an address.
#[cold]
pub(super) fn find(address: u64) -> Option<Object> {
    // A thread that finds a module gone discards what is known of it and has the whole list read again. By then the
    // module may be back and known again, and another thread may find nothing new. So an address belongs to no module
    // only after this thread has read the whole list twice.
    let mut last = LAST.load(Ordering::Relaxed);
    let mut readings = 0_u32;
    for _ in 0..TRIES {
        let found = find_known(address);
        if found.is_some() || readings == READINGS {
            return found;
        }
        if learn(last) {
            readings = readings.wrapping_add(u32::from(last == 0));
            last = 0;
        }
    }
    None
}

/// A module of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// Its first mapped address, never 0.
    start: u64,
    /// The end of its last segment.
    end: u64,
    /// Address of its description.
    map: u64,
    /// The load bias: what is added to addresses of its file.
    bias: u64,
    /// Address of its dynamic section.
    dynamic: u64,
}

impl Known {
    fn to_words(self) -> [u64; WORDS] {
        let Self { start, end, map, bias, dynamic } = self;
        [start, end, map, bias, dynamic]
    }

    fn from_words([start, end, map, bias, dynamic]: [u64; WORDS]) -> Self {
        Self { start, end, map, bias, dynamic }
    }

    /// What the description at `map` says; `None` if the module has no readable image.
    fn read(map: u64, node: &Node) -> Option<Self> {
        // SAFETY: reads a word that the kernel passed at the start.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
        // A library begins at its bias. A program at fixed addresses, whose bias is 0, has its program headers in its
        // first page.
        let image = [node.bias, headers & !4095]
            .into_iter()
            .filter(|start| *start != 0)
            .filter_map(|start| {
                Image::parse(start, |from, to| sys::copy(sys::thread_id(), from, to).is_ok()).ok()
            })
            .find(|image| image.bias == node.bias)?;
        let (start, end) = (image.mapped.start & !4095, image.mapped.end.checked_next_multiple_of(4096)?);
        (start != 0).then_some(Self { start, end, map, bias: node.bias, dynamic: node.dynamic })
    }

    /// True while the module is in the list, and when that cannot be checked.
    fn is_listed(&self) -> bool {
        !can_be_read()
            || Node::listed(self.map)
                .is_some_and(|node| node.bias == self.bias && node.dynamic == self.dynamic)
    }
}

/// The public words of a description: `struct link_map` of `link.h`.
#[derive(Clone, Copy, Debug)]
struct Node {
    bias: u64,
    dynamic: u64,
    next: u64,
    previous: u64,
}

impl Node {
    /// A copy of the description at an address; `None` if nothing is mapped there.
    fn at(address: u64) -> Option<Self> {
        if address == 0 {
            return None;
        }
        let [bias, _name, dynamic, next, previous] = sys::copy_words(sys::thread_id(), address).ok()?;
        Some(Self { bias, dynamic, next, previous })
    }

    /// The same, if the list leads there.
    fn listed(address: u64) -> Option<Self> {
        let mut node = Self::at(address)?;
        for _ in 0..TRIES {
            let follows = match node.previous {
                0 => first(),
                previous => Self::at(previous).map_or(0, |previous| previous.next),
            };
            if follows == address {
                return Some(node);
            }
            // Unless the previous description has gone meanwhile, and another one precedes this one now.
            let again = Self::at(address)?;
            if again.previous == node.previous {
                break;
            }
            node = again;
        }
        None
    }
}

/// True when the kernel may copy for us and tell which thread this is.
fn can_be_read() -> bool {
    allowed_calls::allows(Need::Leave) && allowed_calls::allows(Need::Map)
}

/// Address of the first description.
pub(super) fn first() -> u64 {
    // SAFETY: null, or the loader's own, which is never unmapped.
    let debug = unsafe { DEBUG.load(Ordering::Relaxed).as_ref() };
    // Acquire: sees what the loader wrote before it inserted the description.
    debug.map_or(0, |debug| debug.first.load(Ordering::Acquire).addr() as u64)
}

fn find_known(address: u64) -> Option<Object> {
    let is_around = |words: &[u64; WORDS]| {
        let [start, end, ..] = *words;
        start != 0 && start <= address && address < end
    };
    let found = KNOWN.slots().used().filter_map(Slot::read).find(|seen| is_around(&seen.words))?;
    let found = Known::from_words(found.words);
    if found.is_listed() {
        let link_map = core::ptr::with_exposed_provenance_mut(found.map as usize);
        return Some(Object { link_map, start: found.start, end: found.end, eh_frame_hdr: 0 });
    }
    KNOWN.slots().forget(|words| Known::from_words(*words) == found);
    // The place may belong to another module by now, whose successors were not seen yet.
    LAST.store(0, Ordering::Relaxed);
    None
}

/// Learns what was added after the description at `last`, or the whole list; false when the list was changed
/// meanwhile.
fn learn(last: u64) -> bool {
    if !can_be_read() {
        return true;
    }
    let (mut previous, mut next) = match Node::listed(last) {
        Some(node) => (last, node.next),
        None => (0, first()),
    };
    for _ in 0..MODULES {
        if next == 0 {
            return true;
        }
        let Some(node) = Node::at(next).filter(|node| node.previous == previous) else { return false };
        enter(next, &node);
        (previous, next) = (next, node.next);
        LAST.store(previous, Ordering::Relaxed);
    }
    true
}

/// Adds a module, unless it is known.
fn enter(map: u64, node: &Node) {
    let is_known = KNOWN.slots().used().filter_map(Slot::read).any(|seen| {
        let known = Known::from_words(seen.words);
        known.start != 0 && (known.map, known.bias, known.dynamic) == (map, node.bias, node.dynamic)
    });
    if !is_known
        && let Some(module) = Known::read(map, node)
        && let Some(claim) = KNOWN.slots().claim_void(|_| true).or_else(|| KNOWN.slots().claim_unused())
    {
        claim.write(module.to_words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::own_call::look_up;
    use std::ffi::c_void;
    use std::sync::Mutex;

    /// There is one list per process, and so one set of known modules.
    static LIST: Mutex<()> = Mutex::new(());

    fn prepared() -> std::sync::MutexGuard<'static, ()> {
        let guard = LIST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !KNOWN.is_mapped() {
            assert!(prepare(look_up(c"_r_debug").cast()), "libc has a list");
        }
        guard
    }

    /// Load bias and code address of all modules that the loader has.
    fn loaded() -> Vec<(u64, u64)> {
        extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, all: *mut c_void) -> c_int {
            // SAFETY: `dl_iterate_phdr` passes a valid description.
            let info = unsafe { &*info };
            // SAFETY: the pointer passed below, which nobody else uses.
            let all = unsafe { &mut *all.cast::<Vec<(u64, u64)>>() };
            for index in 0..usize::from(info.dlpi_phnum) {
                // SAFETY: the loader says that there are so many program headers.
                let header = unsafe { &*info.dlpi_phdr.wrapping_add(index) };
                if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                    all.push((info.dlpi_addr, info.dlpi_addr + header.p_vaddr));
                }
            }
            0
        }
        let mut all = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "no hook is here")]
        // SAFETY: the callback keeps nothing.
        unsafe {
            libc::dl_iterate_phdr(Some(each), (&raw mut all).cast())
        };
        all
    }

    /// Check that all modules are found by their code, each by its own description, and that nothing else is.
    #[test]
    fn modules_are_found_by_their_code() {
        let _guard = prepared();
        let modules = loaded();
        assert!(modules.len() > 3, "the program, libc, the loader and the kernel's");
        for (bias, code) in modules {
            let found = find(code).unwrap_or_else(|| panic!("{code:#x} is code"));
            assert!(found.start <= code && code < found.end);
            // SAFETY: the module stays loaded.
            assert_eq!(unsafe { &*found.link_map }.address, bias);
        }
        let on_heap = Box::new(0_u64);
        for address in
            [0, 1, (&raw const *on_heap).addr() as u64, (&raw const on_heap).addr() as u64, u64::MAX]
        {
            assert!(find(address).is_none(), "{address:#x} is no code");
        }
    }

    /// Check that a library is found once it is loaded, no longer after it is unloaded, and again when it is loaded
    /// again, while other threads load and unload, too.
    #[test]
    fn libraries_come_and_go() {
        let _guard = prepared();
        let folder = tempfile::tempdir().unwrap();
        let libraries = [1, 2].map(|number| {
            let path = folder.path().join(format!("lib{number}.so"));
            let built = std::process::Command::new("cc")
                .args(["-shared", "-nostdlib", "-fPIC", "-xc", "-o"])
                .arg(&path)
                .arg("/dev/null")
                .status()
                .expect("there is a compiler");
            assert!(built.success());
            std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
        });
        let open = |name: &std::ffi::CStr| {
            // SAFETY: the library has no code that would run.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null(), "{name:?}");
            // SAFETY: in glibc a handle is such a description.
            (handle, unsafe { &*handle.cast::<LinkMap>() }.dynamic.addr() as u64)
        };
        let close = |handle| {
            // SAFETY: from `open`, closed once.
            assert_eq!(unsafe { libc::dlclose(handle) }, 0);
        };
        for _ in 0..100 {
            let (first, inside_first) = open(&libraries[0]);
            assert_eq!(find(inside_first).map(|found| found.link_map.cast()), Some(first));
            let (second, inside_second) = open(&libraries[1]);
            close(first);
            assert!(find(inside_first).is_none());
            // Unloaded modules do not get in the way.
            assert!(loaded().into_iter().all(|(_, code)| find(code).is_some()));
            assert_eq!(find(inside_second).map(|found| found.link_map.cast()), Some(second));
            let (first, inside_first) = open(&libraries[0]);
            assert_eq!(find(inside_first).map(|found| found.link_map.cast()), Some(first));
            close(second);
            assert!(find(inside_second).is_none());
            close(first);
            assert!(find(inside_first).is_none());
        }
        assert!(KNOWN.slots().used().count() < 64, "places are used again");
    }
}
