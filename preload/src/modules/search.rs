//! Loaded libraries by their names, and who defines a name. The loader is asked by its list only: other look-ups
//! allocate when they fail.

use super::around;
use super::dynamic::Dynamic;
use super::loader::LinkMap;
use core::ffi::{CStr, c_int, c_void};

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
    let Some(map) = around(info.dlpi_phdr.cast()).filter(|map| !is_own(*map)) else { return 0 };
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
    around(is_own as *const c_void) == Some(map)
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
    search.found = around(info.dlpi_phdr.cast()).unwrap_or(core::ptr::null_mut());
    1
}
