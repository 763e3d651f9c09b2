//! The key of thread-specific data under which an interpreter keeps its state of each thread.
//!
//! `pthread_getspecific` takes no lock, allocates nothing, and cannot return another thread's value. Which key it is,
//! nothing says. So until it is known all keys are tried, and the right one is that whose value is the state.

use crate::platform::arch;
use core::sync::atomic::{AtomicU32, Ordering};

/// Keys that are tried: as many as any C library has at least.
const KEYS: u32 = 128;
/// After so many stacks without a state, or from the beginning if the key is known, keys are tried …
const PATIENCE: u32 = 4096;
/// … at one stack of so many.
const RARELY: u32 = 64;

/// The key, plus one; 0 while it is not known. Relaxed: a number, and each value is checked.
pub(crate) struct ThreadKey(AtomicU32);

impl ThreadKey {
    /// A key that is not known yet.
    pub(crate) const fn unknown() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The value in this thread; 0 for none.
    #[inline(always)]
    pub(crate) fn value(&self) -> u64 {
        // Relaxed: see `ThreadKey`.
        let key = self.0.load(Ordering::Relaxed);
        if key == 0 { 0 } else { value(key.wrapping_sub(1)) }
    }

    /// Finds the key, whose value in this thread is the state; `misses` is how many stacks of the thread had none.
    #[cold]
    pub(crate) fn search(&self, misses: &mut u32, mut is_it: impl FnMut(u64) -> bool) -> Option<u64> {
        *misses = misses.saturating_add(1);
        // Relaxed: see `ThreadKey`. Where there is a key, threads without a value have no state.
        let patience = if self.0.load(Ordering::Relaxed) == 0 { PATIENCE } else { 0 };
        if *misses > patience && !misses.is_multiple_of(RARELY) {
            return None;
        }
        let (key, state) = (0..KEYS).find_map(|key| {
            let state = value(key);
            (state != 0 && is_it(state)).then_some((key, state))
        })?;
        self.0.store(key.wrapping_add(1), Ordering::Relaxed);
        Some(state)
    }
}

/// What `pthread_self` returns.
pub(crate) fn this_thread() -> u64 {
    // SAFETY: returns a number.
    unsafe { libc::pthread_self() }
}

/// True for an address on the stack that this thread, whose `pthread_self` is `id`, runs on. That is where a thread's
/// stack ends, except that of the main thread, whose stack ends above everything else.
pub(crate) fn is_on_stack(address: u64, id: u64) -> bool {
    let here = arch::stack_pointer() as u64;
    address > here && (id < here || address < id)
}

/// The value of a key in this thread; 0 for none, and for a number that C libraries need not have.
#[inline(always)]
pub(crate) fn value(key: u32) -> u64 {
    if key >= KEYS {
        return 0;
    }
    // SAFETY: C libraries have so many keys at least, and return null for those that are not in use.
    unsafe { libc::pthread_getspecific(key) }.addr() as u64
}
