//! The agent's functions, looked up by name.
//!
//! Stable Rust has no weak symbols, so the dynamic loader is asked, once for each function.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::marker::PhantomData;
use core::ptr::without_provenance_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

type Block = *const c_void;
type Tell = unsafe extern "C" fn();
type Name = unsafe extern "C" fn(*const c_char);

static START: Function<Tell> = Function::new(c"memprof_start");
static STOP: Function<Tell> = Function::new(c"memprof_stop");
static MARK: Function<Name> = Function::new(c"memprof_mark");
static MARK_BEGIN: Function<Name> = Function::new(c"memprof_mark_begin");
static MARK_END: Function<Name> = Function::new(c"memprof_mark_end");
static POOL: Function<unsafe extern "C" fn(*const c_char) -> c_uint> = Function::new(c"memprof_pool");
static REPORT_ALLOC: Function<unsafe extern "C" fn(c_uint, Block, usize)> =
    Function::new(c"memprof_report_alloc");
static REPORT_REALLOC: Function<unsafe extern "C" fn(c_uint, Block, Block, usize)> =
    Function::new(c"memprof_report_realloc");
static REPORT_FREE: Function<unsafe extern "C" fn(c_uint, Block)> = Function::new(c"memprof_report_free");
static FUNCTION: Function<unsafe extern "C" fn(*const c_char, *const c_char) -> c_uint> =
    Function::new(c"memprof_function");
static SET_STACK_PROVIDER: Function<unsafe extern "C" fn(Option<Provider>) -> Option<Provider>> =
    Function::new(c"memprof_set_stack_provider");

/// `struct memprof_frame`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) function: c_uint,
    pub(crate) line: c_uint,
    pub(crate) place: Block,
}

/// `memprof_stack_provider_t`.
pub(crate) type Provider = unsafe extern "C" fn(frames: *mut Frame, room: usize) -> usize;

pub(crate) fn is_present() -> bool {
    MARK.get().is_some()
}

pub(crate) fn start() {
    if let Some(function) = START.get() {
        // SAFETY: may be called anywhere.
        unsafe { function() }
    }
}

pub(crate) fn stop() {
    if let Some(function) = STOP.get() {
        // SAFETY: may be called anywhere.
        unsafe { function() }
    }
}

pub(crate) fn mark(name: &CStr) {
    tell_name(&MARK, name);
}

pub(crate) fn mark_begin(name: &CStr) {
    tell_name(&MARK_BEGIN, name);
}

pub(crate) fn mark_end(name: &CStr) {
    tell_name(&MARK_END, name);
}

fn tell_name(function: &Function<Name>, name: &CStr) {
    if let Some(function) = function.get() {
        // SAFETY: the name is a string, and only read during the call.
        unsafe { function(name.as_ptr()) }
    }
}

/// The number of a pool, 0 without the agent.
pub(crate) fn pool(name: &CStr) -> c_uint {
    // SAFETY: the name is a string, and only read during the call.
    POOL.get().map_or(0, |function| unsafe { function(name.as_ptr()) })
}

#[inline]
pub(crate) fn report_alloc(pool: c_uint, block: Block, size: usize) {
    if let Some(function) = REPORT_ALLOC.get() {
        // SAFETY: the agent treats blocks as numbers and reads none.
        unsafe { function(pool, block, size) }
    }
}

#[inline]
pub(crate) fn report_realloc(pool: c_uint, old: Block, block: Block, size: usize) {
    if let Some(function) = REPORT_REALLOC.get() {
        // SAFETY: as above.
        unsafe { function(pool, old, block, size) }
    }
}

#[inline]
pub(crate) fn report_free(pool: c_uint, block: Block) {
    if let Some(function) = REPORT_FREE.get() {
        // SAFETY: as above.
        unsafe { function(pool, block) }
    }
}

/// The number of a script's function; 0 without the agent.
pub(crate) fn function(name: &CStr, file: &CStr) -> c_uint {
    // SAFETY: both are strings, and only read during the call.
    FUNCTION.get().map_or(0, |function| unsafe { function(name.as_ptr(), file.as_ptr()) })
}

pub(crate) fn set_stack_provider(provider: Option<Provider>) {
    if let Some(function) = SET_STACK_PROVIDER.get() {
        // SAFETY: the caller who passed the provider made sure that it may be called in any thread.
        unsafe { function(provider) };
    }
}

/// A function of the agent, of the type `F` that its header declares.
struct Function<F> {
    name: &'static CStr,
    /// Null before the first look-up, [`ABSENT`] when there is no such function.
    address: AtomicPtr<c_void>,
    function: PhantomData<F>,
}

/// No function has this address.
const ABSENT: *mut c_void = without_provenance_mut(1);

impl<F: Copy> Function<F> {
    const fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a pointer to a function") };
        Self { name, address: AtomicPtr::new(core::ptr::null_mut()), function: PhantomData }
    }

    // Cost: a load and two compares.
    #[inline]
    fn get(&self) -> Option<F> {
        // Relaxed: the address is all there is to know, and every look-up finds the same one.
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = self.find();
        }
        // SAFETY: the function of this name, to which the statics above give the type in the agent's header.
        (address != ABSENT).then(|| unsafe { core::mem::transmute_copy::<*mut c_void, F>(&address) })
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let found = look_up(self.name);
        let address = if found.is_null() { ABSENT } else { found };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

#[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
fn look_up(name: &CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // A null handle means the global scope, which contains preloaded libraries.
    // SAFETY: the name is a string.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) }
}

#[cfg(not(all(target_os = "linux", not(target_feature = "crt-static"))))]
fn look_up(_: &CStr) -> *mut c_void {
    core::ptr::null_mut()
}
