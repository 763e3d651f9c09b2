//! Tests of the ring on ordinary memory.

use super::{Consumer, Producer, Word};
use crate::error::Corrupt;
use crate::primitive::Ordering;
use crate::wakeup::Wakeup;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64};

struct Shared {
    words: Vec<Word>,
    head: AtomicU64,
    tail: AtomicU64,
}

fn shared(length: usize, start: u64) -> Shared {
    Shared {
        words: (0..length).map(|_| Word::new(0)).collect(),
        head: AtomicU64::new(start),
        tail: AtomicU64::new(start),
    }
}

impl Shared {
    fn producer(&self) -> Producer<'_> {
        Producer::new(&self.words, &self.head, &self.tail)
    }

    fn consumer(&self, position: u64) -> Consumer<'_> {
        Consumer::new(&self.words, &self.head, &self.tail, position)
    }
}

/// Check that a record is invisible until its reservation ends.
#[test]
fn unfinished_record_is_invisible() {
    let ring = shared(8, 0);
    let mut producer = ring.producer();
    let consumer = ring.consumer(0);
    let mut room = producer.reserve(2, 0).unwrap();
    room.push(1);
    assert_eq!(consumer.available(), Ok(0));
    room.push(2);
    drop(room);
    assert_eq!(consumer.available(), Ok(2));
}

/// Check that a full ring refuses, and that spare words stay free.
#[test]
fn full_ring_refuses() {
    let ring = shared(8, 0);
    let mut producer = ring.producer();
    for _ in 0..3 {
        let mut room = producer.reserve(2, 2).unwrap();
        room.push(0);
        room.push(0);
    }
    assert!(producer.reserve(2, 2).is_none());
    assert!(producer.reserve(2, 0).is_some());
}

/// Check that only room that a look at the consumer has shown counts as known, and that spare words stay free of it.
#[test]
fn known_room_is_what_was_looked_for() {
    let ring = shared(1 << 7, 0);
    let mut producer = ring.producer();
    assert!(producer.reserve_known(1, 0).is_none());
    producer.reserve(1, 0).unwrap().push(0);
    let mut known = 1;
    while let Some(mut room) = producer.reserve_known(1, 2) {
        room.push(0);
        known += 1;
    }
    // A look shows at most an eighth of a lap.
    assert_eq!(known, (1 << 7) / 8 - 2);
    assert!(producer.reserve_known(2, 0).is_some());
    assert!(producer.reserve(3, 0).is_some());
    assert!(producer.reserve_known(3, 0).is_some());
}

/// Check that a producer calls for a sleeping consumer when its ring is between a quarter and half full, and not
/// while the consumer is awake.
#[test]
fn filling_ring_calls_for_the_consumer() {
    let (asleep, wakeups) = (AtomicU32::new(1), AtomicU32::new(0));
    for length in [64, 1 << 12, 1 << 17] {
        let ring = shared(length, 0);
        let mut producer =
            ring.producer().with_wakeup(Wakeup { asleep: &asleep, count: &wakeups, wake: |_| {} });
        asleep.store(0, Ordering::Relaxed);
        for _ in 0..length / 2 {
            producer.reserve(1, 0).unwrap().push(0);
        }
        assert_eq!(wakeups.load(Ordering::Relaxed), 0);
        let mut consumer = ring.consumer(0);
        consumer.skip();
        asleep.store(1, Ordering::Relaxed);
        let before = producer.position();
        while wakeups.load(Ordering::Relaxed) == 0 {
            producer.reserve(1, 0).unwrap().push(0);
        }
        let written = (producer.position() - before) as usize;
        assert!((length / 4..=length / 2).contains(&written), "{written} of {length}");
        assert!(consumer.is_past_mark());
        wakeups.store(0, Ordering::Relaxed);
    }
}

/// Check that impossible heads are reported and impossible tails are not believed.
#[test]
fn impossible_positions_are_not_believed() {
    let ring = shared(8, 100);
    ring.head.store(109, Ordering::Relaxed);
    assert_eq!(ring.consumer(100).available(), Err(Corrupt::Head));
    ring.head.store(99, Ordering::Relaxed);
    assert_eq!(ring.consumer(100).available(), Err(Corrupt::Head));
    ring.head.store(100, Ordering::Relaxed);
    let mut producer = ring.producer();
    ring.tail.store(u64::MAX, Ordering::Relaxed);
    assert!(producer.reserve(8, 0).is_none());
    ring.tail.store(50, Ordering::Relaxed);
    assert!(producer.reserve(1, 0).is_none());
}

proptest! {
    /// Check that records of every size at every offset read back intact across the end of the memory.
    #[test]
    fn every_size_at_every_offset_survives(
        start in 0u64..64,
        sizes in proptest::collection::vec((1usize..8, 0usize..3), 1..60),
    ) {
        let ring = shared(16, start);
        let mut producer = ring.producer();
        let mut consumer = ring.consumer(start);
        let (mut wrote, mut read, mut next) = (Vec::new(), Vec::new(), 0u64);
        for (size, drains) in sizes {
            if let Some(mut room) = producer.reserve(size, 0) {
                for _ in 0..size {
                    room.push(next);
                    wrote.push(next);
                    next += 1;
                }
            }
            for _ in 0..drains {
                consumer.take(5, |part| read.extend(part.iter().map(|word| word.load(Ordering::Relaxed)))).unwrap();
            }
        }
        while consumer.take(usize::MAX, |part| read.extend(part.iter().map(|word| word.load(Ordering::Relaxed)))).unwrap() > 0 {}
        prop_assert_eq!(wrote, read);
    }
}

/// Check that a producer that waits for room continues while its consumer is still busy with what it has taken.
#[test]
fn taken_room_is_given_back_before_it_is_looked_at() {
    let ring = shared(8, 0);
    let mut producer = ring.producer();
    let mut room = producer.reserve(8, 0).unwrap();
    (0..8).for_each(|word| room.push(word));
    drop(room);
    let mut taken = Vec::new();
    let mut consumer = ring.consumer(0);
    let count = consumer.take(8, |words| taken.extend(words.iter().map(|word| word.load(Ordering::Relaxed))));
    assert_eq!((count, taken), (Ok(8), (0..8).collect()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            while producer.reserve(8, 0).is_none() {
                std::thread::yield_now();
            }
        });
        // A sink that takes forever: the consumer is not asked again before the producer has continued.
        waiting.join().unwrap();
    });
    assert_eq!(consumer.position(), 8);
}

/// Check that two threads pass records with sequence number and checksum without loss or damage.
#[test]
fn two_threads_lose_nothing() {
    const RECORDS: u64 = 2_000_000;
    let ring = shared(1 << 12, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = ring.producer();
            let mut number = 0;
            while number < RECORDS {
                if let Some(mut room) = producer.reserve(2, 0) {
                    room.push(number);
                    room.push(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    number += 1;
                } else {
                    std::thread::yield_now();
                }
            }
        });
        let mut consumer = ring.consumer(0);
        let (mut words, mut expected) = (Vec::new(), 0u64);
        while expected < RECORDS {
            words.clear();
            if consumer
                .take(usize::MAX, |part| words.extend(part.iter().map(|word| word.load(Ordering::Relaxed))))
                .unwrap()
                == 0
            {
                std::thread::yield_now();
            }
            assert_eq!(words.len() % 2, 0);
            for pair in words.chunks(2) {
                assert_eq!(pair, [expected, expected.wrapping_mul(0x9E37_79B9_7F4A_7C15)]);
                expected += 1;
            }
        }
    });
}
