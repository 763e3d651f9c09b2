//! Keeps threads that compute for long stretches from delaying services on the same machine.
//!
//! A thread that wakes up may preempt the running one, and then runs until its slice is over or, where the kernel
//! checks slices only at its clock tick, until the next tick: 4 ms on most machines, 10 ms on some. A service that
//! was about to answer waits that long. The thread that writes the capture wakes up often, and each time computes for
//! milliseconds.
//!
//! A `SCHED_BATCH` thread (Linux 2.6.16) preempts nobody when it wakes up. A long slice lets others preempt it when
//! they wake up: since Linux 6.12 those with shorter slices (`PREEMPT_SHORT`), before that any that have slept.
//! Unlike a lower priority, neither reduces the thread's share of the processor, so no more is lost when all
//! processors are busy.

use super::log::debug;
use std::io;
use std::mem;

/// Slice length in nanoseconds: several times that of other threads, which is 3 ms at most unless they chose another,
/// and short against the time covered by the queue.
const SLICE: u64 = 20_000_000;

/// Schedules the calling thread this way, unless somebody has already chosen how it is scheduled. Threads it starts
/// inherit that.
pub(crate) fn give_way() {
    if let Err(error) = try_give_way() {
        debug!("this thread is scheduled as others: {error}");
    }
}

fn try_give_way() -> io::Result<()> {
    let mut attributes = attributes()?;
    if attributes.sched_policy == libc::SCHED_OTHER as u32 {
        attributes.sched_policy = libc::SCHED_BATCH as u32;
        attributes.sched_runtime = SLICE;
        // SAFETY: the kernel reads as many bytes as the struct's size field says.
        checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })?;
    }
    Ok(())
}

/// How the calling thread is scheduled.
fn attributes() -> io::Result<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: plain numbers, for which zero is valid.
    let mut attributes: libc::sched_attr = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes at most `size` bytes.
    checked(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) })?;
    Ok(attributes)
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the thread keeps its share and changes only when it runs, and that its starter is unaffected.
    #[test]
    fn a_thread_gives_way_alone() {
        let before = attributes().unwrap();
        let inside = std::thread::spawn(|| {
            give_way();
            attributes().unwrap()
        });
        let inside = inside.join().unwrap();
        let expected = if before.sched_policy == libc::SCHED_OTHER as u32 {
            libc::SCHED_BATCH as u32
        } else {
            before.sched_policy
        };
        assert_eq!((inside.sched_policy, inside.sched_nice), (expected, before.sched_nice));
        assert_eq!(attributes().unwrap().sched_policy, before.sched_policy);
    }

    /// Check that the user's choice is kept.
    #[test]
    fn who_runs_only_when_nobody_else_does_stays_so() {
        let inside = std::thread::spawn(|| {
            let mut idle = attributes().unwrap();
            idle.sched_policy = libc::SCHED_IDLE as u32;
            // SAFETY: as in `try_give_way`.
            checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const idle, 0) }).unwrap();
            give_way();
            attributes().unwrap()
        });
        assert_eq!(inside.join().unwrap().sched_policy, libc::SCHED_IDLE as u32);
    }
}
