mod interleavings;

use super::*;
use crate::drain::batch::Part;
use crate::drain::message::Lifecycle;
use proptest::prelude::*;
use shared_ring::decode::decode;
use shared_ring::record::{DELTA_LIMIT, Record, encode};
use std::sync::atomic::AtomicU64;

fn alloc(address: u64) -> Record {
    Record::Alloc { address, size: 1, alignment: 0, stack: 0 }
}

fn free(address: u64) -> Record {
    Record::Free { address }
}

const BLOCK: u64 = 0x10_0000;

/// A stream with these records at these times, encoded as in a ring.
fn open(merger: &mut Merger, ring: u32, records: &[(u64, Record)]) {
    let id = merger.open(ImageId(0), ring);
    let mut before = 0;
    for (time, record) in records {
        let mut delta = time - before;
        if delta >= DELTA_LIMIT {
            let (words, length) = encode(Record::Time { time: *time }, 0);
            merger.stream(id).copy(&words.map(AtomicU64::new)[..length]);
            delta = 0;
        }
        let (words, length) = encode(*record, delta);
        merger.stream(id).copy(&words.map(AtomicU64::new)[..length]);
        before = *time;
    }
    merger.stream(id).check(u64::MAX, false, |_, _, _| {}).unwrap();
}

/// A batch's contents: ring and time of each record; notes have no ring.
fn contents(batch: &mut Batch) -> Vec<(Option<u32>, u64)> {
    let mut contents = Vec::new();
    batch.take(|part| match part {
        Part::Note(message) => contents.push((None, message.time)),
        Part::Run(run, mut words) => {
            let mut time = run.time;
            while let Ok((delta, record, length)) = decode(words) {
                words = &words[length..];
                time += delta;
                match record {
                    Record::Time { time: told } => time = told,
                    Record::Owner { time: told, .. } => {
                        time = told;
                        contents.push((Some(run.ring), time));
                    }
                    _ => contents.push((Some(run.ring), time)),
                }
            }
            assert!(words.is_empty(), "runs are of whole records");
        }
    });
    contents
}

fn check(streams: &[&[(u64, Record)]], watermark: u64, expected: &[(u32, u64)], left: usize) {
    let mut merger = Merger::default();
    for (ring, records) in (0..).zip(streams) {
        open(&mut merger, ring, records);
    }
    let mut batch = Batch::default();
    assert!(!merger.merge(watermark, &mut batch));
    let expected: Vec<_> = expected.iter().map(|(ring, time)| (Some(*ring), *time)).collect();
    assert_eq!(contents(&mut batch), expected);
    assert!(!merger.merge(u64::MAX, &mut batch));
    assert_eq!(contents(&mut batch).len(), left);
    assert!(merger.has_nothing_of(ImageId(0), (0..streams.len()).map(|number| StreamId(number as u32))));
}

/// Check that time orders, rings stay in order, and nothing beyond the watermark moves.
#[test]
fn time_orders_up_to_the_watermark() {
    check(
        &[
            &[(1, alloc(BLOCK)), (4, alloc(BLOCK)), (9, alloc(BLOCK))],
            &[(2, alloc(BLOCK)), (3, alloc(BLOCK)), (12, alloc(BLOCK))],
        ],
        9,
        &[(0, 1), (1, 2), (1, 3), (0, 4), (0, 9)],
        1,
    );
}

/// Check that at equal times the beginning of a block precedes all that may end it or pass it on to a child, in short
/// and long form.
#[test]
fn beginnings_come_first_in_a_tie() {
    let (old, pool, stack) = (BLOCK, 1, 0);
    for address in [BLOCK, BLOCK + 1] {
        let ends = [
            free(address),
            Record::FreeWithStack { address, stack },
            Record::ReallocBegin { address, serial: 1 },
            Record::ReportFree { pool, address },
            Record::ReportRealloc { pool, old, address, size: 1, stack },
            Record::Unmap { address, length: 1 },
            Record::Fork { fork: 1 },
        ];
        let begins = [
            alloc(address),
            Record::ReallocEnd { serial: 1, address, size: 1, stack },
            Record::ReportAlloc { pool, address, size: 1, stack },
            Record::Map { address, length: 1, stack, in_hook: false },
        ];
        for (begin, end) in begins.into_iter().flat_map(|begin| ends.map(|end| (begin, end))) {
            check(&[&[(5, begin)], &[(5, end)]], 5, &[(0, 5), (1, 5)], 0);
            check(&[&[(5, end)], &[(5, begin)]], 5, &[(1, 5), (0, 5)], 0);
        }
    }
}

/// Check that a ring keeps its own order even where its times are equal and its end of a block comes first.
#[test]
fn one_ring_keeps_its_order() {
    let records = [(5, free(BLOCK)), (5, alloc(BLOCK)), (5, free(BLOCK))];
    check(&[&records, &[(5, free(BLOCK))]], 5, &[(0, 5), (0, 5), (0, 5), (1, 5)], 0);
}

/// Check that a process starts before its records of that time, and ends after them.
#[test]
fn notes_have_their_place() {
    let mut merger = Merger::default();
    open(&mut merger, 7, &[(5, Record::Owner { slot: 0, tid: 1, time: 5 }), (6, alloc(BLOCK))]);
    let message = |time| Message { time, image: ImageId(0), event: Lifecycle::Finished };
    merger.note(message(6), Rank::Last);
    merger.note(message(5), Rank::Other);
    let mut batch = Batch::default();
    assert!(!merger.merge(6, &mut batch));
    assert_eq!(contents(&mut batch), [(None, 5), (Some(7), 5), (Some(7), 6), (None, 6)]);
}

proptest! {
    /// Check that merging loses nothing and each ring stays in order, in batches of any size, for any records.
    #[test]
    fn nothing_is_lost(
        times in proptest::collection::vec(proptest::collection::vec(0u64..5000, 0..900), 1..6),
        watermark in 0u64..6000,
    ) {
        let mut merger = Merger::default();
        let mut all = Vec::new();
        for (ring, times) in (0..).zip(&times) {
            let mut times = times.clone();
            times.sort_unstable();
            let records: Vec<_> = times.iter().map(|time| (*time, alloc(BLOCK + time * 16))).collect();
            open(&mut merger, ring, &records);
            all.extend(times.into_iter().map(|time| (time, ring)));
        }
        all.sort_unstable();
        let mut batch = Batch::default();
        let mut merged = Vec::new();
        for until in [watermark, u64::MAX] {
            prop_assert!(!merger.merge(until, &mut batch));
            let part = contents(&mut batch);
            prop_assert!(part.iter().all(|(_, time)| *time <= until));
            merged.extend(part.into_iter().map(|(ring, time)| (time, ring.unwrap_or(u32::MAX))));
            merger.compact(0);
        }
        prop_assert!(merged.is_sorted_by_key(|(time, _)| *time));
        merged.sort_unstable();
        prop_assert_eq!(merged, all);
    }
}
