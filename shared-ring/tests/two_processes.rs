//! The ring between two real processes, over memory that fork shares.

#![allow(unsafe_code, reason = "maps memory and forks")]

use shared_ring::ring::{Consumer, Producer};
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of the ring.
const LENGTH: usize = 1 << 12;

/// Head, tail and words in memory that both processes share.
struct Shared {
    memory: &'static [AtomicU64],
}

impl Shared {
    fn new() -> Shared {
        let bytes = (LENGTH + 32) * 8;
        // SAFETY: a new anonymous mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the mapping is zeroed, page aligned, so large, and never unmapped.
        let memory = unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), bytes / 8) };
        Shared { memory }
    }

    fn head(&self) -> &'static AtomicU64 {
        &self.memory[0]
    }

    fn tail(&self) -> &'static AtomicU64 {
        &self.memory[16]
    }

    fn words(&self) -> &'static [AtomicU64] {
        &self.memory[32..]
    }
}

/// Runs `child` in a forked process and returns its pid.
fn fork(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child only computes and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        child();
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(0) };
    }
    pid
}

fn wait(pid: libc::pid_t) {
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn checksum(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

/// Writes numbered records forever, or up to `limit`.
fn produce(shared: &Shared, limit: u64) {
    let mut producer = Producer::new(shared.words(), shared.head(), shared.tail());
    let mut number = 0;
    while number < limit {
        match producer.reserve(2, 0) {
            Some(mut room) => {
                room.push(number);
                room.push(checksum(number));
                number += 1;
            }
            None => std::thread::yield_now(),
        }
    }
}

/// Takes whole records until `enough` returns true, and checks each; returns how many there were.
fn consume(consumer: &mut Consumer<'_>, from: u64, enough: impl Fn(u64) -> bool) -> u64 {
    let (mut words, mut expected) = (Vec::new(), from);
    while !enough(expected) {
        words.clear();
        if consumer
            .take(usize::MAX, |part| words.extend(part.iter().map(|word| word.load(Ordering::Relaxed))))
            .unwrap()
            == 0
        {
            std::thread::yield_now();
        }
        assert_eq!(words.len() % 2, 0, "a half written record was visible");
        for record in words.chunks(2) {
            assert_eq!(record, [expected, checksum(expected)]);
            expected += 1;
        }
    }
    expected
}

/// Check that records with sequence number and checksum pass from process to process without loss or damage.
/// `RING_RECORDS` sets how many; ten million in a release build take about a second.
#[test]
fn records_pass_between_processes() {
    let records = std::env::var("RING_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let shared = Shared::new();
    let child = fork(|| produce(&shared, records));
    let mut consumer = Consumer::new(shared.words(), shared.head(), shared.tail(), 0);
    let seen = consume(&mut consumer, 0, |seen| seen == records);
    wait(child);
    assert_eq!(seen, records);
    assert_eq!(consumer.available(), Ok(0));
}

/// Check that a producer killed at any moment leaves only whole records, all of those that it published.
#[test]
fn killed_producer_leaves_whole_records() {
    for round in 0..20u64 {
        let shared = Shared::new();
        let child = fork(|| produce(&shared, u64::MAX));
        let mut consumer = Consumer::new(shared.words(), shared.head(), shared.tail(), 0);
        let seen = consume(&mut consumer, 0, |seen| seen > round * 1_000);
        // SAFETY: our own child.
        unsafe { libc::kill(child, libc::SIGKILL) };
        wait(child);
        let published = shared.head().load(Ordering::Acquire);
        assert_eq!(consume(&mut consumer, seen, |seen| seen * 2 == published) * 2, published);
    }
}
