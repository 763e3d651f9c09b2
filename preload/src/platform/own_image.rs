//! The agent's own library: where it is mapped, and by which path the loader knows it.

use core::ffi::{CStr, c_char, c_void};
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The range of its mapping.
static RANGE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// The path by which the loader knows this library; null while that is unknown.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

/// Notes where the library is.
pub(crate) fn note(range: Range<u64>) {
    RANGE[0].store(range.start, Ordering::Relaxed);
    RANGE[1].store(range.end, Ordering::Relaxed);
}

/// True for code of the agent itself.
#[inline(always)]
pub(crate) fn has(address: u64) -> bool {
    (RANGE[0].load(Ordering::Relaxed)..RANGE[1].load(Ordering::Relaxed)).contains(&address)
}

/// Size of it in bytes.
pub(crate) fn bytes() -> u64 {
    RANGE[1].load(Ordering::Relaxed).saturating_sub(RANGE[0].load(Ordering::Relaxed))
}

/// Remembers the path by which the loader knows this library. Called once, by the constructor: later the loader's
/// lock may be held by a thread that does not exist in this forked child.
pub(crate) fn remember_path() {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = unsafe { libc::dladdr(remember_path as *const () as *const c_void, info.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid, or filled in.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found != 0 {
        PATH.store(name.cast_mut(), Ordering::Relaxed);
    }
}

/// The library's path, if the loader's name for it is one.
pub(crate) fn path() -> Option<&'static [u8]> {
    let name = PATH.load(Ordering::Relaxed);
    if name.is_null() {
        return None;
    }
    // SAFETY: the loader's string for a library that is never unloaded.
    Some(unsafe { CStr::from_ptr(name) }.to_bytes()).filter(|path| path.contains(&b'/'))
}

/// The same as the loader keeps it; null while it is unknown.
pub(crate) fn name() -> *const c_char {
    PATH.load(Ordering::Relaxed)
}
