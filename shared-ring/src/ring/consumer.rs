//! The reading end of a ring.

use crate::error::Corrupt;
use crate::primitive::{AtomicU64, Ordering};

/// The reading end. The producer is not trusted: an impossible head is an error, after which the ring should not be
/// read any more.
#[derive(Debug)]
pub struct Consumer<'a> {
    words: &'a [AtomicU64],
    head: &'a AtomicU64,
    tail: &'a AtomicU64,
    position: u64,
}

impl<'a> Consumer<'a> {
    /// The reading end of the ring `words`, from `position` on.
    pub fn new(words: &'a [AtomicU64], head: &'a AtomicU64, tail: &'a AtomicU64, position: u64) -> Self {
        Self { words, head, tail, position }
    }

    /// Where the next word will be read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many words can be read.
    ///
    /// # Errors
    /// [`Corrupt::Head`] when the head is behind us or more than a lap ahead.
    pub fn available(&self) -> Result<usize, Corrupt> {
        // Acquire pairs with the Release store of the producer's `Reservation::drop`.
        let head = self.head.load(Ordering::Acquire);
        let count = head.wrapping_sub(self.position);
        if count > self.words.len() as u64 {
            return Err(Corrupt::Head);
        }
        Ok(count as usize)
    }

    /// True when the ring holds so much that a sleeping collector must be woken.
    pub fn is_past_mark(&self) -> bool {
        self.available().is_ok_and(|count| count >= super::mark(self.words.len()))
    }

    /// Passes up to `limit` words to `sink`, in order and in at most two parts, to be copied out. Their places are
    /// given back to the producer at once, so that a waiting producer continues before the copy is looked at. Returns
    /// the number of words.
    ///
    /// # Errors
    /// As for [`Consumer::available`].
    // Cost: that of the copy.
    pub fn take(&mut self, limit: usize, mut sink: impl FnMut(&[AtomicU64])) -> Result<usize, Corrupt> {
        let count = self.available()?.min(limit);
        let start = (self.position as usize) & (self.words.len() - 1);
        let first = count.min(self.words.len() - start);
        sink(&self.words[start..start + first]);
        sink(&self.words[..count - first]);
        self.position += count as u64;
        if count > 0 {
            // Release pairs with the Acquire load in the producer's `refresh`: `sink` has loaded the words before the
            // producer overwrites them.
            self.tail.store(self.position, Ordering::Release);
        }
        Ok(count)
    }

    /// Gives all words back unread, and continues wherever the producer says it is.
    pub fn skip(&mut self) {
        self.position = self.head.load(Ordering::Acquire);
        // Release only for uniformity: nothing was read.
        self.tail.store(self.position, Ordering::Release);
    }
}
