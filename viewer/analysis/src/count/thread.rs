//! The state that counting keeps for one thread.

use super::heap::Block;
use serde::{Deserialize, Serialize};

/// Only signal handlers interrupt a thread's own `realloc`; more nested ones than this are records whose end was
/// lost.
pub(crate) const MAX_NESTED: usize = 64;

/// A `realloc` that has begun and not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pending<K = ()> {
    pub(crate) serial: u16,
    pub(crate) address: u64,
    /// The old block, already removed by address; none when it was unknown.
    pub(crate) block: Option<Block<K>>,
    /// If it was its thread's last allocation, that thread's [`ThreadState::allocations`] at the time.
    pub(crate) was_last: Option<u32>,
    /// [`ThreadState::gaps`] at its beginning plus the pauses of its process: see [`ThreadState::interruptions`].
    pub(crate) gaps: u32,
}

/// State of one thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadState<K = ()> {
    /// Address of the thread's last allocation, until that block is freed or being resized.
    pub(crate) last: Option<u64>,
    /// Changes of its last allocation, modulo 2³²: see [`ThreadState::allocates`].
    pub(crate) allocations: u32,
    /// Pauses of its process at its last allocation.
    pub(crate) pauses: u32,
    pub(crate) pending: Vec<Pending<K>>,
    /// The thread is in its process' list of threads that ever called `realloc`.
    pub(crate) listed: bool,
    /// Events of this thread are being lost.
    pub(crate) in_gap: bool,
    /// Gaps of this thread so far.
    pub(crate) gaps: u32,
}

impl<K> Default for ThreadState<K> {
    fn default() -> Self {
        Self {
            last: None,
            allocations: 0,
            pauses: 0,
            pending: Vec::new(),
            listed: false,
            in_gap: false,
            gaps: 0,
        }
    }
}

impl<K> ThreadState<K> {
    /// The thread allocates a block at this address or an unknown one, or may do so: its previous last allocation is
    /// no longer its last.
    pub(crate) fn allocates(&mut self, address: Option<u64>) {
        self.last = address;
        self.allocations = self.allocations.wrapping_add(1);
    }

    /// Removes and returns the `realloc` with this serial, the latest if there are several.
    pub(crate) fn take(&mut self, serial: u16) -> Option<Pending<K>> {
        let place = self.pending.iter().rposition(|pending| pending.serial == serial)?;
        Some(self.pending.remove(place))
    }

    /// Changes with each gap of the thread and each pause of its process.
    pub(crate) fn interruptions(&self, pauses: u32) -> u32 {
        self.gaps.wrapping_add(pauses)
    }

    /// Removes one whose end cannot come any more: it was lost in a gap or a pause, its serial is being reused, or
    /// there are too many.
    pub(crate) fn take_abandoned(&mut self, next_serial: u16, pauses: u32) -> Option<Pending<K>> {
        let gaps = self.interruptions(pauses);
        let full = self.pending.len() >= MAX_NESTED;
        let place = self
            .pending
            .iter()
            .position(|pending| full || pending.gaps != gaps || pending.serial == next_serial)?;
        Some(self.pending.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(thread: &mut ThreadState, serial: u16, pauses: u32) -> Vec<u16> {
        let abandoned =
            std::iter::from_fn(|| thread.take_abandoned(serial, pauses)).map(|p| p.serial).collect();
        let gaps = thread.interruptions(pauses);
        thread.pending.push(Pending { serial, address: 0, block: None, was_last: None, gaps });
        abandoned
    }

    /// Check that nested calls end in any order, and that an unknown serial ends none.
    #[test]
    fn nested_calls_end_by_serial() {
        let mut thread = ThreadState::<()>::default();
        assert!(begin(&mut thread, 1, 0).is_empty());
        assert!(begin(&mut thread, 2, 0).is_empty());
        assert_eq!(thread.take(3).map(|p| p.serial), None);
        assert_eq!(thread.take(1).map(|p| p.serial), Some(1));
        assert_eq!(thread.take(2).map(|p| p.serial), Some(2));
    }

    /// Check that a call is abandoned when its end was lost in a gap or a pause, and when its serial is reused.
    #[test]
    fn lost_ends_are_noticed() {
        let mut thread = ThreadState::<()>::default();
        begin(&mut thread, 1, 0);
        thread.gaps += 1;
        assert_eq!(begin(&mut thread, 2, 0), [1]);
        assert_eq!(begin(&mut thread, 2, 0), [2]);
        assert_eq!(begin(&mut thread, 3, 1), [2]);
    }

    /// Check that a file full of beginnings without ends needs bounded memory.
    #[test]
    fn beginnings_are_bounded() {
        let mut thread = ThreadState::<()>::default();
        let abandoned: usize = (0..10_000).map(|serial| begin(&mut thread, serial, 0).len()).sum();
        assert_eq!(thread.pending.len(), MAX_NESTED);
        assert_eq!(abandoned, 10_000 - MAX_NESTED);
    }
}
