//! What this process was given and the Rust runtime changes before `main`: the disposition of SIGPIPE, and standard
//! streams that were closed. The target is to get both as they were.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Set when SIGPIPE was ignored.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Bit N is set when descriptor N of 0 to 2 was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Run by the dynamic loader before the runtime's own start.
#[used]
// SAFETY: .init_array holds pointers to functions that the loader calls once, and this is one; it needs nothing that
// is not ready by then.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // Relaxed throughout: there is only one thread yet, and those that come are started after it.
    SIGPIPE_IGNORED.store(super::signals::is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    let mut closed = 0;
    for descriptor in 0..3 {
        // SAFETY: F_GETFD changes nothing and takes any number.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            closed |= 1 << descriptor;
        }
    }
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Gives a child between fork and execve back what the runtime took. Async-signal-safe.
pub(super) fn restore() {
    let action = if SIGPIPE_IGNORED.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: SIG_IGN and SIG_DFL are valid actions for SIGPIPE.
    unsafe { libc::signal(libc::SIGPIPE, action) };
    for descriptor in 0..3 {
        if CLOSED.load(Ordering::Relaxed) & (1 << descriptor) != 0 {
            // SAFETY: this process is about to be replaced and uses its standard streams no more.
            unsafe { libc::close(descriptor) };
        }
    }
}
