//! Inherited state that this process changes for itself. Before `main`, the Rust runtime changes the disposition of
//! SIGPIPE and opens standard streams that were closed; [`lift_limits`] raises the limits on file size and
//! descriptors. The target must get all of it as it was.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Set when SIGPIPE was ignored.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Bit N is set when descriptor N, 0 to 2, was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);
/// The original limit on file size, if it was raised, or [`UNLIMITED`].
static FILE_LIMIT: AtomicU64 = AtomicU64::new(UNLIMITED);
/// The original limit on descriptors, if it was raised, or [`UNLIMITED`].
static DESCRIPTOR_LIMIT: AtomicU64 = AtomicU64::new(UNLIMITED);
/// Set when we ignore SIGXFSZ for our own purposes.
static SIGXFSZ_TAKEN: AtomicBool = AtomicBool::new(false);

const UNLIMITED: u64 = u64::MAX;

/// Run by the dynamic loader before the runtime starts.
#[used]
// SAFETY: .init_array holds pointers to functions that the loader calls once, and this is one; it needs nothing that
// is not ready by then.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // Relaxed throughout: there is only one thread yet, and later ones are started after this.
    SIGPIPE_IGNORED.store(crate::base::signals::is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    let mut closed = 0;
    for descriptor in 0..3 {
        // SAFETY: F_GETFD changes nothing and takes any number.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            closed |= 1 << descriptor;
        }
    }
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Raises, as far as this process may, the limits that a recording reaches sooner than other programs: for this
/// process, not for targets.
///
/// File size (`ulimit -f`): of the agent, shared memory and the capture. Exceeding what still applies is then an
/// error of the write, instead of killing the process. Descriptors (`ulimit -n`): one for each process, and some for
/// its memory.
pub fn lift_limits() {
    if !crate::base::signals::is_ignored(libc::SIGXFSZ) {
        // SAFETY: SIG_IGN is a valid action for SIGXFSZ.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        // Relaxed: read by children of this process, created later.
        SIGXFSZ_TAKEN.store(true, Ordering::Relaxed);
    }
    lift(Resource::Fsize, &FILE_LIMIT);
    lift(Resource::Nofile, &DESCRIPTOR_LIMIT);
}

fn lift(resource: Resource, before: &AtomicU64) {
    let limit = getrlimit(resource);
    let Some(current) = limit.current else { return };
    if limit.maximum != limit.current
        && setrlimit(resource, Rlimit { current: limit.maximum, ..limit }).is_ok()
    {
        // Relaxed: read by children of this process, created later.
        before.store(current, Ordering::Relaxed);
    }
}

/// Restores in a child, between fork and execve, what was changed. Async-signal-safe.
pub(super) fn restore() {
    let action = if SIGPIPE_IGNORED.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: SIG_IGN and SIG_DFL are valid actions for SIGPIPE.
    unsafe { libc::signal(libc::SIGPIPE, action) };
    if SIGXFSZ_TAKEN.load(Ordering::Relaxed) {
        // SAFETY: SIG_DFL is a valid action for SIGXFSZ.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
    }
    for (resource, before) in [(Resource::Fsize, &FILE_LIMIT), (Resource::Nofile, &DESCRIPTOR_LIMIT)] {
        let current = before.load(Ordering::Relaxed);
        if current != UNLIMITED {
            // It was the limit before, so setting it succeeds; and an error could not be reported here.
            let maximum = getrlimit(resource).maximum;
            let _ = setrlimit(resource, Rlimit { current: Some(current), maximum });
        }
    }
    for descriptor in 0..3 {
        if CLOSED.load(Ordering::Relaxed) & (1 << descriptor) != 0 {
            // SAFETY: this process is about to be replaced and no longer uses its standard streams.
            unsafe { libc::close(descriptor) };
        }
    }
}
