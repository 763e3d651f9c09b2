//! Modules that were opened with `RTLD_DEEPBIND`. They find libc's functions before ours, so half of the calls for
//! blocks that pass between them and others would go unseen, as with extensions of PHP. Therefore the words through
//! which they call are changed, as in a process that the agent was loaded into.
//!
//! Only words that lead where our hook would forward to, or that are not bound yet, are changed: what a module brings
//! itself, it keeps.

use crate::modules::dynamic::{Dynamic, Relocation, Symbol};
use crate::modules::loader::LinkMap;
use crate::next::real;
use crate::platform::elf::{DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, R_ABSOLUTE, R_GLOB_DAT, R_JUMP_SLOT};
use crate::platform::own_image;
use crate::redirect::got;
use crate::{hooks, modules};
use core::ffi::{CStr, c_int, c_void};

/// Modules of one `dlopen` that are looked at; the words of any beyond are not changed.
const MODULES: usize = 128;

/// Called when a module, and with it those that it needs, was opened past us. The caller has a handle for it and
/// holds no lock. Returns the first of them with an allocator of its own, whose calls reach nobody else.
#[cold]
pub(crate) fn bind(handle: *mut c_void) -> Option<&'static LinkMap> {
    let mut all = [core::ptr::null_mut(); MODULES];
    all[0] = handle.cast::<LinkMap>();
    let mut count = 1;
    let mut at = 0;
    let mut unseen = None;
    while let Some(&map) = all.get(at).filter(|_| at < count) {
        at += 1;
        // SAFETY: in glibc a handle is such a description. This module stays loaded as long as the first one does.
        let map = unsafe { &*map };
        let module = Dynamic::of(map);
        bind_words(module);
        if module.exported(c"malloc").is_some_and(Symbol::is_function) {
            unseen = unseen.or(Some(map));
        }
        for needed in module.needed() {
            let other =
                loaded(needed).map_or(core::ptr::null_mut(), |module| core::ptr::from_ref(module).cast_mut());
            let is_new = !other.is_null() && !all.contains(&other) && !is_left_alone(other);
            if let Some(place) = all.get_mut(count).filter(|_| is_new) {
                *place = other;
                count += 1;
            }
        }
    }
    unseen
}

/// True when any library exports a name, other than this one and those in `libraries`.
#[expect(
    clippy::disallowed_methods,
    reason = "the loader holds this lock for moments only, and waits for nobody meanwhile"
)]
pub(crate) fn is_defined_beside(name: &CStr, libraries: &[&CStr]) -> bool {
    let mut definition = Definition { name, libraries };
    // SAFETY: the callback gets `definition` and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(defines), (&raw mut definition).cast()) != 0 }
}

/// The search for a definition anywhere but in some libraries.
struct Definition<'n> {
    name: &'n CStr,
    libraries: &'n [&'n CStr],
}

unsafe extern "C" fn defines(info: *mut libc::dl_phdr_info, _: usize, definition: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the pointer that `is_defined_beside` passed, which nobody else uses.
    let definition = unsafe { &*definition.cast::<Definition<'_>>() };
    // SAFETY: as above.
    let name = unsafe { name_of(info) };
    // The program has no name here, and precedes us.
    if name.is_empty() || definition.libraries.iter().any(|library| library.to_bytes() == name) {
        return 0;
    }
    let Some(map) = modules::around(info.dlpi_phdr.cast()).filter(|map| !is_own(*map)) else { return 0 };
    // SAFETY: the module stays loaded until the loader releases its lock.
    let module = unsafe { map.as_ref() }.map(Dynamic::of);
    c_int::from(module.is_some_and(|module| module.exported(definition.name).is_some()))
}

/// The name of a module without folders; empty for the program.
///
/// # Safety
/// The description is one that `dl_iterate_phdr` passed.
unsafe fn name_of(info: &libc::dl_phdr_info) -> &[u8] {
    // SAFETY: the module is loaded, and this is its path or an empty string.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn is_own(map: *mut LinkMap) -> bool {
    modules::around(bind as *const c_void) == Some(map)
}

/// The search for a module.
struct Search<'n> {
    name: &'n [u8],
    found: *mut LinkMap,
}

/// The module that others need by this name; `None` when it is not loaded, or has another name. The loader is not
/// asked for it, since that would allocate. The caller makes sure that the module is not unloaded meanwhile.
#[expect(
    clippy::disallowed_methods,
    reason = "the loader holds this lock for moments only, and waits for nobody meanwhile"
)]
pub(crate) fn loaded(name: &CStr) -> Option<&'static LinkMap> {
    let mut search = Search { name: name.to_bytes(), found: core::ptr::null_mut() };
    // SAFETY: the callback gets `search` and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(is_it), (&raw mut search).cast()) };
    // SAFETY: null, or the description of a module that stays loaded, as the caller ensures.
    unsafe { search.found.as_ref() }
}

unsafe extern "C" fn is_it(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the pointer that `loaded` passed, which nobody else uses.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: as above.
    if unsafe { name_of(info) } != search.name {
        return 0;
    }
    // The module's program headers lie in the module.
    search.found = modules::around(info.dlpi_phdr.cast()).unwrap_or(core::ptr::null_mut());
    1
}

/// True for this library, libc and the allocator: none of them should call us.
fn is_left_alone(map: *mut LinkMap) -> bool {
    let of = |address: *const c_void| modules::around(address) == Some(map);
    of(bind as *const c_void) || of(libc::getauxval as *const c_void) || of(real::malloc_address())
}

/// Redirects the words of a module to us.
fn bind_words(module: Dynamic<'_>) {
    for (table, length) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
        for relocation in module.relocations(table, length) {
            let is_function = matches!(relocation.kind, R_JUMP_SLOT | R_GLOB_DAT | R_ABSOLUTE);
            if is_function && relocation.symbol != 0 && relocation.addend == 0 {
                bind_word(module, relocation);
            }
        }
    }
}

fn bind_word(module: Dynamic<'_>, relocation: &Relocation) -> Option<()> {
    let symbol = module.symbol(relocation.symbol)?;
    if symbol.section != 0 {
        return None;
    }
    // Other names are not looked up, since a failing look-up allocates.
    let name = module.text(symbol.name.into()).filter(|name| hooks::has(name))?;
    // SAFETY: the name is a string.
    let ours = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !own_image::has(ours.addr() as u64) {
        return None;
    }
    let word: *const usize =
        core::ptr::with_exposed_provenance(module.bias().wrapping_add(relocation.offset) as usize);
    // SAFETY: the module is loaded, and this is a word of its own.
    let from = unsafe { word.read_volatile() };
    let leads_to = core::ptr::without_provenance(from);
    // A lazily bound word leads into its own module until the first call through it.
    let is_unbound = relocation.kind == R_JUMP_SLOT
        && modules::around(leads_to).is_some_and(|module| Some(module) == modules::around(word.cast()));
    if is_unbound || leads_to == real::look_up(name) {
        got::lead(word.cast(), from, ours.addr());
    }
    Some(())
}
