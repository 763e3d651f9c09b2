//! Pages that a program maps apart from its allocator: for pools, caches and files, which no recorded block shows.
//!
//! ```text
//!  map      ├──────── own ────────┤
//!  unmap           ├──────┤                          the middle goes: two ranges remain
//!  map                 ├─── allocator's ───┤         mapped over the rest: what was there is gone
//!  left     ├─ own ┤   ├─── allocator's ───┤         held: the own range alone
//! ```
//!
//! Mappings from before, such as those that a forked child inherits, are unknown; so are those of the loader and of
//! libc itself, which bypass the hooks.

use capture::{Action, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most ranges that are followed, far more than the kernel allows a process. Further ones are not counted.
const MOST_RANGES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Range {
    end: u64,
    /// The stack in which the program mapped it; none for its allocator.
    by: Option<NodeId>,
}

/// The mappings of one process whose creation was seen, by their first address.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pages {
    ranges: BTreeMap<u64, Range>,
    /// Bytes of the program's own ranges.
    pub held: u64,
}

impl Pages {
    /// True when ranges do not overlap and add up to `held`: validates a state that was read from a file.
    pub fn is_sound(&self) -> bool {
        let mut before = 0;
        let ordered = self
            .ranges
            .iter()
            .all(|(&start, range)| start >= std::mem::replace(&mut before, range.end) && range.end > start);
        let own = self.ranges.iter().filter(|(_, range)| range.by.is_some());
        ordered && self.held == own.fold(0, |sum: u64, (start, range)| sum.wrapping_add(range.end - start))
    }

    /// Follows an event; those that are not mappings change nothing. An `munmap` counts when it is announced:
    /// failures are so rare that their pages may stay uncounted. `changed` is told how many bytes more or less the
    /// program has mapped in a stack.
    pub fn note(&mut self, action: &Action, mut changed: impl FnMut(NodeId, i64)) {
        let changed = &mut changed;
        let by = |stack: NodeId, in_hook: bool| (!in_hook).then_some(stack);
        match *action {
            Action::Map { address, length, stack, in_hook } => {
                self.add(address, length, by(stack, in_hook), changed);
            }
            Action::Unmap { address, length } => drop(self.remove(address, length, changed)),
            Action::Remap { old_address, old_length, address, length, .. } => {
                // One mapping, so one stack's.
                let mut grown = 0_i64;
                let mut grow = |_: NodeId, change: i64| grown = grown.wrapping_add(change);
                if let Some(by) = self.remove(old_address, old_length, &mut grow) {
                    self.remove(address, length, changed);
                    self.add(address, length, by, &mut grow);
                    if let Some(stack) = by {
                        changed(stack, grown);
                    }
                }
            }
            Action::Break { from, address, stack, in_hook } => match address.checked_sub(from) {
                Some(more) => self.add(from, more, by(stack, in_hook), changed),
                None => drop(self.remove(address, from - address, changed)),
            },
            _ => {}
        }
    }

    /// True when the program itself mapped the memory at an address, false when its allocator did; none when that was
    /// not seen.
    pub fn owner(&self, address: u64) -> Option<bool> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        (address < range.end).then_some(range.by.is_some())
    }

    /// Replaces whatever was in a range.
    fn add(&mut self, start: u64, length: u64, by: Option<NodeId>, changed: &mut impl FnMut(NodeId, i64)) {
        self.remove(start, length, changed);
        let end = start.saturating_add(length);
        if end > start && self.ranges.len() < MOST_RANGES {
            self.ranges.insert(start, Range { end, by });
            if let Some(stack) = by {
                self.held += end - start;
                changed(stack, (end - start).cast_signed());
            }
        }
    }

    /// Removes everything in a range; returns who mapped its first page, if known.
    // Cost: logarithmic in the ranges, plus one step for each range removed, which was added once.
    fn remove(
        &mut self,
        start: u64,
        length: u64,
        changed: &mut impl FnMut(NodeId, i64),
    ) -> Option<Option<NodeId>> {
        let end = start.saturating_add(length);
        let mut by = None;
        if end == start {
            return by;
        }
        loop {
            let last = self.ranges.range(..end).next_back().map(|(&first, &range)| (first, range));
            let Some((first, range)) = last.filter(|(_, range)| range.end > start) else { return by };
            self.ranges.remove(&first);
            by = Some(range.by);
            if first < start {
                self.ranges.insert(first, Range { end: start, ..range });
            }
            if range.end > end {
                self.ranges.insert(end, range);
            }
            if let Some(stack) = range.by {
                let gone = range.end.min(end) - first.max(start);
                self.held -= gone;
                changed(stack, -gone.cast_signed());
            }
            if first <= start {
                return by;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::NodeId;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn map(address: u64, length: u64, in_hook: bool) -> Action {
        Action::Map { address, length, stack: NodeId::ROOT, in_hook }
    }

    /// Check that a hole leaves two ranges, that a mapping replaces another, and that a mapping that moves keeps its
    /// owner.
    #[test]
    fn ranges_are_cut_and_replaced() {
        let mut pages = Pages::default();
        let mut held = |action: &Action| {
            pages.note(action, |_, _| ());
            pages.held
        };
        assert_eq!(held(&map(0x1000, 0x9000, false)), 0x9000);
        assert_eq!(held(&Action::Unmap { address: 0x3000, length: 0x1000 }), 0x8000);
        assert_eq!(held(&map(0x8000, 0x8000, true)), 0x6000);
        let (stack, length) = (NodeId::ROOT, 0x4000);
        let moved =
            Action::Remap { old_address: 0x1000, old_length: 0x2000, address: 0x90000, length, stack };
        assert_eq!(held(&moved), 0x8000);
        let unknown = Action::Remap { old_address: 0x60000, old_length: 1, address: 0x70000, length, stack };
        assert_eq!(held(&unknown), 0x8000);
        assert_eq!(held(&Action::Unmap { address: 0, length: u64::MAX }), 0);
        assert_eq!(held(&map(u64::MAX, u64::MAX, false)), 0);
    }

    /// Check that what the program adds before its break is its own, also the first time, and what its allocator adds
    /// is not.
    #[test]
    fn breaks_add_pages_and_remove_them() {
        let mut pages = Pages::default();
        let mut held = |from, address, in_hook| {
            pages.note(&Action::Break { from, address, stack: NodeId::ROOT, in_hook }, |_, _| ());
            pages.held
        };
        assert_eq!(held(0x1000, 0x9000, false), 0x8000);
        assert_eq!(held(0x9000, 0xA000, true), 0x8000);
        assert_eq!(held(0xA000, 0x4000, false), 0x3000);
        assert_eq!(held(0x4000, 0x4000, false), 0x3000);
    }

    proptest! {
        /// Check that the sum equals that of a table of single pages, whatever overlaps.
        #[test]
        fn sums_are_those_of_single_pages(
            steps in prop::collection::vec((0..24_u64, 0..12_u64, 0..4_u8, 0..24_u64), 0..60),
        ) {
            let mut pages = Pages::default();
            let mut single: HashMap<u64, bool> = HashMap::new();
            let mut told = 0;
            let mut note = |pages: &mut Pages, action: &Action| pages.note(action, |_, change| told += change);
            for (start, length, kind, to) in steps {
                let range = start..start + length;
                let stack = NodeId::ROOT;
                match kind {
                    0 => {
                        note(&mut pages, &Action::Unmap { address: start, length });
                        single.retain(|page, _| !range.contains(page));
                    }
                    1 => {
                        // Only a single mapping can move; the kernel refuses otherwise.
                        let owners: Vec<_> = range.clone().map(|page| single.get(&page).copied()).collect();
                        let Some(&Some(owner)) = owners.first() else { continue };
                        if owners.iter().any(|&other| other != Some(owner)) {
                            continue;
                        }
                        let (old_address, old_length) = (start, length);
                        let action = Action::Remap { old_address, old_length, address: to, length, stack };
                        note(&mut pages, &action);
                        single.retain(|page, _| !range.contains(page));
                        single.extend((to..to + length).map(|page| (page, owner)));
                    }
                    kind => {
                        note(&mut pages, &map(start, length, kind == 3));
                        single.extend(range.map(|page| (page, kind == 2)));
                    }
                }
                let own = single.values().filter(|&&is_own| is_own).count();
                prop_assert_eq!(pages.held, own as u64);
            }
            prop_assert_eq!(told, pages.held.cast_signed());
        }
    }
}
