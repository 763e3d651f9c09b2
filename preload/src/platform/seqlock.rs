//! Slots of several words that any thread and any signal handler can read and write without a lock.
//!
//! Each slot is a seqlock (Boehm, "Can seqlocks get along with programming language memory models?", 2012): its
//! version is odd while it is written, and a reader that meets an odd version, or one that has changed, has read
//! nothing. A writer that meets another one does not wait, but gives up.

use crate::platform::sys;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A slot of `N` words. Zeroed memory is a slot that was never used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot<const N: usize> {
    /// Odd while the slot is being written.
    version: AtomicU32,
    words: [AtomicU64; N],
}

/// The contents of a slot at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<const N: usize> {
    version: u32,
    /// The words.
    pub(crate) words: [u64; N],
}

/// Exclusive right to write a slot.
#[must_use]
#[derive(Debug)]
pub(crate) struct Claim<'a, const N: usize> {
    slot: &'a Slot<N>,
    /// What the slot contained.
    pub(crate) seen: Seen<N>,
}

impl<const N: usize> Slot<N> {
    /// Reads the slot; `None` while it is being written.
    pub(crate) fn read(&self) -> Option<Seen<N>> {
        // Acquire pairs with the Release store in `write`: what was written before is seen.
        let version = self.version.load(Ordering::Acquire);
        let words = self.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        // Pairs with the fence in `claim`: a reader that has seen a word written after it sees the odd version.
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        is_whole.then_some(Seen { version, words })
    }

    /// The words without consistency, to judge whether the slot is worth reading.
    pub(crate) fn hint(&self) -> [&AtomicU64; N] {
        self.words.each_ref()
    }

    /// Claims the slot for writing, if it is unchanged since it was seen.
    pub(crate) fn claim(&self, seen: Seen<N>) -> Option<Claim<'_, N>> {
        let Seen { version, .. } = seen;
        // Relaxed: what was seen was read under this version, and nothing else is read.
        self.version
            .compare_exchange(version, version.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        // Pairs with the fence in `read`.
        fence(Ordering::Release);
        Some(Claim { slot: self, seen })
    }
}

impl<const N: usize> Claim<'_, N> {
    /// Writes these words and releases the slot.
    pub(crate) fn write(self, words: [u64; N]) {
        for (word, value) in self.slot.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        // Release pairs with the Acquire load in `read`.
        self.slot.version.store(self.seen.version.wrapping_add(2), Ordering::Release);
    }
}

/// Slots, of which a growing number is in use. A slot whose first word is 0 is *void* and may be used again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<'a, const N: usize> {
    /// Zeroed at first.
    pub(crate) slots: &'a [Slot<N>],
    /// Number of slots that were ever used.
    pub(crate) used: &'a AtomicUsize,
}

impl<'a, const N: usize> Slots<'a, N> {
    // Relaxed: each slot says itself whether it is filled in.
    pub(crate) fn used(self) -> impl Iterator<Item = &'a Slot<N>> {
        self.slots.iter().take(self.used.load(Ordering::Relaxed))
    }

    /// Claims a void slot whose words satisfy `is_meant`.
    pub(crate) fn claim_void(self, is_meant: impl Fn(&[u64; N]) -> bool) -> Option<Claim<'a, N>> {
        self.used().find_map(|slot| {
            let seen = slot.read().filter(|seen| is_void(&seen.words) && is_meant(&seen.words))?;
            slot.claim(seen)
        })
    }

    /// Claims a slot that was never used; `None` when there is none.
    pub(crate) fn claim_unused(self) -> Option<Claim<'a, N>> {
        let most = self.slots.len();
        let next = |used: usize| (used < most).then(|| used.wrapping_add(1));
        loop {
            let index = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
            let slot = self.slots.get(index)?;
            // Another thread may have claimed it already, as a void one.
            if let Some(claim) = slot.read().and_then(|seen| slot.claim(seen)) {
                return Some(claim);
            }
        }
    }

    /// Makes the slots void for which `is_gone` returns true. They keep their other words.
    pub(crate) fn forget(self, is_gone: impl Fn(&[u64; N]) -> bool) {
        for slot in self.used() {
            let Some(seen) = slot.read() else { continue };
            // A failed claim has come too late: another thread has seen the same.
            if !is_void(&seen.words)
                && is_gone(&seen.words)
                && let Some(claim) = slot.claim(seen)
            {
                let mut words = seen.words;
                if let Some(first) = words.first_mut() {
                    *first = 0;
                }
                claim.write(words);
            }
        }
    }

    /// Empties all slots. No other thread uses them.
    // Relaxed: the next writer sees what was published after this.
    pub(crate) fn clear(self) {
        for slot in self.used() {
            slot.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            slot.version.store(0, Ordering::Relaxed);
        }
        self.used.store(0, Ordering::Relaxed);
    }
}

/// Slots in memory of their own, which is never unmapped.
#[derive(Debug)]
pub(crate) struct Mapped<const N: usize> {
    memory: AtomicPtr<Slot<N>>,
    used: AtomicUsize,
    most: usize,
}

impl<const N: usize> Mapped<N> {
    /// Room for `most` slots, once there is memory.
    pub(crate) const fn new(most: usize) -> Self {
        Self { memory: AtomicPtr::new(core::ptr::null_mut()), used: AtomicUsize::new(0), most }
    }

    /// Maps the memory; false when there is none. Called by one thread at a time.
    #[cold]
    pub(crate) fn map(&self) -> bool {
        if !self.is_mapped() {
            // Release pairs with the Acquire load in `slots`.
            self.memory.store(sys::map_private(self.most * size_of::<Slot<N>>()).cast(), Ordering::Release);
        }
        self.is_mapped()
    }

    /// True once there is memory.
    pub(crate) fn is_mapped(&self) -> bool {
        !self.memory.load(Ordering::Relaxed).is_null()
    }

    /// All slots; none while there is no memory.
    pub(crate) fn slots(&self) -> Slots<'_, N> {
        // Acquire pairs with the Release store in `map`.
        let memory = self.memory.load(Ordering::Acquire).cast_const();
        let (memory, count) = if memory.is_null() { (core::ptr::dangling(), 0) } else { (memory, self.most) };
        // SAFETY: mapped zeroed in `map` with so many slots, which are atomics, and never unmapped; no slots when
        // null.
        Slots { slots: unsafe { core::slice::from_raw_parts(memory, count) }, used: &self.used }
    }
}

fn is_void(words: &[u64]) -> bool {
    words.first().is_none_or(|first| *first == 0)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Slot, Slots};
    use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

    /// Memory for slots.
    pub(crate) struct Memory<const N: usize> {
        slots: Vec<Slot<N>>,
        used: AtomicUsize,
    }

    impl<const N: usize> Memory<N> {
        pub(crate) fn new(slots: usize) -> Self {
            let slot = || Slot { version: AtomicU32::new(0), words: [(); N].map(|()| AtomicU64::new(0)) };
            Self { slots: (0..slots).map(|_| slot()).collect(), used: AtomicUsize::new(0) }
        }

        pub(crate) fn slots(&self) -> Slots<'_, N> {
            Slots { slots: &self.slots, used: &self.used }
        }
    }
}
