//! Loom models: all interleavings of one producer and one consumer over a tiny ring.

use super::{Consumer, Producer, Word};
use crate::wakeup::{self, Wakeup};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

struct Shared {
    words: Vec<Word>,
    head: AtomicU64,
    tail: AtomicU64,
}

impl Shared {
    fn new(length: usize) -> Shared {
        Shared {
            words: (0..length).map(|_| Word::new(0)).collect(),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
        }
    }
}

/// Check that records of two words come out whole and in order while the ring wraps and fills.
#[test]
fn records_are_never_torn() {
    loom::model(|| {
        let ring: &'static Shared = Box::leak(Box::new(Shared::new(4)));
        // Created before the thread: loom remembers one last access for each variable, and a load of the producer's
        // own head would hide the consumer's, so that no other order would be tried.
        let mut producer = Producer::new(&ring.words, &ring.head, &ring.tail);
        let producer = thread::spawn(move || {
            let mut written = 0;
            for number in 1..=3u64 {
                if let Some(mut room) = producer.reserve(2, 0) {
                    room.push(number);
                    room.push(number << 32);
                    written += 1;
                } else {
                    break;
                }
            }
            written
        });
        let mut consumer = Consumer::new(&ring.words, &ring.head, &ring.tail, 0);
        let mut seen = Vec::new();
        for _ in 0..2 {
            consumer
                .take(usize::MAX, |part| seen.extend(part.iter().map(|word| word.load(Ordering::Relaxed))))
                .unwrap();
        }
        let written = producer.join().unwrap();
        consumer
            .take(usize::MAX, |part| seen.extend(part.iter().map(|word| word.load(Ordering::Relaxed))))
            .unwrap();
        assert_eq!(seen.len(), 2 * written);
        for (index, record) in seen.chunks(2).enumerate() {
            let number = index as u64 + 1;
            assert_eq!(record, [number, number << 32]);
        }
    });
}

/// Check that a second producer continues where the first one stopped, after it has claimed the ring.
#[test]
fn ring_passes_from_owner_to_owner() {
    loom::model(|| {
        let ring = Arc::new(Shared::new(4));
        let owner = Arc::new(AtomicU64::new(1));
        let (first_ring, first_owner) = (ring.clone(), owner.clone());
        let first = thread::spawn(move || {
            let mut producer = Producer::new(&first_ring.words, &first_ring.head, &first_ring.tail);
            producer.reserve(1, 0).unwrap().push(7);
            first_owner.store(0, Ordering::Release);
        });
        let claimed = owner.compare_exchange(0, 2, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if claimed {
            let mut producer = Producer::new(&ring.words, &ring.head, &ring.tail);
            assert_eq!(producer.position(), 1);
            producer.reserve(1, 0).unwrap().push(8);
        }
        first.join().unwrap();
        let mut seen = Vec::new();
        Consumer::new(&ring.words, &ring.head, &ring.tail, 0)
            .take(usize::MAX, |part| seen.extend(part.iter().map(|word| word.load(Ordering::Relaxed))))
            .unwrap();
        assert_eq!(seen, if claimed { vec![7, 8] } else { vec![7] });
    });
}

loom::lazy_static! {
    /// Models the kernel's queue of those who wait on a futex.
    static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// A ring of so many words, what its producer wakes its consumer by, and the producer.
fn called_for(words: usize) -> (&'static Shared, Wakeup<'static>, Producer<'static>) {
    let ring: &'static Shared = Box::leak(Box::new(Shared::new(words)));
    let [asleep, count]: &'static [AtomicU32; 2] =
        Box::leak(Box::new([AtomicU32::new(0), AtomicU32::new(0)]));
    let wake = |_: &AtomicU32| {
        let _queue = QUEUE.0.lock().unwrap();
        QUEUE.1.notify_all();
    };
    let wakeup = Wakeup { asleep, count, wake };
    (ring, wakeup, Producer::new(&ring.words, &ring.head, &ring.tail).with_wakeup(wakeup))
}

/// Check that a collector which falls asleep while a ring passes its mark notices or is woken: it never sleeps on.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let (ring, Wakeup { asleep, count: wakeups, .. }, mut producer) = called_for(4);
        let producer = thread::spawn(move || {
            for number in 0..2 {
                producer.reserve(1, 0).unwrap().push(number);
            }
        });
        let consumer = Consumer::new(&ring.words, &ring.head, &ring.tail, 0);
        let count = wakeup::listen(wakeups);
        wakeup::fall_asleep(asleep);
        if !consumer.is_past_mark() {
            let mut queue = QUEUE.0.lock().unwrap();
            // The kernel compares and queues in one step.
            while wakeups.load(Ordering::Relaxed) == count {
                queue = QUEUE.1.wait(queue).unwrap();
            }
        }
        wakeup::wake_up(asleep);
        producer.join().unwrap();
        assert!(consumer.is_past_mark());
    });
}

/// Check that a collector reads what it was called for before it sleeps, even if the call comes after it has read the
/// ring and before it sleeps.
#[test]
fn no_call_is_lost() {
    loom::model(|| {
        let (ring, Wakeup { asleep, count: wakeups, .. }, mut producer) = called_for(8);
        let producer = thread::spawn(move || {
            producer.reserve(1, 0).unwrap().push(7);
            producer.call();
        });
        let mut consumer = Consumer::new(&ring.words, &ring.head, &ring.tail, 0);
        loop {
            let count = wakeup::listen(wakeups);
            if consumer.take(usize::MAX, |_| ()).unwrap() > 0 {
                break;
            }
            wakeup::fall_asleep(asleep);
            let mut queue = QUEUE.0.lock().unwrap();
            // The kernel compares and queues in one step.
            while wakeups.load(Ordering::Relaxed) == count {
                queue = QUEUE.1.wait(queue).unwrap();
            }
            drop(queue);
            wakeup::wake_up(asleep);
        }
        producer.join().unwrap();
    });
}
