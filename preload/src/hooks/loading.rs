//! The function that loads libraries.

use super::shims::dlopen_shim;
use crate::next::real;
use crate::platform::own_call::own_call;
use crate::record::tracker;
use crate::redirect::linkage;
use core::ffi::{CStr, c_char, c_int, c_void};
use shared_ring::record::name::MarkKind;

dlopen_shim!(
    /// `void *dlopen(const char *file, int flags)`: jumps on, since the loader looks at who called it, unless the
    /// library would bind past everybody (`RTLD_DEEPBIND`).
    dlopen, may_bind => open_deeply, else real::DLOPEN, real::dlopen_address
);

/// True when the caller makes no difference to where a library is found, and redirecting the library's calls is up to
/// us. If we were loaded late ourselves, modules that come after us are not recorded.
unsafe extern "C" fn may_bind(file: *const c_char) -> bool {
    if file.is_null() || real::was_injected() {
        return false;
    }
    // SAFETY: the caller of `dlopen` passes a string.
    let file = unsafe { CStr::from_ptr(file) }.to_bytes();
    file.contains(&b'/') && !file.contains(&b'$')
}

unsafe extern "C" fn open_deeply(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: passed on unchanged.
    let handle = unsafe { real::dlopen(file, flags) }.unwrap_or(core::ptr::null_mut());
    if !handle.is_null()
        && let Some(unseen) = own_call(|| linkage::bind(handle, super::has))
    {
        // SAFETY: the loader's names are strings that live as long as the module, which nobody knows yet.
        tracker::marked(MarkKind::Unseen, unsafe { CStr::from_ptr(unseen.name) }.to_bytes());
    }
    handle
}
