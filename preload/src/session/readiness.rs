//! Whether the agent can work in this process, and what has to be asked of libc before it does.

use super::upcalls;
use crate::modules::{self, c_library, origin};
use crate::next::real;
use crate::platform::own_call::own_call;
use crate::platform::{config, sys};
use crate::thread::end;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

/// True once libc was asked for all of that. Copied by fork, as libc's lists are.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// True when the agent can work at all: with glibc and with musl.
pub(crate) fn is_supported() -> bool {
    c_library::is_known()
}

/// True when the environment can be read and the next allocator is known.
pub(crate) fn is_ready() -> bool {
    real::is_resolved() && config::has_environment()
}

/// True unless another copy of this library, from another path, comes before this one. That one gets all calls first,
/// and goes on to this one: it records, and this one stays at rest.
#[cold]
pub(crate) fn is_first_copy() -> bool {
    // SAFETY: the name is a string. Every copy has this function.
    let first = own_call(|| unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sysprof_memprof_injected".as_ptr()) });
    origin::base_of(first) == origin::base_of(is_first_copy as *const () as *const c_void)
}

/// Registers for the ends of threads and of the process, and prepares what walks need: everything that cannot be done
/// within a hook. Called once, in a process that is or may be recorded; false when it fails.
#[cold]
pub(crate) fn prepare() -> bool {
    if IS_PREPARED.load(Ordering::Relaxed) {
        return true;
    }
    // Without it unwind tables cannot be found without the loader's lock.
    if !modules::prepare(real::look_up) {
        return false;
    }
    sys::register_fences();
    end::prepare(upcalls::thread_ends);
    c_library::watch_exit(upcalls::exits);
    IS_PREPARED.store(true, Ordering::Relaxed);
    true
}
