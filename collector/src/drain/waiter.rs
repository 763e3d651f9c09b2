//! How the drain thread waits, and what wakes it.
//!
//! - A recorded thread, when its ring fills past its mark or it starts: it increments a count in its segment, see
//!   [`shared_ring::wakeup`].
//! - Other threads of ours, when an image connects, a process is gone, the writer has room again, or the recording
//!   ends: they use the [`Wakeup`], a count of our own of the same kind.
//! - The clock, six times a second while any process is recorded.
//!
//! The thread waits on all counts at once (`futex_waitv`). If the kernel cannot do that, or not for so many, the
//! thread looks more often instead.
//!
//! A misbehaving agent may ring without end. When rings of agents wake the thread for nothing, it ignores agents for
//! a while, twice as long each time.

use crate::image::Image;
use crate::image::wakeup::{MOST, Wakeup};
use rustix::io::Errno;
use rustix::thread::futex::{self, Wait, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{ClockId, Timespec, clock_gettime};
use shared_ring::wakeup;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest sleep while any process is recorded, so that rare events still reach the file.
pub(crate) const LONGEST: Duration = Duration::from_millis(150);
/// The same while nobody is: only a wakeup can tell news.
const ALONE: Duration = Duration::from_secs(60);
/// Shortest sleep where the kernel cannot wait for all counts at once …
const POLLING: Duration = Duration::from_millis(8);
/// … and, while thousands of processes are idle, how many times as long as looking at them all takes.
const REST: u32 = 20;
/// Backoff after a call for nothing, and its limit.
const BACKOFF: Duration = Duration::from_micros(200);
const LONGEST_BACKOFF: Duration = Duration::from_millis(10);
/// A wake-up was for nothing if fewer words came: even the smallest ring has this many when past its mark.
const WORTH: usize = 128;

/// What woke the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeReason {
    OtherThread,
    Agent,
    Clock,
}

/// The drain thread's sleep.
#[derive(Debug)]
pub(crate) struct Waiter {
    wakeup: Arc<Wakeup>,
    /// The wakeup's count before the current round.
    seen: u32,
    waits: Vec<Wait>,
    pub(super) woken: WakeReason,
    backoff: Duration,
    /// When the present round began.
    began: Instant,
    /// When the last round that visited all images began, and how long after it the next one is due where the kernel
    /// cannot wait for all counts.
    polled: Instant,
    polling: Duration,
    can_wait_for_many: bool,
    /// Times the thread slept.
    pub(crate) sleeps: u64,
}

impl Waiter {
    pub(crate) fn new(wakeup: Arc<Wakeup>) -> Waiter {
        Waiter {
            wakeup,
            seen: 0,
            waits: Vec::new(),
            woken: WakeReason::OtherThread,
            backoff: Duration::ZERO,
            began: Instant::now(),
            polled: Instant::now(),
            polling: POLLING,
            can_wait_for_many: true,
            sleeps: 0,
        }
    }

    /// A round begins: any wakeup from now on ends the next sleep.
    pub(crate) fn listen(&mut self) {
        // Acquire pairs with the Release addition in `Wakeup::notify`.
        self.seen = self.wakeup.count.load(Ordering::Acquire);
        self.began = Instant::now();
    }

    /// The round has moved so many words, or found something else that it was called for.
    pub(crate) fn moved(&mut self, words: usize, is_called_for: bool) {
        let is_for_nothing = self.woken == WakeReason::Agent && words < WORTH && !is_called_for;
        self.backoff =
            if is_for_nothing { (self.backoff * 2).clamp(BACKOFF, LONGEST_BACKOFF) } else { Duration::ZERO };
    }

    /// The round has visited all images, and moved so many words of those that could not be waited for.
    pub(crate) fn polled(&mut self, words: usize) {
        let rest = if words < WORTH { self.began.elapsed() * REST } else { Duration::ZERO };
        (self.polled, self.polling) = (self.began, rest.clamp(POLLING, LONGEST));
    }

    /// True when a round is due that visits all images.
    pub(crate) fn is_time_to_poll(&self) -> bool {
        self.polled.elapsed() >= self.polling
    }

    /// True when so many images can be waited for.
    pub(crate) fn can_wait_for(&self, images: usize) -> bool {
        self.can_wait_for_many && images < MOST
    }

    /// Sleeps until there is something to do; if there are `others` besides these images, until these have to be looked
    /// at. Each image comes with the count of calls when it was last read. `is_due` tells whether there is something
    /// already; it is called once all agents know that we are about to sleep.
    pub(crate) fn sleep<'i>(
        &mut self,
        images: impl Iterator<Item = (&'i Image, u32)> + Clone,
        others: bool,
        is_due: impl FnOnce() -> bool,
    ) {
        self.waits.clear();
        self.add(&self.wakeup.clone().count, self.seen, WaitFlags::PRIVATE);
        if !self.backoff.is_zero() {
            let backoff = self.backoff;
            if self.wait(backoff) == WakeReason::OtherThread {
                self.woken = WakeReason::OtherThread;
                return;
            }
        }
        let mut is_anybody = false;
        let mut is_too_many = false;
        for (image, heard) in images.clone() {
            is_anybody = true;
            wakeup::fall_asleep(&image.memory.control().header().asleep);
            is_too_many |= self.waits.len() == MOST;
            if !is_too_many {
                self.add(&image.memory.segment().header().wakeups, heard, WaitFlags::empty());
            }
        }
        let longest = match (is_anybody || others, others || is_too_many || !self.can_wait_for_many) {
            (false, _) => ALONE,
            (true, false) => LONGEST,
            (true, true) => self.polling.saturating_sub(self.polled.elapsed()),
        };
        self.woken = if is_due() { WakeReason::OtherThread } else { self.wait(longest) };
        for (image, _) in images {
            wakeup::wake_up(&image.memory.control().header().asleep);
        }
    }

    /// Sleeps until a wakeup or until the time is over, ignoring agents.
    pub(crate) fn sleep_for(&mut self, time: Duration) {
        self.waits.clear();
        self.add(&self.wakeup.clone().count, self.seen, WaitFlags::PRIVATE);
        self.woken = self.wait(time);
    }

    fn add(&mut self, word: &AtomicU32, count: u32, flags: WaitFlags) {
        let mut wait = Wait::new();
        wait.val = count.into();
        wait.uaddr = WaitPtr::new(word.as_ptr().cast());
        wait.flags = flags | WaitFlags::SIZE_U32;
        self.waits.push(wait);
    }

    fn wait(&mut self, longest: Duration) -> WakeReason {
        self.sleeps += 1;
        if self.can_wait_for_many {
            // This call takes a deadline, not a duration.
            let end = later(clock_gettime(ClockId::Monotonic), longest);
            match futex::waitv(&self.waits, WaitvFlags::empty(), Some(&end), ClockId::Monotonic) {
                Err(Errno::NOSYS | Errno::PERM) => {
                    self.can_wait_for_many = false;
                    return WakeReason::OtherThread;
                }
                Err(Errno::TIMEDOUT) => return WakeReason::Clock,
                // If several counts had changed already only the first is reported, so others may be agents.
                Ok(0) | Err(Errno::INTR) => return WakeReason::OtherThread,
                Err(_) if self.wakeup.count.load(Ordering::Relaxed) != self.seen => {
                    return WakeReason::OtherThread;
                }
                Ok(_) | Err(_) => return WakeReason::Agent,
            }
        }
        let time = later(Timespec::default(), longest);
        match futex::wait(&self.wakeup.count, futex::Flags::PRIVATE, self.seen, Some(&time)) {
            Err(Errno::TIMEDOUT) => WakeReason::Clock,
            _ => WakeReason::OtherThread,
        }
    }
}

fn later(time: Timespec, by: Duration) -> Timespec {
    let nanoseconds = time.tv_nsec + i64::from(by.subsec_nanos());
    Timespec {
        tv_sec: time.tv_sec + by.as_secs().cast_signed() + nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn waiter(can_wait_for_many: bool) -> (Arc<Wakeup>, Waiter) {
        let wakeup = Arc::new(Wakeup::default());
        (wakeup.clone(), Waiter { can_wait_for_many, ..Waiter::new(wakeup) })
    }

    /// Check that a wakeup before or during a sleep ends it, with and without `futex_waitv`.
    #[test]
    fn wakeups_end_a_sleep() {
        for can_wait_for_many in [true, false] {
            let (wakeup, mut waiter) = waiter(can_wait_for_many);
            waiter.listen();
            wakeup.notify();
            let started = Instant::now();
            waiter.sleep(std::iter::empty(), false, || false);
            waiter.listen();
            let notifier = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                wakeup.notify();
            });
            let seen = waiter.seen;
            while waiter.seen == seen {
                waiter.sleep(std::iter::empty(), false, || false);
                waiter.listen();
            }
            notifier.join().unwrap();
            assert!(started.elapsed() < Duration::from_secs(30));
        }
    }

    /// Check that idle processes, however many, are polled for a small share of the time, and that busy ones are polled
    /// often.
    #[test]
    fn long_idle_rounds_are_rare() {
        let (_wakeup, mut waiter) = waiter(false);
        for (took, words, expected) in
            [(0, 0, POLLING), (4, WORTH, POLLING), (4, 0, 4 * REST * MS), (9, 0, LONGEST)]
        {
            waiter.began = Instant::now() - took * MS;
            waiter.polled(words);
            assert!(
                waiter.polling >= expected && waiter.polling <= LONGEST,
                "{took} ms: {:?}",
                waiter.polling
            );
            assert!(words < WORTH || waiter.polling == POLLING);
        }
    }

    /// Check that calls for nothing make it back off, longer and longer up to a limit, until one for something.
    #[test]
    fn calls_for_nothing_make_it_back_off() {
        let (_wakeup, mut waiter) = waiter(true);
        waiter.woken = WakeReason::Agent;
        for expected in [1, 2, 4, 8, 16, 32, 50, 50] {
            waiter.moved(WORTH - 1, false);
            assert_eq!(waiter.backoff, BACKOFF * expected);
        }
        waiter.moved(WORTH - 1, true);
        assert_eq!(waiter.backoff, Duration::ZERO);
        waiter.moved(WORTH, false);
        assert_eq!(waiter.backoff, Duration::ZERO);
        waiter.woken = WakeReason::Clock;
        waiter.moved(0, false);
        assert_eq!(waiter.backoff, Duration::ZERO);
    }
}
