//! Threads that did not stop when they were asked to, as one that waits for the child of its `vfork` or for a disk.
//!
//! They stop on their way out of the kernel, however late that is, and can be let go only then. So they are kept, by the thread of
//! ours that traces them, and looked at until they do.

use super::remote::go_on_unseen;
use super::tracee::Tracee;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

/// How often they are looked at: each stands still for so long at most.
pub(crate) const PACE: Duration = Duration::from_millis(10);
/// Those that the kernel lets go well when our thread ends are waited for so long.
const PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    /// Not dropped with our thread: the kernel lets them go then.
    static LATE: RefCell<Vec<ManuallyDrop<Tracee>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a thread until it has stopped.
pub(crate) fn keep(tracee: ManuallyDrop<Tracee>) {
    // Cannot fail but at the end of our thread.
    let _ = LATE.try_with(|late| late.borrow_mut().push(tracee));
}

/// True of a thread that has still to stop: it is ours already, and nobody knows where it is.
pub(crate) fn is_late(thread: u32) -> bool {
    LATE.with_borrow(|late| late.iter().any(|tracee| tracee.id() == thread))
}

/// True while there are any.
pub(crate) fn is_any() -> bool {
    LATE.with_borrow(|late| !late.is_empty())
}

/// Lets those go that have stopped meanwhile.
pub(crate) fn let_go() {
    // The list is free while they go: one could come back to it.
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

/// Waits for them at the end of our thread. One with a breakpoint is waited for as long as it takes: the kernel would leave it that,
/// and it would be killed there.
pub(crate) fn settle() {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let_go();
        let has_breakpoint = LATE.with_borrow(|late| late.iter().any(|tracee| tracee.has_breakpoint()));
        if !is_any() || Instant::now() > deadline && !has_breakpoint {
            return;
        }
        std::thread::sleep(PACE);
    }
}
