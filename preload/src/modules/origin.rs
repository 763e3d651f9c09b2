//! Which library an address lies in, as `dladdr` says.

use core::ffi::c_void;

/// The base address of the module that an address lies in.
#[cold]
pub(crate) fn base_of(address: *const c_void) -> Option<usize> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid, or filled in.
    (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase.addr())
}

/// True when a function lies in a library of the C++ runtime, and not in a program that was linked with one
/// statically.
#[cold]
pub(crate) fn is_of_cxx_library(function: *const c_void) -> bool {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = !function.is_null() && unsafe { libc::dladdr(function, info.as_mut_ptr()) } != 0;
    // SAFETY: zeroed, which is valid, or filled in.
    let path = unsafe { info.assume_init() }.dli_fname;
    if !found || path.is_null() {
        return false;
    }
    // SAFETY: the loader's own string, which lives as long as the library.
    let path = unsafe { core::ffi::CStr::from_ptr(path) }.to_bytes();
    [&b"libstdc++.so"[..], b"libc++.so"].iter().any(|name| path.windows(name.len()).any(|part| part == *name))
}
