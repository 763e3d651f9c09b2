//! The first level: a small table of one thread.

use crate::address::CodeAddress;
use crate::rule::Rule;

/// Sets of two ways. With so many, few of the several hundred addresses in a program's stacks share a set; where two
/// do, branch prediction cannot foresee which way has the rule.
const SETS: usize = 1024;

/// One cached rule and its tag. The key is the compact form of the address; 0 marks a free entry.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    rule: Rule,
    tag: u32,
}

const FREE: Entry = Entry { key: 0, rule: Rule::NONE, tag: 0 };

/// Two entries in one cache line, so that a look-up touches no other. The first one was used last.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Set {
    entries: [Entry; 2],
}

const EMPTY: Set = Set { entries: [FREE; 2] };

/// The rules that one thread used last, each with a number of the caller's.
///
/// ```text
///  0              24             48       64            64 KiB
///  ┌──────────────┬──────────────┬────────┬───────────┬───┐
///  │ key rule tag │ key rule tag │ unused │ set 1     │ … │
///  └──────────────┴──────────────┴────────┴───────────┴───┘
/// ```
///
/// Zeroed memory is an empty table. It has one owner and no atomics.
#[repr(C)]
pub struct RuleTable {
    sets: [Set; SETS],
}

const _: () = assert!(size_of::<Entry>() == 24 && size_of::<RuleTable>() == 64 << 10);

/// A rule that was just found or inserted, and its set, where it is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: Rule,
    set: usize,
}

impl RuleTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self { sets: [EMPTY; SETS] }
    }

    /// Forgets all rules and tags. Necessary when modules were unloaded.
    pub fn clear(&mut self) {
        self.sets.fill(EMPTY);
    }

    /// Forgets only the tags. Necessary when the numbers in them have lost their meaning.
    pub fn clear_tags(&mut self) {
        self.sets.iter_mut().flat_map(|set| &mut set.entries).for_each(|entry| entry.tag = 0);
    }

    /// Finds the rule of `address`, which is not [`CodeAddress::Return`] of 0: that marks a free entry.
    #[inline(always)]
    pub(crate) fn find(&mut self, address: CodeAddress) -> Option<Hit> {
        let key = address.to_bits();
        let set = set_of(key);
        let entries = &mut self.sets.get_mut(set)?.entries;
        // An entry that was just looked up is likely to be looked up again soon.
        if entries[0].key != key {
            if entries[1].key != key {
                return None;
            }
            entries.swap(0, 1);
        }
        Some(Hit { rule: entries[0].rule, set })
    }

    /// The tag beside the rule.
    #[inline(always)]
    pub(crate) fn tag(&mut self, hit: Hit) -> Option<&mut u32> {
        let [first, _] = &mut self.sets.get_mut(hit.set)?.entries;
        Some(&mut first.tag)
    }

    /// Caches `rule` for `address` with tag 0, in place of the rule in its set that was not used last.
    pub(crate) fn insert(&mut self, address: CodeAddress, rule: Rule) -> Hit {
        let key = address.to_bits();
        let set = set_of(key);
        if let Some(Set { entries: [first, second] }) = self.sets.get_mut(set) {
            *second = *first;
            *first = Entry { key, rule, tag: 0 };
        }
        Hit { rule, set }
    }
}

impl Default for RuleTable {
    fn default() -> Self {
        Self::new()
    }
}

/// Return addresses differ enough in their low bits; folding in the next bits separates functions whose length is a
/// multiple of 1024 bytes. Every walk waits for this, and a multiplication would add a cycle or two to each frame.
#[inline(always)]
const fn set_of(key: u64) -> usize {
    (key ^ (key >> SETS.ilog2())) as usize & (SETS - 1)
}

#[cfg(test)]
#[expect(unsafe_code, reason = "takes zeroed memory for a table")]
mod tests {
    use super::RuleTable;
    use crate::CodeAddress;
    use std::boxed::Box;

    /// Check that zeroed memory is an empty table.
    #[test]
    fn zeroed_memory_is_an_empty_table() {
        // SAFETY: the type consists of integers, for which any bytes are valid.
        let mut table = unsafe { Box::<RuleTable>::new_zeroed().assume_init() };
        assert_eq!(table.find(CodeAddress::Return(0x1000)), None);
        assert_eq!(table.find(CodeAddress::Exact(0)), None);
    }
}
