//! One order out of many rings.
//!
//! Each ring is in order. Between rings time orders: an allocation's is taken after its call and a free's before, so
//! along a chain free → reuse time rises. Nothing later than the *watermark*, a moment before the sweep began, is
//! merged: a record with an earlier time was committed before its successors took theirs, so all that it depends on
//! had been seen by the sweep.
//!
//! Times have a resolution of some nanoseconds, so two records may have the same: then those that end a block come
//! before those that begin one, which is how the same address passes from one thread to another.

use shared_ring::record::Record;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Records of one source that are not merged yet.
pub(crate) type Pending<T> = VecDeque<(u64, T)>;

/// What has a place in a tie.
pub(crate) trait Rank {
    /// Smaller comes first among equal times of different sources.
    fn rank(&self) -> u8;
}

impl Rank for Record {
    fn rank(&self) -> u8 {
        match self {
            Record::Free { .. } | Record::ReallocBegin { .. } | Record::Unmap { .. } => 0,
            Record::Alloc { .. } | Record::ReallocEnd { .. } | Record::Map { .. } => 2,
            _ => 1,
        }
    }
}

/// Moves everything not later than `watermark` from the sources to `sink`, in merged order, each with the number of
/// its source.
pub(crate) fn merge<T: Rank>(
    sources: &mut [&mut Pending<T>],
    watermark: u64,
    mut sink: impl FnMut(usize, u64, T),
) {
    let key = |source: &Pending<T>| {
        source.front().filter(|(time, _)| *time <= watermark).map(|(time, item)| (*time, item.rank()))
    };
    let mut heads: BinaryHeap<Reverse<((u64, u8), usize)>> = sources
        .iter()
        .enumerate()
        .filter_map(|(index, source)| key(source).map(|key| Reverse((key, index))))
        .collect();
    while let Some(Reverse((_, index))) = heads.pop() {
        let next = heads.peek().map(|Reverse(head)| *head);
        let Some(source) = sources.get_mut(index) else { continue };
        // A run of one source goes on without the heap.
        while let Some(key) = key(source) {
            if next.is_some_and(|next| next < (key, index)) {
                heads.push(Reverse((key, index)));
                break;
            }
            if let Some((time, item)) = source.pop_front() {
                sink(index, time, item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(address: u64) -> Record {
        Record::Alloc { address, size: 1, alignment: 0, stack: 0 }
    }

    fn free(address: u64) -> Record {
        Record::Free { address }
    }

    fn check(sources: &[&[(u64, Record)]], watermark: u64, expected: &[(usize, u64)], left: usize) {
        let mut pending: Vec<Pending<Record>> =
            sources.iter().map(|source| source.iter().copied().collect()).collect();
        let mut references: Vec<&mut Pending<Record>> = pending.iter_mut().collect();
        let mut merged = Vec::new();
        merge(&mut references, watermark, |source, time, _| merged.push((source, time)));
        assert_eq!(merged, expected);
        assert_eq!(pending.iter().map(VecDeque::len).sum::<usize>(), left);
    }

    /// Check that time orders, rings stay in order, and nothing beyond the watermark moves.
    #[test]
    fn time_orders_up_to_the_watermark() {
        check(
            &[
                &[(1, alloc(1)), (4, alloc(2)), (9, alloc(3))],
                &[(2, alloc(4)), (3, alloc(5)), (12, alloc(6))],
            ],
            9,
            &[(0, 1), (1, 2), (1, 3), (0, 4), (0, 9)],
            1,
        );
    }

    /// Check that at one time the end of a block comes before the beginning of the next one at its address.
    #[test]
    fn frees_come_first_in_a_tie() {
        check(&[&[(5, alloc(1))], &[(5, free(1))]], 5, &[(1, 5), (0, 5)], 0);
        check(&[&[(5, free(1))], &[(5, alloc(1))]], 5, &[(0, 5), (1, 5)], 0);
    }

    /// Check that a ring's own order is kept even where its times are equal.
    #[test]
    fn one_source_keeps_its_order() {
        check(&[&[(5, alloc(1)), (5, free(1))], &[(5, alloc(2))]], 5, &[(0, 5), (0, 5), (1, 5)], 0);
    }

    proptest::proptest! {
        /// Check that merging loses nothing and every source stays in order, however the records lie.
        #[test]
        fn nothing_is_lost(times in proptest::collection::vec(proptest::collection::vec(0u64..50, 0..40), 1..6), watermark in 0u64..60) {
            let mut pending: Vec<Pending<Record>> = times
                .iter()
                .map(|times| {
                    let mut sorted = times.clone();
                    sorted.sort_unstable();
                    sorted.into_iter().map(|time| (time, alloc(time))).collect()
                })
                .collect();
            let before = pending.clone();
            let mut references: Vec<&mut Pending<Record>> = pending.iter_mut().collect();
            let mut merged: Vec<Pending<Record>> = vec![Pending::new(); before.len()];
            let mut last = 0;
            merge(&mut references, watermark, |source, time, item| {
                assert!(time >= last && time <= watermark);
                last = time;
                merged[source].push_back((time, item));
            });
            for ((mut done, rest), all) in merged.into_iter().zip(pending).zip(before) {
                done.extend(rest);
                proptest::prop_assert_eq!(done, all);
            }
        }
    }
}
