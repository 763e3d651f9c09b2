//! The calling thread's `errno`, which hooks leave as the next function left it.

use core::ffi::c_int;

/// Its value.
#[cold]
pub(crate) fn get() -> c_int {
    // SAFETY: may always be called, and returns the address of the calling thread's own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { place.read() }
}

/// Sets its value.
#[cold]
pub(crate) fn set(error: c_int) {
    // SAFETY: may always be called, and returns the address of the calling thread's own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { place.write(error) };
}
