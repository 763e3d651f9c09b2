//! Batches on their way from the drain thread to the writer.
//!
//! Neither side ever waits for the other here: the drain thread checks whether the queue is full *before* it takes
//! anything from a ring. When the writer falls behind, what it cannot handle stays in the rings, and their policy
//! applies: threads wait, or lose events and count them. Spilling to disk would not help if the disk is slow, and
//! spilling to memory would grow without bound if the processor is.

use super::batch::Batch;
use crate::image::wakeup::Wakeup;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that may wait: as many as come while the writer compresses a chunk, or is kept from its processor.
const FULL: usize = 8 << 20;
/// Bytes waiting from which on the writer hurries.
const BEHIND: usize = FULL / 2;
/// Empty batches that are kept for use again.
const SPARES: usize = 8;

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<Batch>,
    spares: Vec<Batch>,
    /// Of all batches sent and not finished.
    bytes: usize,
    /// The sender is gone.
    is_over: bool,
    /// The receiver is gone.
    is_given_up: bool,
    /// The writer should look for work other than batches.
    is_called: bool,
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    /// Wakes the drain thread when there is room again.
    wakeup: Arc<Wakeup>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic leaves nothing half done: each lock is held for one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The drain thread's end.
#[derive(Debug)]
pub(crate) struct Sender(Arc<Queue>);

/// The writer's end.
#[derive(Debug)]
pub(crate) struct Receiver(Arc<Queue>);

/// Wakes the writer.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Arc<Queue>);

/// What the writer receives.
#[derive(Debug)]
pub(crate) enum Received {
    /// The next batch, to be given back when done.
    Batch(Batch),
    /// Nothing came in time.
    Nothing,
    /// Nothing more will come.
    Over,
}

/// A queue that notifies `wakeup` when there is room again.
pub(crate) fn queue(wakeup: Arc<Wakeup>) -> (Sender, Receiver) {
    let queue = Arc::new(Queue { state: Mutex::default(), filled: Condvar::new(), wakeup });
    (Sender(queue.clone()), Receiver(queue))
}

impl Sender {
    /// True when nothing more should be taken from the rings.
    pub(crate) fn is_full(&self) -> bool {
        self.0.state().bytes >= FULL
    }

    /// True when the writer has given up: nothing can be recorded any more.
    pub(crate) fn is_given_up(&self) -> bool {
        self.0.state().is_given_up
    }

    /// Sends a batch, and returns an empty one in exchange.
    pub(crate) fn send(&self, batch: Batch) -> Batch {
        let mut state = self.0.state();
        if !state.is_given_up {
            state.bytes += batch.bytes();
            state.batches.push_back(batch);
        }
        let spare = state.spares.pop().unwrap_or_default();
        drop(state);
        self.0.filled.notify_one();
        spare
    }
}

impl Caller {
    /// Makes the writer look at once for work other than batches.
    pub(crate) fn call(&self) {
        self.0.state().is_called = true;
        self.0.filled.notify_one();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.filled.notify_one();
    }
}

impl Receiver {
    /// A handle for threads with other work for the writer.
    pub(crate) fn caller(&self) -> Caller {
        Caller(self.0.clone())
    }

    /// Waits up to `timeout` for the next batch.
    pub(crate) fn receive(&self, timeout: Duration) -> Received {
        let is_waiting = |state: &mut State| state.batches.is_empty() && !state.is_over && !state.is_called;
        let waited = self.0.filled.wait_timeout_while(self.0.state(), timeout, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_called = false;
        match state.batches.pop_front() {
            Some(batch) => Received::Batch(batch),
            None if state.is_over => Received::Over,
            None => Received::Nothing,
        }
    }

    /// True if so much waits that the writer should hurry.
    pub(crate) fn is_behind(&self) -> bool {
        self.0.state().bytes >= BEHIND
    }

    /// A batch of so many bytes is done; it is empty now.
    pub(crate) fn finish(&self, batch: Batch, bytes: usize) {
        let mut state = self.0.state();
        let was_full = state.bytes >= FULL;
        state.bytes = state.bytes.saturating_sub(bytes);
        let has_room = was_full && state.bytes < FULL;
        if state.spares.len() < SPARES {
            state.spares.push(batch);
        }
        drop(state);
        if has_room {
            self.0.wakeup.notify();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_given_up = true;
        state.batches.clear();
        drop(state);
        self.0.wakeup.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageId;

    fn batch(words: usize) -> Batch {
        let mut batch = Batch::default();
        batch.run(ImageId(0), 0, 0, &vec![0; words]);
        batch
    }

    /// Check that batches come in order and are reused, that a queue is full by bytes until they are finished, and
    /// that the end comes after all that was sent.
    #[test]
    fn queue_is_full_until_work_is_done() {
        let (sender, receiver) = queue(Arc::default());
        assert!(matches!(receiver.receive(Duration::ZERO), Received::Nothing));
        for is_behind in [false, true] {
            assert!(!sender.is_full());
            assert_eq!(receiver.is_behind(), is_behind);
            sender.send(batch(FULL / 16));
        }
        assert!(sender.is_full());
        drop(sender);
        for _ in 0..2 {
            let Received::Batch(mut batch) = receiver.receive(Duration::ZERO) else {
                panic!("two were sent")
            };
            let bytes = batch.bytes();
            batch.take(|_| {});
            receiver.finish(batch, bytes);
        }
        assert_eq!(receiver.0.state().bytes, 0);
        assert!(!receiver.is_behind());
        assert_eq!(receiver.0.state().spares.len(), 2);
        assert!(matches!(receiver.receive(Duration::ZERO), Received::Over));
    }

    /// Check that a call ends one wait.
    #[test]
    fn calls_are_heard_once() {
        let (_sender, receiver) = queue(Arc::default());
        receiver.caller().call();
        assert!(matches!(receiver.receive(Duration::from_secs(600)), Received::Nothing));
        assert!(!receiver.0.state().is_called);
    }

    /// Check that nothing piles up for a writer that has given up.
    #[test]
    fn nothing_piles_up_for_a_writer_that_gave_up() {
        let (sender, receiver) = queue(Arc::default());
        sender.send(batch(10));
        drop(receiver);
        assert!(sender.is_given_up());
        sender.send(batch(10));
        assert!(sender.0.state().batches.is_empty());
    }
}
