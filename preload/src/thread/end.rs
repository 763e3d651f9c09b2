//! The end of a thread, as libc tells it by the destructor of a key.

use crate::platform::own_call::own_call;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// Rounds of thread-specific destructors that the agent skips, so that those of others, which may free, run first.
/// libc makes four.
const ROUNDS: usize = 3;
/// Keys whose values each thread has room for; for a key beyond these libc allocates. Without a key, rings are
/// reclaimed when they are needed.
const KEYS: libc::pthread_key_t = 32;
/// The thread key plus one, 0 while there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Has `ends` called at the end of threads that are watched; without it, rings are reclaimed when they are needed.
#[cold]
pub(crate) fn prepare(ends: extern "C" fn(*mut c_void)) {
    let mut key = 0;
    // SAFETY: the destructor is a function of this library, and this library is never unloaded.
    if own_call(|| unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) }) == 0 {
        if key < KEYS {
            KEY.store(key + 1, Ordering::Relaxed);
        } else {
            // SAFETY: created just now, and no thread has a value for it.
            own_call(|| unsafe { libc::pthread_key_delete(key) });
        }
    }
}

/// Has the function called at the thread's end.
#[cold]
pub(crate) fn watch() {
    set_round(1);
}

fn set_round(round: usize) {
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the key was made by us; the value is a number and never dereferenced.
        own_call(|| unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(round)) });
    }
}

/// True while other destructors of the thread may run after this one, which libc then calls once more.
#[cold]
pub(crate) fn is_early(round: usize) -> bool {
    let is_early = round < ROUNDS;
    if is_early {
        set_round(round + 1);
    }
    is_early
}
