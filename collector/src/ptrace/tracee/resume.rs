//! Resumes threads that were stopped in a system call, so that they do not notice.

use super::{Mask, Tracee};
use crate::ptrace::arch::Registers;
use crate::ptrace::threads::task;
use std::io;

/// Resumes a thread that was interrupted in a system call, so that the call does not report the interruption.
pub(crate) fn go_on(pid: u32, thread: &Tracee, mut registers: Registers) -> io::Result<()> {
    if registers.repeat_cut() && !has_signal(pid, thread.id(), thread.mask()?) {
        return thread.set_registers(&registers);
    }
    Ok(())
}

/// The same just before it resumes, for a thread that was made ready to [`go_on`] when it stopped: if a signal has come
/// meanwhile, the call reports that.
pub(crate) fn go_on_with_signal(pid: u32, thread: &Tracee, registers: Registers) -> io::Result<()> {
    let mut repeating = registers;
    if repeating.repeat_cut() && has_signal(pid, thread.id(), thread.mask()?) {
        return thread.set_registers(&registers);
    }
    Ok(())
}

/// The same for a thread that stopped after it was given up.
pub(crate) fn go_on_unseen(thread: &Tracee) {
    if thread.signal() == 0 {
        // A thread's own number leads to its files under /proc, too.
        let _ = thread.registers().and_then(|registers| go_on(thread.id(), thread, registers));
    }
}

/// True while an unblocked signal is pending for the thread, or for its whole process.
pub(crate) fn has_signal(pid: u32, thread: u32, blocked: Mask) -> bool {
    signals(pid, thread).is_some_and(|signals| signals.pending & !blocked != 0)
}

/// The state of a thread's signals.
pub(crate) struct Signals {
    pub(crate) pending: Mask,
    pub(crate) ignored: Mask,
}

/// Reads it; `None` when the thread is gone.
pub(crate) fn signals(pid: u32, thread: u32) -> Option<Signals> {
    let status = task(pid, thread).and_then(|task| task.status()).ok()?;
    Some(Signals { pending: status.sigpnd | status.shdpnd, ignored: status.sigign })
}
