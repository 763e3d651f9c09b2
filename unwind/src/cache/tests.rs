use super::{RuleTable, SharedRules, SharedSlot};
use crate::{CodeAddress, Kind, Rule};
use proptest::prelude::*;
use std::boxed::Box;
use std::collections::BTreeMap;
use std::thread;
use std::vec::Vec;

fn rule(number: u64) -> Rule {
    Rule::new(Kind::Sp, number as i32, 0)
}

fn slots(count: usize) -> Vec<SharedSlot> {
    (0..count).map(|_| SharedSlot::new()).collect()
}

/// Check that the two most recently used rules of a set stay, with their tags.
#[test]
fn sets_keep_what_was_used_last() {
    let mut table = Box::new(RuleTable::new());
    // Addresses of one set: their differences vanish in the fold.
    let addresses = [0u64, 1, 2].map(|n| CodeAddress::Return(0x7000_0000_0000 + (n << 40)));
    for (number, address) in addresses.into_iter().enumerate() {
        let hit = table.insert(address, rule(number as u64));
        *table.tag(hit).expect("in the table") = 10 + number as u32;
    }
    assert_eq!(table.find(addresses[0]), None);
    for number in [1, 2] {
        let hit = table.find(addresses[number]).expect("one of the last two");
        assert_eq!(hit.rule, rule(number as u64));
        assert_eq!(table.tag(hit), Some(&mut (10 + number as u32)));
    }
    // A rule that replaces another one does not inherit its tag.
    let hit = table.insert(addresses[0], rule(0));
    assert_eq!(table.tag(hit), Some(&mut 0));
    table.clear_tags();
    let hit = table.find(addresses[2]).expect("only tags were cleared");
    assert_eq!(table.tag(hit), Some(&mut 0));
    // The most recently inserted rule was not used since, but the other one was.
    assert_eq!(table.find(addresses[0]).map(|hit| hit.rule), Some(rule(0)));
    table.find(addresses[2]);
    table.insert(addresses[1], rule(1));
    assert_eq!(table.find(addresses[0]), None);
    assert_eq!(table.find(addresses[2]).map(|hit| hit.rule), Some(rule(2)));
    table.clear();
    assert_eq!(table.find(addresses[2]), None);
}

/// Check that a full table keeps what it has, refuses the rest, and reports it.
#[test]
fn full_tables_stop_inserting() {
    let slots = slots(16);
    let shared = SharedRules::new(&slots);
    let kept: Vec<u64> =
        (1..=100).filter(|n| shared.insert(CodeAddress::Return(n << 12), rule(*n))).collect();
    assert_eq!(kept.len(), 16);
    for n in 1..=100 {
        let expected = kept.contains(&n).then(|| rule(n));
        assert_eq!(shared.find(CodeAddress::Return(n << 12)), expected);
    }
    assert!(shared.insert(CodeAddress::Return(kept[0] << 12), rule(7)), "a key that has a place keeps it");
}

/// Check that a table without slots caches nothing, and that a table of any other size uses a power of two of them.
#[test]
fn any_number_of_slots_will_do() {
    for count in [0, 1, 2, 3, 17, 100] {
        let slots = slots(count);
        let shared = SharedRules::new(&slots);
        let kept = (1..1000).filter(|n| shared.insert(CodeAddress::Exact(n * 16), rule(*n))).count();
        let expected = if count == 0 { 0 } else { 1 << count.ilog2() };
        assert_eq!(kept, expected, "{count} slots");
    }
}

/// Check that unloading forgets only the rules of its range, by the byte that is looked up, and that a module at the
/// same address uses its slots again.
#[test]
fn unloaded_ranges_are_forgotten() {
    let slots = slots(64);
    let shared = SharedRules::new(&slots);
    let addresses = [
        (CodeAddress::Return(0x1000), false), // looked up at 0xfff
        (CodeAddress::Exact(0x1000), true),
        (CodeAddress::Return(0x1001), true),
        (CodeAddress::Return(0x2000), true), // the call is the last instruction of the module
        (CodeAddress::Exact(0x2000), false),
    ];
    for (address, _) in addresses {
        assert!(shared.insert(address, rule(1)));
    }
    shared.invalidate(0x1000..0x2000);
    for (address, unloaded) in addresses {
        assert_eq!(shared.find(address).is_none(), unloaded, "{address:x?}");
    }
    assert!(shared.insert(CodeAddress::Exact(0x1000), rule(2)));
    assert_eq!(shared.find(CodeAddress::Exact(0x1000)), Some(rule(2)));
}

/// Check that threads that insert the same and different keys at once never see another key's rule.
#[test]
fn racing_threads_see_only_their_rules() {
    let slots = slots(1 << 12);
    let shared = SharedRules::new(&slots);
    thread::scope(|scope| {
        for start in [0, 500, 1000, 1500] {
            scope.spawn(move || {
                for n in start + 1..start + 1001 {
                    let address = CodeAddress::Return(n * 8);
                    if let Some(found) = shared.find(address) {
                        assert_eq!(found, rule(n));
                    }
                    shared.insert(address, rule(n));
                    assert_eq!(shared.find(address), Some(rule(n)));
                    if n % 100 == 0 {
                        // Beyond all keys, so that it only races with them for the words.
                        shared.invalidate(1 << 40..1 << 41);
                    }
                }
            });
        }
    });
    for n in 1..2501 {
        assert_eq!(shared.find(CodeAddress::Return(n * 8)), Some(rule(n)));
    }
}

proptest! {
    /// Check that the first level either does not know an address or has its last rule.
    #[test]
    fn tables_never_mix_up_rules(inserts in prop::collection::vec((1..40u64, 0..1000u64), 0..300)) {
        let mut table = Box::new(RuleTable::new());
        // All in one set, so that they evict each other.
        let mut model = BTreeMap::new();
        let address = |n: u64| CodeAddress::Return(n << 40 | 1);
        for (n, value) in inserts {
            table.insert(address(n), rule(value));
            model.insert(n, rule(value));
            prop_assert_eq!(table.find(address(n)).map(|hit| hit.rule), Some(rule(value)));
        }
        for (n, expected) in model {
            if let Some(hit) = table.find(address(n)) {
                prop_assert_eq!(hit.rule, expected);
            }
        }
    }
}
