//! The program's stack provider: a function that reports what an interpreter is running.
//!
//! It is called within the hook, for each stack that is recorded, before the native frames are walked. The hook
//! counts as busy meanwhile: allocations of the provider go straight to the allocator and are counted as nested, like
//! calls of a signal handler. Its answers are not trusted: functions that were never named are left out, and places
//! only determine the order of frames.
//!
//! ```text
//!  machine            sp      script            place      stack that is recorded
//!  main             7f80                                   main
//!  eval             7f00      main.toy:start    7f20       eval
//!                                                          main.toy:start
//!  eval             7e00      main.toy:fill     7e20       eval
//!                                                          main.toy:fill
//!  builtin_list     7dc0                                   builtin_list
//! ```
//!
//! A script's frame comes after the native frame that contains its place, which is the frame that runs it.

use crate::platform::{errno, invalidations};
use core::ffi::{c_uint, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// `struct memprof_frame`: a frame of an interpreter's stack.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ScriptFrame {
    /// Number of the function, see [`crate::modules::functions`].
    pub(crate) function: c_uint,
    /// The line that it has reached, 0 for none.
    pub(crate) line: c_uint,
    /// An address within the native frame that runs it; null if that is unknown.
    pub(crate) place: *const c_void,
}

const _: () = assert!(size_of::<ScriptFrame>() == 16);

/// Most frames that are asked for at once.
pub(crate) const MOST_FRAMES: usize = 1024;

/// `memprof_stack_provider_t`: fills in frames, innermost first, and returns the number of frames that there are.
pub(crate) type Provider = unsafe extern "C" fn(frames: *mut ScriptFrame, room: usize) -> usize;

static PROVIDER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Sets another provider, or none, and returns the previous one. A thread may still be running that one.
#[cold]
pub(crate) fn set(provider: *mut c_void) -> *mut c_void {
    // AcqRel: pairs with the load in `frames`, and whoever replaces a provider sees what was done before it was set.
    let before = PROVIDER.swap(provider, Ordering::AcqRel);
    invalidations::note_provider(!provider.is_null());
    if PROVIDER.load(Ordering::Acquire) != provider {
        // Another thread has set one meanwhile; the last thread to look is right.
        invalidations::note_provider(!PROVIDER.load(Ordering::Acquire).is_null());
    }
    before
}

/// What a provider reported; the frames lie in the thread's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderResult {
    /// Number of frames.
    pub(crate) count: usize,
    /// There are more frames, further out.
    pub(crate) is_cut: bool,
}

/// Calls the provider, to fill in frames; `None` when there is none.
#[cold]
pub(crate) fn frames(frames: &mut [ScriptFrame]) -> Option<ProviderResult> {
    let provider = PROVIDER.load(Ordering::Acquire);
    if provider.is_null() {
        return None;
    }
    // SAFETY: the program says that this is the address of such a function.
    let provider = unsafe { core::mem::transmute::<*mut c_void, Provider>(provider) };
    let saved = errno::get();
    // SAFETY: the program vouches that it may be called in any thread; there is room for so many frames.
    let count = unsafe { provider(frames.as_mut_ptr(), frames.len()) };
    errno::set(saved);
    Some(ProviderResult { count: count.min(frames.len()), is_cut: count > frames.len() })
}
