//! Where the program would find a function, for a library that precedes no other.

use super::dlclose;
use crate::modules;
use crate::modules::dynamic::Dynamic;
use crate::modules::loader::LinkMap;
use crate::platform::own_image;
use core::ffi::CStr;
use core::ffi::c_void;

/// The function of a name that the program's modules are bound to. In the executable itself that may be a PLT stub:
/// it stands for the function where its address is wanted, and calls it through a word that may lead to us. Then it
/// is the first definition after the executable.
#[cold]
pub(super) fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string; `RTLD_DEFAULT` needs no handle.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: reads a number.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
    let executable = modules::around(core::ptr::without_provenance(entry));
    let is_ours = own_image::has(found.addr() as u64);
    let is_stub = executable.is_some() && modules::around(found) == executable;
    if found.is_null() || !(is_ours || is_stub) {
        return found;
    }
    // SAFETY: a null name means the executable, which is loaded.
    let mut map = unsafe { libc::dlopen(core::ptr::null(), libc::RTLD_LAZY) }.cast::<LinkMap>();
    // SAFETY: in glibc a handle is such a description. The descriptions form the loader's list, which begins with the
    // modules of the program's start; these are never unloaded.
    while let Some(module) = unsafe { map.as_ref() } {
        let is_passed_over = Some(map) == executable || own_image::has(module.dynamic.addr() as u64);
        if is_ours && !is_passed_over {
            // This library precedes the others: the program would find the first definition behind it.
            if let Some(behind) = Dynamic::of(module).function(name) {
                return behind;
            }
        } else if !is_passed_over {
            // A search in a module also covers those that it needs, each of which has its own turn.
            let behind = find_in(module, name);
            if !behind.is_null() && modules::around(behind) == Some(map) {
                return behind;
            }
        }
        map = module.next;
    }
    if is_ours { core::ptr::null_mut() } else { found }
}

/// What a search in a module, and in those that it needs, finds.
#[cold]
fn find_in(module: &LinkMap, name: &CStr) -> *mut c_void {
    // SAFETY: the loader's own string. Nothing is loaded here, but the loader prepares a search from a module that
    // was never searched before.
    let handle = unsafe { libc::dlopen(module.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return handle;
    }
    // SAFETY: a valid handle and a string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: opened above.
    unsafe { dlclose(handle) };
    found
}
