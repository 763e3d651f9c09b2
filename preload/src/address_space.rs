//! The program's limit on its own address space, which what the agent has mapped does not count against.
//!
//! A recording takes addresses in a process, of which it uses little. A program that limits its own address space, as a shell does by
//! `ulimit -v`, could map nothing any more. So the limit that is set is larger by exactly what is the agent's at that time, and grows
//! when the agent maps more, as for a thread that begins: what the program may have itself is what it has asked for.
//!
//! ```text
//!  asked for   │ the program's │
//!  set         │ the program's │ the agent's: image, tables, session │ ···· more of it, later
//!              └─────────────────────── current ────────────────────┘                     └ maximum
//! ```
//!
//! The maximum has room for growth from the beginning, since nobody but root may raise it.

use crate::arch;
use crate::modules;
use crate::reservation;
use crate::sandbox::{self, Need};
use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// `struct rlimit`, which is the same with large files on 64-bit systems.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) current: u64,
    pub(crate) maximum: u64,
}

const INFINITY: u64 = libc::RLIM_INFINITY;
/// What the agent may come to map after a limit was set: the states of some thousand threads.
const GROWTH: u64 = 256 << 20;

/// Bytes that the agent has mapped, but for its image.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The limit that the program asked for last, and the one that was set then or since. Words are not read as one: a program that sets
/// a limit in one thread and asks in another at the same time has no right to either answer.
static ASKED: Words = Words::new();
static SET: Words = Words::new();
/// True once the program has set a limit.
static IS_SET: AtomicBool = AtomicBool::new(false);

// Relaxed everywhere: numbers, of which whoever sets a limit looks at the latest once more.
#[derive(Debug)]
struct Words {
    current: AtomicU64,
    maximum: AtomicU64,
}

impl Words {
    const fn new() -> Words {
        Words { current: AtomicU64::new(0), maximum: AtomicU64::new(0) }
    }

    fn load(&self) -> Limit {
        Limit { current: self.current.load(Ordering::Relaxed), maximum: self.maximum.load(Ordering::Relaxed) }
    }

    fn store(&self, limit: Limit) {
        self.current.store(limit.current, Ordering::Relaxed);
        self.maximum.store(limit.maximum, Ordering::Relaxed);
    }
}

impl Limit {
    /// The limit to be set for this one, where so many bytes are the agent's and `before` is what is set. It goes as far as the
    /// maximum does, unless the program wants that raised, which the kernel allows or not, as it would without us.
    fn beside(self, bytes: u64, before: Limit) -> Limit {
        if self.current > self.maximum {
            return self;
        }
        let larger = |limit: u64, bytes| if limit == INFINITY { limit } else { limit.saturating_add(bytes) };
        let bound = if self.maximum > told(before).maximum { INFINITY } else { before.maximum };
        Limit {
            current: larger(self.current, bytes).min(bound),
            maximum: larger(self.maximum, bytes.saturating_add(GROWTH)).min(bound),
        }
    }
}

/// Bytes of this process that are the agent's, 0 while there was no recording: a dormant agent has some pages.
fn own() -> u64 {
    match reservation::bytes() {
        0 => 0,
        _ => MAPPED.load(Ordering::Relaxed) as u64 + modules::own_bytes(),
    }
}

/// True where the program's limits are to be set by way of [`set`].
pub(crate) fn is_shared() -> bool {
    own() != 0
}

/// What the program is told where this limit is set.
pub(crate) fn told(set: Limit) -> Limit {
    if set == SET.load() { ASKED.load() } else { set }
}

/// Sets the limit for which the program asks by `call`, where `before` is set; what the call returned.
pub(crate) fn set(asked: Limit, before: Limit, call: impl FnOnce(Limit) -> i32) -> i32 {
    let own = own();
    let limit = asked.beside(own, before);
    let result = call(limit);
    // That of a child of vfork is not its parent's, whose memory this is.
    if result == 0 && !arch::thread_local().is_in_vfork() {
        ASKED.store(asked);
        SET.store(limit);
        // Release pairs with the Acquire load in `adjust`: the words above are there.
        IS_SET.store(true, Ordering::Release);
        if self::own() != own {
            adjust();
        }
    }
    result
}

/// The agent is about to map so many bytes.
pub(crate) fn grow(bytes: usize) {
    MAPPED.fetch_add(bytes, Ordering::Relaxed);
    adjust();
}

/// The agent has given so many bytes back, or did not get them.
pub(crate) fn shrink(bytes: usize) {
    MAPPED.fetch_sub(bytes, Ordering::Relaxed);
    adjust();
}

/// Has the limit be what the program asked for beside what is the agent's now.
// Whoever sets a limit looks again whether it is still the one: so the last one to set it sets the right one.
fn adjust() {
    while IS_SET.load(Ordering::Acquire) && sandbox::allows(Need::Limits) {
        let (asked, own, set) = (ASKED.load(), own(), SET.load());
        let before = sys::limit_of_address_space();
        // One that another process has set is not ours to change.
        if before != set || own == 0 {
            return;
        }
        let limit = Limit { maximum: before.maximum, ..asked.beside(own, before) };
        if limit == before || !sys::limit_address_space(limit) {
            return;
        }
        SET.store(limit);
        if asked == ASKED.load() && own == self::own() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GROWTH, INFINITY, Limit};

    /// Check that limits grow by what is ours, the maximum by what may come, neither beyond what is set, and not where there is none; that
    /// what the kernel refuses is still refused.
    #[test]
    fn limits_grow_as_far_as_they_may() {
        let limit = |current, maximum| Limit { current, maximum };
        let none = limit(INFINITY, INFINITY);
        let cases = [
            (limit(100, 200), none, limit(1100, 1200 + GROWTH)),
            (limit(100, INFINITY), none, limit(1100, INFINITY)),
            (limit(100, 200), limit(500, 500), limit(500, 500)),
            (limit(200, 200), limit(200, 200), limit(200, 200)),
            (limit(100, 300), limit(200, 200), limit(1100, 1300 + GROWTH)),
            (limit(300, 200), none, limit(300, 200)),
            (none, none, none),
            (limit(INFINITY - 5, INFINITY), none, limit(INFINITY, INFINITY)),
        ];
        for (asked, before, expected) in cases {
            assert_eq!(asked.beside(1000, before), expected, "{asked:?} instead of {before:?}");
        }
    }
}
