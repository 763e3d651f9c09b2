//! What stack walks need to know about musl: its code, which has no unwind tables and is read instead, and the stacks
//! that it gives to threads.

use super::{c_library, loader};
use crate::platform::{arch, sys};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use unwind::CodeWithoutTables;
use unwind::module::Image;

type GetAttributes = unsafe extern "C" fn(*const c_void, *mut Attributes) -> c_int;
type GetStack = unsafe extern "C" fn(*const Attributes, *mut *mut c_void, *mut usize) -> c_int;

/// Room for musl's `pthread_attr_t`, which has 56 bytes.
#[repr(C, align(16))]
struct Attributes([u8; 128]);

/// Where the code of a C library without unwind tables is, and its functions that never return: 0 where it has
/// tables.
// Relaxed everywhere: found before any walk, by the constructor or by the thread that first joins a recording; each
// thread that walks has loaded a word of that recording with Acquire.
static TEXT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static NEVER_RETURN: [AtomicU64; CodeWithoutTables::NEVER_RETURN.len()] =
    [const { AtomicU64::new(0) }; CodeWithoutTables::NEVER_RETURN.len()];
/// musl's `pthread_getattr_np` and `pthread_attr_getstack`; null elsewhere. Relaxed as above.
static GET_ATTRIBUTES: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static GET_STACK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Learns what stack walks need to know about musl. Called once, when modules can be found, with a
/// function that finds others of libc.
#[cold]
pub(crate) fn learn(look_up: fn(&CStr) -> *mut c_void) {
    if !c_library::is_musl() {
        return;
    }
    GET_ATTRIBUTES.store(look_up(c"pthread_getattr_np"), Ordering::Relaxed);
    GET_STACK.store(look_up(c"pthread_attr_getstack"), Ordering::Relaxed);
    let inside = libc::getauxval as *const () as u64;
    let Some(found) = loader::find(inside) else { return };
    let Ok(image) = Image::parse(found.start, |from, to| sys::copy(sys::thread_id(), from, to).is_ok())
    else {
        return;
    };
    let Some(code) = image.code.as_slice().iter().find(|code| code.contains(&inside)) else { return };
    for (place, name) in NEVER_RETURN.iter().zip(CodeWithoutTables::NEVER_RETURN) {
        place.store(look_up(name).addr() as u64, Ordering::Relaxed);
    }
    let [start, end] = &TEXT;
    start.store(code.start, Ordering::Relaxed);
    end.store(code.end, Ordering::Relaxed);
}

/// The C library's code around an address, if its code must be read because it has no unwind tables.
#[cold]
pub(crate) fn text(address: u64) -> Option<CodeWithoutTables<'static>> {
    let [start, end] = &TEXT;
    let (start, end) = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
    if !(start..end).contains(&address) {
        return None;
    }
    // SAFETY: the code of the C library, which is mapped readable and never unloaded.
    let code = unsafe { core::slice::from_raw_parts(start as *const u8, end.wrapping_sub(start) as usize) };
    let never_return = NEVER_RETURN.each_ref().map(|place| place.load(Ordering::Relaxed));
    Some(CodeWithoutTables { code, address: start, never_return })
}

/// True for addresses on the stack that this thread was created with; never in the first thread.
#[cold]
pub(crate) fn is_on_own_stack(address: u64) -> bool {
    let get_attributes = GET_ATTRIBUTES.load(Ordering::Relaxed);
    let get_stack = GET_STACK.load(Ordering::Relaxed);
    // For the first thread musl would search its stack with a system call for each page.
    let is_first = || sys::thread_id() == sys::process_id();
    if get_attributes.is_null() || get_stack.is_null() || is_first() {
        return false;
    }
    // SAFETY: found under this name, which has this type in C.
    let get_attributes = unsafe { core::mem::transmute::<*mut c_void, GetAttributes>(get_attributes) };
    // SAFETY: as above.
    let get_stack = unsafe { core::mem::transmute::<*mut c_void, GetStack>(get_stack) };
    let (mut attributes, mut start, mut size) = (Attributes([0; 128]), core::ptr::null_mut(), 0);
    // SAFETY: the calling thread, which is alive. musl only reads its descriptor and fills the attributes in, except
    // for the first thread, which is never asked about.
    let has_attributes = unsafe { get_attributes(arch::thread_pointer(), &raw mut attributes) } == 0;
    // SAFETY: the attributes were filled in just above.
    let has_stack =
        has_attributes && unsafe { get_stack(&raw const attributes, &raw mut start, &raw mut size) } == 0;
    has_stack && address.wrapping_sub(start.addr() as u64) < size as u64
}
