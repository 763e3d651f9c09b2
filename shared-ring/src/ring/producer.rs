//! The writing end of a ring.

use super::{LOOKS, mark};
use crate::primitive::{AtomicU64, Ordering};
use crate::wakeup::Wakeup;

/// The writing end. It lives in the producer's private memory; only its `head` is shared.
#[derive(Debug)]
pub struct Producer<'a> {
    words: &'a [AtomicU64],
    head: &'a AtomicU64,
    tail: &'a AtomicU64,
    position: u64,
    /// Position that may not be passed without looking at the tail again.
    limit: u64,
    /// Wakes a sleeping consumer; without one, the consumer must check by itself.
    wakeup: Option<Wakeup<'a>>,
}

impl<'a> Producer<'a> {
    /// The writing end of the ring `words`, continuing where the last producer stopped.
    ///
    /// The length of `words` is a power of two. At most one producer may exist for a ring at a time, which the claim
    /// of the ring's owner word ensures.
    pub fn new(words: &'a [AtomicU64], head: &'a AtomicU64, tail: &'a AtomicU64) -> Self {
        debug_assert!(words.len().is_power_of_two());
        // No Acquire is needed for the words, which only we write; the claim ordered us after the last producer.
        let position = head.load(Ordering::Relaxed);
        Self { words, head, tail, position, limit: position, wakeup: None }
    }

    /// The same for a consumer that sleeps until it is called.
    pub fn with_wakeup(self, wakeup: Wakeup<'a>) -> Self {
        Self { wakeup: Some(wakeup), ..self }
    }

    /// Has the consumer read what was published before, however little it is.
    #[cold]
    pub fn call(&self) {
        if let Some(wakeup) = &self.wakeup {
            wakeup.call();
        }
    }

    /// Room for `count` words while `spare` more stay free, or `None` when the ring is too full.
    // Cost: one compare; eight times a lap a load of the consumer's cache line.
    #[inline(always)]
    pub fn reserve(&mut self, count: usize, spare: usize) -> Option<Reservation<'_, 'a>> {
        let need = (count + spare) as u64;
        if self.limit.wrapping_sub(self.position) < need && !self.refresh(need) {
            return None;
        }
        Some(self.room())
    }

    /// The same as far as it is known without looking at the consumer: `None`, which comes eight times a lap, does
    /// not mean that the ring is full.
    // Cost: one compare, and no call.
    #[inline(always)]
    pub fn reserve_known(&mut self, count: usize, spare: usize) -> Option<Reservation<'_, 'a>> {
        (self.limit.wrapping_sub(self.position) >= (count + spare) as u64).then(|| self.room())
    }

    #[inline(always)]
    fn room(&mut self) -> Reservation<'_, 'a> {
        Reservation { next: self.position, words: self.words, producer: self }
    }

    #[cold]
    #[inline(never)]
    fn refresh(&mut self, need: u64) -> bool {
        // Acquire pairs with the Release store of the consumer's `take`: it has copied these words out before.
        let tail = self.tail.load(Ordering::Acquire);
        let capacity = self.words.len() as u64;
        // A tail ahead of us or more than a lap behind is not believed: then nothing is free.
        let used = self.position.wrapping_sub(tail);
        let free = capacity.saturating_sub(used);
        // The next look comes before all of that is written, so that a sleeping consumer is woken in time.
        let step = (capacity / LOOKS as u64).max(need);
        self.limit = self.position + free.min(step);
        if used >= mark(self.words.len()) as u64
            && let Some(wakeup) = &self.wakeup
        {
            wakeup.notify();
        }
        free >= need
    }

    /// The tail's word, to wait on.
    pub fn tail(&self) -> &'a AtomicU64 {
        self.tail
    }

    /// Position of the next word.
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// Room in a ring. What was pushed is published when this is dropped; it must not be leaked after a push.
#[derive(Debug)]
pub struct Reservation<'r, 'a> {
    producer: &'r mut Producer<'a>,
    words: &'a [AtomicU64],
    next: u64,
}

impl Reservation<'_, '_> {
    /// Writes the next word in place.
    #[inline(always)]
    pub fn push(&mut self, word: u64) {
        let slot = (self.next as usize) & (self.words.len() - 1);
        if let Some(place) = self.words.get(slot) {
            place.store(word, Ordering::Relaxed);
        }
        self.next += 1;
    }
}

impl Drop for Reservation<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.producer.position = self.next;
        // Release pairs with the Acquire load of `head` in the consumer: the words above, and every node they
        // name, are visible before the new head is.
        self.producer.head.store(self.next, Ordering::Release);
    }
}
