//! The second level: all rules of the process.

use crate::address::CodeAddress;
use crate::rule::Rule;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

/// Slots probed before a table counts as full for a key.
const PROBES: usize = 16;

/// 2⁶⁴ divided by the golden ratio: multiplication by it moves neighbouring keys far apart in their high bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// One slot of [`SharedRules`], 16 bytes.
///
/// | word | written by | read by | ordering |
/// |---|---|---|---|
/// | `key`  | the first `insert` of that key, by compare-and-swap from 0, and never again | every `find` and `insert` | relaxed |
/// | `rule` | `insert` after it owns or found the key; `invalidate`, with 0 | `find` that saw the key | relaxed |
///
/// Relaxed is enough: a key never moves, so any non-zero rule beside it was computed for that key; a rule is one word
/// that is complete in itself; and it publishes no other memory. A reader that comes between key and rule sees 0 and
/// computes the rule itself.
#[derive(Debug)]
#[repr(C)]
pub struct SharedSlot {
    key: AtomicU64,
    rule: AtomicU64,
}

const _: () = assert!(size_of::<SharedSlot>() == 16);

impl SharedSlot {
    /// A free slot. Zeroed memory is one, too.
    pub const fn new() -> Self {
        Self { key: AtomicU64::new(0), rule: AtomicU64::new(0) }
    }
}

impl Default for SharedSlot {
    fn default() -> Self {
        Self::new()
    }
}

/// A process-wide table of rules: open addressing, insert-only, lock-free.
///
/// It never evicts. If other keys occupy the 16 slots from a key's own, that key is not cached.
#[derive(Clone, Copy, Debug)]
pub struct SharedRules<'a> {
    slots: &'a [SharedSlot],
    shift: u32,
}

impl<'a> SharedRules<'a> {
    /// The table over `slots`, of which the largest power of two is used. Without slots it caches nothing.
    pub const fn new(slots: &'a [SharedSlot]) -> Self {
        match slots.len().checked_ilog2() {
            Some(bits) => Self { slots: slots.split_at(1 << bits).0, shift: 64u32.wrapping_sub(bits) },
            None => Self { slots, shift: 0 },
        }
    }

    /// The table over `count` slots at `memory`: an empty one if the memory is zeroed.
    ///
    /// # Safety
    ///
    /// `memory` is aligned to 8 bytes; its `count` slots are mapped, readable, writable and initialised for `'a`; and
    /// others only use them as such a table.
    pub const unsafe fn from_raw(memory: *const SharedSlot, count: usize) -> Self {
        // SAFETY: slots are atomic integers, for which any bytes are valid, and the caller vouches for the memory.
        Self::new(unsafe { core::slice::from_raw_parts(memory, count) })
    }

    /// The cached rule of `address`.
    pub fn find(&self, address: CodeAddress) -> Option<Rule> {
        let key = address.to_bits();
        for slot in self.probe(key) {
            match slot.key.load(Ordering::Relaxed) {
                0 => return None,
                found if found == key => return Rule::from_bits(slot.rule.load(Ordering::Relaxed)),
                _ => {}
            }
        }
        None
    }

    /// Caches `rule` for `address` if there is room. Returns whether there was.
    pub fn insert(&self, address: CodeAddress, rule: Rule) -> bool {
        let key = address.to_bits();
        for slot in self.probe(key) {
            let owner = match slot.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => key,
                Err(owner) => owner,
            };
            if owner == key {
                slot.rule.store(rule.to_bits(), Ordering::Relaxed);
                return true;
            }
        }
        false
    }

    /// Forgets the rules of all addresses in `range`, because their module was unloaded.
    ///
    /// The keys stay: probes for other keys pass them, and a module loaded at the same address uses them again.
    /// Threads drop their own copies with [`RuleTable::clear`](super::RuleTable::clear).
    ///
    /// A walk that computes a rule in `range` at this very moment may insert it afterwards. That takes a thread with
    /// a frame in code that is being unloaded, which is a bug of the host before it is ours.
    pub fn invalidate(&self, range: Range<u64>) {
        for slot in self.slots {
            let key = slot.key.load(Ordering::Relaxed);
            if range.contains(&CodeAddress::from_bits(key).lookup()) {
                slot.rule.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The slots where `key` may be, starting with its own.
    fn probe(&self, key: u64) -> impl Iterator<Item = &'a SharedSlot> {
        let hash = key.wrapping_mul(SPREAD);
        let start = hash.checked_shr(self.shift).unwrap_or(0) as usize;
        let (before, from) = self.slots.split_at_checked(start).unwrap_or((&[], self.slots));
        from.iter().chain(before).take(PROBES)
    }
}

#[cfg(test)]
mod tests {
    use super::{SharedRules, SharedSlot};
    use crate::{CodeAddress, Rule};
    use std::boxed::Box;

    /// Check that zeroed memory is an empty table that takes rules.
    #[test]
    fn zeroed_memory_is_an_empty_table() {
        let memory = Box::<[SharedSlot]>::new_zeroed_slice(64);
        // SAFETY: aligned, zeroed, with as many slots as named.
        let shared = unsafe { SharedRules::from_raw(memory.as_ptr().cast(), memory.len()) };
        let address = CodeAddress::Return(0x1000);
        assert_eq!(shared.find(address), None);
        assert!(shared.insert(address, Rule::END));
        assert_eq!(shared.find(address), Some(Rule::END));
    }
}
