//! Threads that do much at a time, beside services that want to go on at once.
//!
//! Whatever wakes up may be put in the place of what runs, and then goes on until its slice is over or, where the kernel looks at slices
//! only when its clock ticks, until the next tick: 4 ms on most machines, 10 on some. A service that was just about to answer waits that
//! long. The thread that writes the capture wakes up often, and computes for milliseconds when it does.
//!
//! `SCHED_BATCH` (Linux 2.6.16) takes nobody's place when it wakes up. A long slice lets others take its own when they wake up: since
//! Linux 6.12 those with shorter ones do (`PREEMPT_SHORT`), and before, whoever has slept. Neither changes its share of the processor,
//! as a lower priority would, so that no more is lost where all processors are busy.

use crate::log::debug;
use std::io;
use std::mem;

/// Nanoseconds of a slice: some times that of others, 3 ms at most unless they chose another, and little of what fits into the queue.
const SLICE: u64 = 20_000_000;

/// Makes the calling thread one of them, unless somebody has chosen how it is scheduled. Threads that it starts inherit that.
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
        // SAFETY: the kernel reads as many bytes as the structure says of itself.
        checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })?;
    }
    Ok(())
}

/// How the calling thread is scheduled.
fn attributes() -> io::Result<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: numbers, for which zeros will do.
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

    /// Check that the thread itself is another one's equal but for when it runs, and that its starter is as before.
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

    /// Check that a choice of the user's stays.
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
