use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn started() -> Filter {
    let filter = Filter::new();
    assert!(filter.start());
    filter
}

/// Addresses in a few regions, close together.
fn address() -> impl Strategy<Value = usize> {
    (0..3usize, 0..200usize).prop_map(|(region, block)| ((0x5555 + region) << REGION) + (block << GRANULE))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Check that the filter answers as a set does: it misses no end of a sample, and takes no other block for one.
    #[test]
    fn behaves_like_a_set(steps in proptest::collection::vec((address(), any::<bool>()), 0..400)) {
        let filter = started();
        let mut set = HashSet::new();
        for (address, is_new) in steps {
            prop_assert_eq!(filter.has(address), set.contains(&address));
            if is_new {
                prop_assert!(filter.add(address));
                set.insert(address);
            } else {
                prop_assert_eq!(filter.take(address), set.remove(&address));
            }
        }
        for address in set {
            prop_assert!(filter.take(address));
        }
    }
}

/// Check that the end of every block is wanted and no block is refused when everything is recorded.
#[test]
fn without_samples_every_end_is_wanted() {
    let filter = Filter::new();
    for address in [0x1000, 0x1001, usize::MAX] {
        assert!(filter.add(address) && filter.has(address) && filter.take(address) && filter.take(address));
    }
}

/// Check that an address which the filter cannot hold exactly is refused, and its end is not wanted.
#[test]
fn odd_addresses_are_refused() {
    let filter = started();
    let end = 1 << arch::ADDRESS_BITS;
    let last = end - 0x1000;
    assert!(filter.add(last));
    for address in [last + 1, last + 4, end, usize::MAX & !7] {
        assert!(!filter.add(address) && !filter.has(address) && !filter.take(address), "{address:#x}");
    }
    assert!(filter.take(last));
}

/// Check that the number of leaves is bounded; beyond that, entries stay and new ones are refused.
#[test]
fn leaves_are_bounded() {
    let filter = started();
    assert!(filter.add(0x1000));
    filter.leaves.store(LEAVES, Ordering::Relaxed);
    assert!(!filter.add(1 << REGION) && !filter.take(1 << REGION));
    assert!(filter.add(0x2000));
    assert!(filter.take(0x1000) && filter.take(0x2000));
    assert_eq!(filter.leaves.load(Ordering::Relaxed), LEAVES);
}

/// Check that threads which share words and map the same leaf at once lose none of each other's blocks.
#[test]
fn threads_do_not_disturb_each_other() {
    for round in 0..20usize {
        let filter = started();
        let of_thread =
            |thread: usize| (0..1000).map(move |block| (round << REGION) + ((block * 4 + thread) << GRANULE));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let filter = &filter;
                scope.spawn(move || {
                    assert!(of_thread(thread).all(|address| filter.add(address)));
                    assert!(of_thread(thread).step_by(2).all(|address| filter.take(address)));
                });
            }
        });
        for thread in 0..4 {
            let held: Vec<bool> = of_thread(thread).map(|address| filter.take(address)).collect();
            assert!(held.iter().enumerate().all(|(block, held)| *held == (block % 2 == 1)), "{thread}");
        }
    }
}
