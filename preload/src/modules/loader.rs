//! Which module an address lies in, as the loader knows it.
//!
//! Since 2.35 glibc answers this by `_dl_find_object`, which takes no lock and may be called anywhere. With older
//! glibc and with musl, the list that the loader keeps for debuggers is read ([`list`]).

mod list;

use crate::modules::c_library;
use crate::platform::own_call;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The public beginning of the loader's description of a module, which is also the module's handle.
#[repr(C)]
pub(crate) struct LinkMap {
    pub(crate) address: u64,
    pub(crate) name: *const c_char,
    pub(crate) dynamic: *const c_void,
    pub(crate) next: *mut LinkMap,
}

/// A loaded module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    /// The loader's description.
    pub(crate) link_map: *mut LinkMap,
    /// Its first mapped address. For a module that is mapped with holes, this may be the start of the part around the
    /// address that was asked about.
    pub(crate) start: u64,
    /// The end of that range.
    pub(crate) end: u64,
    /// Its `.eh_frame_hdr`; 0 if the loader does not tell or there is none.
    pub(crate) eh_frame_hdr: u64,
}

/// What glibc returns for an address: `struct dl_find_object` of `dlfcn.h`.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *mut LinkMap,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut DlFindObject) -> c_int;

/// Null before glibc 2.35.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Prepares [`find`]; called before a form of `new` is looked up and before a process is recorded. Takes the loader's
/// lock; false when there is no way to find modules.
#[cold]
pub(crate) fn prepare() -> bool {
    if !FIND_OBJECT.load(Ordering::Relaxed).is_null() || list::is_prepared() {
        return true;
    }
    let find_object =
        if cfg!(feature = "listed") { core::ptr::null_mut() } else { own_call::look_up(c"_dl_find_object") };
    FIND_OBJECT.store(find_object, Ordering::Relaxed);
    !find_object.is_null() || list::prepare(c_library::loaded_for_debuggers().cast())
}

/// True for the description of the program itself when modules are found in the list: it comes first.
pub(crate) fn is_first_listed(map: *mut LinkMap) -> bool {
    list::first() == map.addr() as u64
}

/// The module around an address. Takes no lock and may be called anywhere.
#[cold]
pub(crate) fn find(address: u64) -> Option<Object> {
    let function = FIND_OBJECT.load(Ordering::Relaxed);
    if function.is_null() {
        return list::find(address);
    }
    // SAFETY: the address is that of `_dl_find_object`, found under this name.
    let function: FindObject = unsafe { core::mem::transmute::<*mut c_void, FindObject>(function) };
    // SAFETY: the struct may be all zeros.
    let mut found: DlFindObject = unsafe { core::mem::zeroed() };
    // SAFETY: documented to be callable with any address, from anywhere, without lock or allocation.
    let result = unsafe { function(core::ptr::without_provenance_mut(address as usize), &raw mut found) };
    let DlFindObject { map_start, map_end, link_map, eh_frame, .. } = found;
    let (start, end) = (map_start.addr() as u64, map_end.addr() as u64);
    (result == 0).then(|| Object { link_map, start, end, eh_frame_hdr: eh_frame.addr() as u64 })
}
