//! The first level: a small table of one thread.

use crate::{CodeAddress, Rule};

/// Sets of two ways.
const SETS: usize = 512;

/// One cached rule. The key is the compact form of the address; 0 is a free place.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    rule: Rule,
}

const FREE: Entry = Entry { key: 0, rule: Rule::NONE };

/// Two entries in one cache line with their tags, so that a look-up touches no other. The first is the newer one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Set {
    entries: [Entry; 2],
    tags: [u32; 2],
}

const EMPTY: Set = Set { entries: [FREE; 2], tags: [0; 2] };

/// The rules that one thread used last, and a number of the caller's for each.
///
/// ```text
///  0                     32              40       64            32 KiB
///  ┌─────────────────────┬───────────────┬────────┬───────────┬───┐
///  │ key rule │ key rule │ tag │ tag     │ unused │ set 1     │ … │
///  └─────────────────────┴───────────────┴────────┴───────────┴───┘
/// ```
///
/// Zeroed memory is an empty table. It has one owner and no atomics.
#[repr(C)]
pub struct RuleTable {
    sets: [Set; SETS],
}

const _: () = assert!(size_of::<Entry>() == 16 && size_of::<RuleTable>() == 32 << 10);

/// A rule of the table and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: Rule,
    set: usize,
    way: usize,
}

impl RuleTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self { sets: [EMPTY; SETS] }
    }

    /// The table that lies in `memory`: an empty one if the memory is zeroed.
    ///
    /// # Safety
    ///
    /// `memory` is aligned to 64 bytes, its first `size_of::<RuleTable>()` bytes are mapped, readable, writable
    /// and initialised for `'a`, and nothing else refers to them meanwhile.
    pub const unsafe fn from_raw<'a>(memory: *mut Self) -> &'a mut Self {
        // SAFETY: the type consists of integers, so any bytes are one, and the caller vouches for the memory.
        unsafe { &mut *memory }
    }

    /// Forgets all rules and tags. Due when modules were unloaded.
    pub fn clear(&mut self) {
        self.sets.fill(EMPTY);
    }

    /// Forgets the tags only. Due when the numbers that they hold have lost their meaning.
    pub fn clear_tags(&mut self) {
        self.sets.iter_mut().for_each(|set| set.tags = [0; 2]);
    }

    /// Finds the rule of `address`, which is not [`CodeAddress::Return`] of 0: that is the mark of a free place.
    #[inline(always)]
    pub(crate) fn find(&self, address: CodeAddress) -> Option<Hit> {
        let key = address.to_bits();
        let set = set_of(key);
        let [newer, older] = &self.sets.get(set)?.entries;
        if newer.key == key {
            return Some(Hit { rule: newer.rule, set, way: 0 });
        }
        (older.key == key).then_some(Hit { rule: older.rule, set, way: 1 })
    }

    /// The tag beside the rule.
    #[inline(always)]
    pub(crate) fn tag(&mut self, hit: Hit) -> Option<&mut u32> {
        self.sets.get_mut(hit.set)?.tags.get_mut(hit.way)
    }

    /// Keeps `rule` for `address` with tag 0, in place of the older rule of its set.
    pub(crate) fn insert(&mut self, address: CodeAddress, rule: Rule) -> Hit {
        let key = address.to_bits();
        let set = set_of(key);
        if let Some(Set { entries: [newer, older], tags: [newer_tag, older_tag] }) = self.sets.get_mut(set) {
            (*older, *older_tag) = (*newer, *newer_tag);
            (*newer, *newer_tag) = (Entry { key, rule }, 0);
        }
        Hit { rule, set, way: 0 }
    }
}

impl Default for RuleTable {
    fn default() -> Self {
        Self::new()
    }
}

/// Return addresses differ enough in their low bits; folding in the next ones parts functions that are a multiple of
/// 512 bytes long. Every walk waits for this, and a multiplication would add a cycle or two to each frame.
#[inline(always)]
const fn set_of(key: u64) -> usize {
    (key ^ (key >> SETS.ilog2())) as usize & (SETS - 1)
}

#[cfg(test)]
mod tests {
    use super::RuleTable;
    use crate::CodeAddress;
    use std::boxed::Box;

    /// Check that zeroed memory is an empty table.
    #[test]
    fn zeroed_memory_is_an_empty_table() {
        let mut memory = Box::<RuleTable>::new_zeroed();
        // SAFETY: aligned, zeroed, large enough and not used otherwise.
        let table = unsafe { RuleTable::from_raw(memory.as_mut_ptr()) };
        assert_eq!(table.find(CodeAddress::Return(0x1000)), None);
        assert_eq!(table.find(CodeAddress::Exact(0)), None);
    }
}
