//! The program's limit on its own address space (`RLIMIT_AS`), which the agent's mappings must not count against.
//!
//! A recording reserves address space in the process, most of which stays untouched. A program that limits its own
//! address space, as a shell does with `ulimit -v`, would then be unable to map anything. So the limit that is
//! actually set is larger by exactly what the agent has mapped at that time, and grows when the agent maps more, for
//! example when a thread begins. The program itself may map as much as it asked for.
//!
//! ```text
//!  asked for   │ the program's │
//!  set         │ the program's │ the agent's: image, tables, session │ ···· more of it, later
//!              └─────────────────────── current ────────────────────┘                     └ maximum
//! ```
//!
//! The maximum leaves room for growth from the start, since only root may raise it.

use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, own_image};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use rustix::process::{Resource, Rlimit, setrlimit};

/// `struct rlimit`; on 64-bit systems `struct rlimit64` is the same.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) current: u64,
    pub(crate) maximum: u64,
}

const INFINITY: u64 = libc::RLIM_INFINITY;
/// What the agent may map after a limit was set: the states of some thousand threads.
const GROWTH: u64 = 256 << 20;

/// Bytes that are reserved for sessions, including ranges left behind.
static RESERVED: AtomicUsize = AtomicUsize::new(0);
/// Bytes that the agent has mapped, except for its image.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The limit that the program last asked for, and the one that was set then or since. The two words of each are not
/// read atomically: a program that sets a limit in one thread while it asks for it in another has no right to either
/// answer.
static ASKED: Words = Words::new();
static SET: Words = Words::new();
/// True once the program has set a limit.
static IS_SET: AtomicBool = AtomicBool::new(false);

// Relaxed everywhere: plain numbers, which a thread that sets a limit checks again afterwards.
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
    /// The limit to set for this one, where `bytes` are the agent's and `before` is the current limit. It does not
    /// exceed the current maximum, unless the program wants that raised; the kernel allows or refuses this as it
    /// would without us.
    fn beside(self, bytes: u64, before: Limit) -> Limit {
        if self.current > self.maximum {
            return self;
        }
        let larger = |limit: u64, bytes| if limit == INFINITY { limit } else { limit.saturating_add(bytes) };
        let bound = if self.maximum > as_program_sees(before).maximum { INFINITY } else { before.maximum };
        Limit {
            current: larger(self.current, bytes).min(bound),
            maximum: larger(self.maximum, bytes.saturating_add(GROWTH)).min(bound),
        }
    }
}

/// Bytes of this process that are the agent's; 0 before the first recording, since a dormant agent has only a few
/// pages.
fn own() -> u64 {
    match RESERVED.load(Ordering::Relaxed) {
        0 => 0,
        _ => MAPPED.load(Ordering::Relaxed) as u64 + own_image::bytes(),
    }
}

/// Counts bytes that were reserved for a session, for the life of the process.
pub(crate) fn note_reserved(bytes: usize) {
    RESERVED.fetch_add(bytes, Ordering::Relaxed);
}

/// True when the program's limits must be set through [`set`].
pub(crate) fn is_shared() -> bool {
    own() != 0
}

/// What the program is told when `set` is the kernel's limit.
pub(crate) fn as_program_sees(set: Limit) -> Limit {
    if set == SET.load() { ASKED.load() } else { set }
}

/// Sets the limit that the program asks for, by `call`, where `before` is the current one. Returns what `call`
/// returned.
pub(crate) fn set(asked: Limit, before: Limit, call: impl FnOnce(Limit) -> i32) -> i32 {
    let own = own();
    let limit = asked.beside(own, before);
    let result = call(limit);
    // The limit of a child of vfork is not its parent's, whose memory this is.
    if result == 0 && !arch::thread_local().is_in_vfork() {
        ASKED.store(asked);
        SET.store(limit);
        // Release pairs with the Acquire load in `adjust`: the words above are visible then.
        IS_SET.store(true, Ordering::Release);
        if self::own() != own {
            adjust();
        }
    }
    result
}

/// Called when the agent is about to map `bytes`.
pub(crate) fn grow(bytes: usize) {
    MAPPED.fetch_add(bytes, Ordering::Relaxed);
    adjust();
}

/// Called when the agent has unmapped `bytes`, or did not get them.
pub(crate) fn shrink(bytes: usize) {
    MAPPED.fetch_sub(bytes, Ordering::Relaxed);
    adjust();
}

/// Makes the limit again what the program asked for plus what is the agent's now.
// Each thread that sets the limit checks afterwards that it is still right, so the last one leaves the right one.
fn adjust() {
    while IS_SET.load(Ordering::Acquire) && allowed_calls::allows(Need::Limits) {
        let (asked, own, set) = (ASKED.load(), own(), SET.load());
        let before = limit();
        // A limit that another process has set is not ours to change.
        if before != set || own == 0 {
            return;
        }
        let limit = Limit { maximum: before.maximum, ..asked.beside(own, before) };
        if limit == before || !set_limit(limit) {
            return;
        }
        SET.store(limit);
        if asked == ASKED.load() && own == self::own() {
            return;
        }
    }
}

/// The limit on address space in bytes.
pub(crate) fn current_limit() -> u64 {
    limit().current
}

/// The same with its maximum, according to the kernel.
fn limit() -> Limit {
    let [current, maximum] = arch::limits_of_address_space().unwrap_or([libc::RLIM_INFINITY; 2]);
    Limit { current, maximum }
}

/// Sets the limit; false when the kernel refuses.
fn set_limit(limit: Limit) -> bool {
    let bytes = |limit: u64| Some(limit).filter(|limit| *limit != libc::RLIM_INFINITY);
    let limit = Rlimit { current: bytes(limit.current), maximum: bytes(limit.maximum) };
    setrlimit(Resource::As, limit).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{GROWTH, INFINITY, Limit};

    /// Check that the limit grows by what is ours and the maximum by what may follow, neither beyond the current
    /// maximum, that unlimited stays unlimited, and that what the kernel refuses is still refused.
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
