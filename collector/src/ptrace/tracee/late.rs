//! Threads that did not stop when asked to, for instance while waiting for a `vfork` child or a disk.
//!
//! Such a thread stops on its way out of the kernel, however late that is, and can be released only then. So our
//! tracing thread keeps these threads and checks them until they have stopped.

use super::Tracee;
use super::resume::go_on_unseen;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

/// How often they are checked, and so the longest time for which each is stopped.
pub(crate) const PACE: Duration = Duration::from_millis(10);
/// How long our thread waits at its end for threads that the kernel can release properly by itself.
const TIMEOUT: Duration = Duration::from_millis(100);

thread_local! {
    /// Not dropped with our thread: the kernel releases them then.
    static LATE: RefCell<Vec<ManuallyDrop<Tracee>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a thread until it has stopped.
pub(crate) fn keep(tracee: ManuallyDrop<Tracee>) {
    // Fails only while our thread is ending.
    let _ = LATE.try_with(|late| late.borrow_mut().push(tracee));
}

/// True for a thread that has yet to stop: we trace it already, and do not know where it is.
pub(crate) fn is_late(thread: u32) -> bool {
    LATE.with_borrow(|late| late.iter().any(|tracee| tracee.id() == thread))
}

/// True while there are any.
pub(crate) fn is_any() -> bool {
    LATE.with_borrow(|late| !late.is_empty())
}

/// Releases those that have stopped meanwhile.
pub(crate) fn let_go() {
    // The list is not borrowed meanwhile: a thread may be put back into it.
    for mut tracee in LATE.take() {
        match tracee.has_stopped() {
            Ok(false) => keep(tracee),
            Ok(true) => {
                go_on_unseen(&tracee);
                drop(ManuallyDrop::into_inner(tracee));
            }
            Err(_) => {}
        }
    }
}

/// Waits for them at the end of our thread, and for one with a breakpoint as long as it takes: the kernel would leave
/// the breakpoint in place, and it would kill the thread.
pub(crate) fn settle() {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let_go();
        let has_breakpoint = LATE.with_borrow(|late| late.iter().any(|tracee| tracee.has_breakpoint()));
        if !is_any() || Instant::now() > deadline && !has_breakpoint {
            return;
        }
        std::thread::sleep(PACE);
    }
}
