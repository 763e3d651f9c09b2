//! Which C library the process has, and what the agent has to know about it.
//!
//! | | glibc | musl |
//! |---|---|---|
//! | the process exits | `on_exit` tells, with the exit code | our destructor is called, without it |
//! | modules | `_dl_find_object`, `_r_debug` | the list that `_dl_debug_addr` leads to |
//! | its own code | has unwind tables | has none, and is read instead ([`text`]) |
//! | its allocator | calls no hook, marks blocks that it has mapped | `calloc` calls `malloc`, `posix_memalign` calls `aligned_alloc`; memory goes back at any `free` |
//!
//! One agent library serves both. Symbols that only one of them has are weak: a loader that finds us in `LD_PRELOAD`
//! would otherwise refuse to start the program.

use crate::modules::loader;
use crate::next::real;
use crate::platform::own_call::own_call;
use crate::platform::{arch, own_call, sys};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use unwind::Text;
use unwind::module::Image;

type OnExit = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
type GetAttributes = unsafe extern "C" fn(*const c_void, *mut Attributes) -> c_int;
type GetStack = unsafe extern "C" fn(*const Attributes, *mut *mut c_void, *mut usize) -> c_int;

/// Room for musl's `pthread_attr_t`, which has 56 bytes.
#[repr(C, align(16))]
struct Attributes([u8; 128]);

/// The exit must be reported. Relaxed: a thread that does not see it ends a process that was not recorded.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// Where the code of a C library without unwind tables is, and its functions that never return: 0 where it has
/// tables.
// Relaxed everywhere: found before any walk, by the constructor or by the thread that first joins a recording; each
// thread that walks has loaded a word of that recording with Acquire.
static TEXT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static NEVER_RETURN: [AtomicU64; Text::NEVER_RETURN.len()] =
    [const { AtomicU64::new(0) }; Text::NEVER_RETURN.len()];
/// musl's `pthread_getattr_np` and `pthread_attr_getstack`; null elsewhere. Relaxed as above.
static GET_ATTRIBUTES: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static GET_STACK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// True with glibc and with musl.
pub(crate) fn is_known() -> bool {
    on_exit().is_some() || is_musl()
}

/// True with musl: only there does a symbol of this name lead debuggers to the loader's list. Its code can be read on
/// x86-64 only.
pub(crate) fn is_musl() -> bool {
    cfg!(target_arch = "x86_64") && !debugger_list().is_null()
}

/// Where musl's loader keeps the address of what glibc calls `_r_debug`; null with glibc.
fn debugger_list() -> *const *mut c_void {
    arch::weak!("_dl_debug_addr").cast()
}

/// The loader's data for debuggers (`r_debug`); null if it is unknown.
#[cold]
pub(crate) fn loaded_for_debuggers() -> *mut c_void {
    // SAFETY: null, or a variable of musl's loader, which is set before any code runs.
    match unsafe { debugger_list().as_ref() } {
        Some(list) => *list,
        None => own_call::look_up(c"_r_debug"),
    }
}

fn on_exit() -> Option<OnExit> {
    let address = arch::weak!("on_exit");
    // SAFETY: a function of this type, or null, which is `None`.
    unsafe { core::mem::transmute::<*const c_void, Option<OnExit>>(address) }
}

/// Has [`crate::record::lifecycle::exiting`] called at the process' exit, after all destructors, with the exit code if the C
/// library reports it.
///
/// With glibc, a handler that is registered before the loader registers its own is called last. With musl, our own
/// destructor is the last: musl calls destructors in the reverse order of constructors, and those of preloaded
/// libraries came first.
#[cold]
pub(crate) fn watch_exit() {
    IS_WATCHED.store(true, Ordering::Relaxed);
    if let Some(on_exit) = on_exit() {
        // SAFETY: the function is ours, and this library is never unloaded.
        own_call(|| unsafe { on_exit(exits_with, core::ptr::null_mut()) });
    }
}

extern "C" fn exits_with(code: c_int, _: *mut c_void) {
    crate::record::lifecycle::exiting(Some(code));
}

/// The agent's destructor.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = exits;

#[cfg_attr(test, expect(dead_code, reason = "the test process has no such destructor"))]
extern "C" fn exits() {
    if is_musl() && IS_WATCHED.load(Ordering::Relaxed) {
        crate::record::lifecycle::exiting(None);
    }
}

/// Learns what stack walks need to know about musl. Called once, when modules can be found.
#[cold]
pub(crate) fn learn() {
    if !is_musl() {
        return;
    }
    GET_ATTRIBUTES.store(real::look_up(c"pthread_getattr_np"), Ordering::Relaxed);
    GET_STACK.store(real::look_up(c"pthread_attr_getstack"), Ordering::Relaxed);
    let inside = libc::getauxval as *const () as u64;
    let Some(found) = loader::find(inside) else { return };
    let Ok(image) = Image::parse(found.start, |from, to| sys::copy(sys::thread_id(), from, to).is_ok())
    else {
        return;
    };
    let Some(code) = image.code.as_slice().iter().find(|code| code.contains(&inside)) else { return };
    for (place, name) in NEVER_RETURN.iter().zip(Text::NEVER_RETURN) {
        place.store(real::look_up(name).addr() as u64, Ordering::Relaxed);
    }
    let [start, end] = &TEXT;
    start.store(code.start, Ordering::Relaxed);
    end.store(code.end, Ordering::Relaxed);
}

/// The C library's code around an address, if its code must be read because it has no unwind tables.
#[cold]
pub(crate) fn text(address: u64) -> Option<Text<'static>> {
    let [start, end] = &TEXT;
    let (start, end) = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
    if !(start..end).contains(&address) {
        return None;
    }
    // SAFETY: the code of the C library, which is mapped readable and never unloaded.
    let code = unsafe { core::slice::from_raw_parts(start as *const u8, end.wrapping_sub(start) as usize) };
    let never_return = NEVER_RETURN.each_ref().map(|place| place.load(Ordering::Relaxed));
    Some(Text { code, address: start, never_return })
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
