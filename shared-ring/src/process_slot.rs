//! One entry for each process that writes into a segment: the image that connected, and its forked children.
//!
//! A forked child claims a free slot with one exchange at its first hook: no socket, no mapping, no descriptor. The
//! collector frees the slot when the process is gone and everything it wrote is drained.

use crate::primitive::{AtomicU64, Ordering};

/// Why events were not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Loss {
    /// The ring was full, and waiting was not allowed or took too long.
    RingFull = 0,
    /// The call came from a signal handler that had interrupted a hook.
    Nested = 1,
    /// All rings were taken.
    NoRing = 2,
    /// The block's address does not fit the filter of samples, so its end would not be noticed.
    Filter = 3,
    /// The report was about no pool, or about one beyond those that a process may have.
    NoPool = 4,
    /// The program has forbidden itself system calls that are needed to record a thread.
    Sandbox = 5,
}

impl Loss {
    /// All reasons, with the names that captures use.
    pub const ALL: [(Loss, &'static str); 6] = [
        (Loss::RingFull, "ring_full"),
        (Loss::Nested, "nested"),
        (Loss::NoRing, "no_ring"),
        (Loss::Filter, "sample_filter"),
        (Loss::NoPool, "no_pool"),
        (Loss::Sandbox, "sandbox"),
    ];
}

/// Set in [`ProcessSlot::unread_scripts`] when the process has an interpreter whose frames cannot be read.
pub const UNKNOWN_INTERPRETER: u64 = 1 << 63;

/// Values of [`ProcessSlot::parting`]: the process waits, …
const WAITS: u64 = 1;
/// … may go on, …
const MAY_GO: u64 = 2;
/// … or still waits, and the collector has noticed.
const TAKEN: u64 = 3;

/// One process. The agent writes all words; while the process lives, the collector writes only `state` and `parting`.
#[repr(C, align(256))]
#[derive(Debug)]
pub struct ProcessSlot {
    /// 0 = free; else the pid (in the process' own namespace) in the lower half, and in the upper half 1 + the slot
    /// of the process that forked it.
    pub state: AtomicU64,
    /// Events lost, by [`Loss`].
    pub lost: [AtomicU64; 8],
    /// Stacks that were cut because the stack table or the pc table was full.
    pub stack_table_full: AtomicU64,
    /// Allocation calls that came from the agent's own code: none, unless it has a defect.
    pub agent_allocations: AtomicU64,
    /// Nanoseconds that threads waited for room in their rings.
    pub wait_ns: AtomicU64,
    /// Ticks spent in the hooks that were timed, and …
    pub timed_ticks: AtomicU64,
    /// … the number of those hooks.
    pub timed_events: AtomicU64,
    /// Lower half: the number of the fork that created the process, as in the parent's record; 0 if it was not
    /// recorded. Upper half: the parent's pid, since another process may have its slot by now.
    pub fork: AtomicU64,
    /// 0 until the process is about to exit; then 1 if it waits for the collector to look at it, which the collector
    /// changes to 3 when it notices, and to 2 when it has looked. Its lower half is a futex.
    pub parting: AtomicU64,
    /// Stacks without an interpreter's frames because these were not what they should be; the highest bit is
    /// [`UNKNOWN_INTERPRETER`].
    pub unread_scripts: AtomicU64,
}

const _: () = assert!(size_of::<ProcessSlot>() == crate::geometry::PROCESS_SLOT);

impl ProcessSlot {
    const fn word(pid: u32, parent: Option<u32>) -> u64 {
        let parent = match parent {
            Some(slot) => slot as u64 + 1,
            None => 0,
        };
        parent << 32 | pid as u64
    }

    /// Claims the slot if it is free; `parent` is the slot of the process that forked this one.
    pub fn claim(&self, pid: u32, parent: Option<u32>) -> bool {
        if self.state.load(Ordering::Relaxed) != 0 {
            return false;
        }
        // Release pairs with the collector's Acquire load in `owner`; Acquire with its Release in `free`.
        self.state.compare_exchange(0, Self::word(pid, parent), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Pid and parent slot of the process; `None` when the slot is free.
    pub fn owner(&self) -> Option<(u32, Option<u32>)> {
        // Acquire pairs with the Release exchange in `claim`.
        let state = self.state.load(Ordering::Acquire);
        (state as u32 != 0).then(|| (state as u32, ((state >> 32) as u32).checked_sub(1)))
    }

    /// Frees the slot and resets its counters. Only the collector does this, when the process is gone.
    pub fn free(&self) {
        for counter in self.lost.iter().chain([
            &self.stack_table_full,
            &self.agent_allocations,
            &self.wait_ns,
            &self.timed_ticks,
            &self.timed_events,
            &self.fork,
            &self.parting,
            &self.unread_scripts,
        ]) {
            counter.store(0, Ordering::Relaxed);
        }
        // Release pairs with the Acquire half of the exchange in `claim`: the counters are zero for the next owner.
        self.state.store(0, Ordering::Release);
    }

    /// The agent's side: the process is about to exit and will wait. False when it already did so.
    pub fn begin_to_part(&self) -> bool {
        // Release pairs with the Acquire exchange in `take_parting`: the collector sees what the process wrote before.
        self.parting.compare_exchange(0, WAITS, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// True while the process waits.
    pub fn is_parting(&self) -> bool {
        // Acquire pairs with the Release exchange in `let_part`.
        matches!(self.parting.load(Ordering::Acquire), WAITS | TAKEN)
    }

    /// The collector's side: true while the process waits and the collector has not noticed.
    pub fn is_untaken(&self) -> bool {
        // Relaxed: `take_parting` follows.
        self.parting.load(Ordering::Relaxed) == WAITS
    }

    /// The collector's side: notices that the process waits. False when it does not, or was noticed before.
    pub fn take_parting(&self) -> bool {
        // Acquire pairs with the Release exchange in `begin_to_part`.
        self.is_untaken()
            && self.parting.compare_exchange(WAITS, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The collector's side: lets the process go on. False when it was not noticed waiting.
    pub fn let_part(&self) -> bool {
        // Release pairs with the Acquire load in `is_parting`.
        self.parting.compare_exchange(TAKEN, MAY_GO, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The agent's side: waits a moment for the collector; `sleep` sleeps while the word has this value.
    pub fn wait_to_part(&self, sleep: impl FnOnce(&AtomicU64, u64)) {
        // Relaxed: the caller looks again.
        sleep(&self.parting, self.parting.load(Ordering::Relaxed));
    }

    /// Counts events that were not recorded.
    pub fn lose(&self, reason: Loss, events: u64) {
        if let Some(counter) = self.lost.get(reason as usize) {
            counter.fetch_add(events, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> ProcessSlot {
        ProcessSlot {
            state: AtomicU64::new(0),
            lost: Default::default(),
            stack_table_full: AtomicU64::new(0),
            agent_allocations: AtomicU64::new(0),
            wait_ns: AtomicU64::new(0),
            timed_ticks: AtomicU64::new(0),
            timed_events: AtomicU64::new(0),
            fork: AtomicU64::new(0),
            parting: AtomicU64::new(0),
            unread_scripts: AtomicU64::new(0),
        }
    }

    /// Check that a process waits once, is noticed once, until it may go on, and that the next process in its slot
    /// starts anew.
    #[test]
    fn process_waits_once_at_its_end() {
        let slot = slot();
        assert!(!slot.is_parting() && !slot.take_parting() && !slot.let_part());
        assert!(slot.begin_to_part() && slot.is_parting() && !slot.begin_to_part());
        assert!(!slot.let_part() && slot.take_parting() && slot.is_parting());
        assert!(!slot.take_parting() && !slot.begin_to_part());
        assert!(slot.let_part() && !slot.is_parting() && !slot.begin_to_part() && !slot.take_parting());
        slot.free();
        assert!(slot.begin_to_part());
    }

    /// Check that a slot has one owner at a time and starts clean for the next one.
    #[test]
    fn slot_has_one_owner_at_a_time() {
        let slot = slot();
        assert_eq!(slot.owner(), None);
        assert!(slot.claim(10, Some(0)));
        assert!(!slot.claim(11, None));
        assert_eq!(slot.owner(), Some((10, Some(0))));
        slot.lose(Loss::Nested, 3);
        slot.free();
        assert!(slot.claim(11, None));
        assert_eq!(slot.owner(), Some((11, None)));
        assert_eq!(slot.lost[Loss::Nested as usize].load(Ordering::Relaxed), 0);
    }
}
