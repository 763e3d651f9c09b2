//! The resident pages of one process, and which of them have held blocks.
//!
//! ```text
//!   touched      ├───┼───┼───┼───┤                    four pages, each attributed to its first toucher
//!   block freed      ├───────┤                        libc keeps the pages: they stay resident, as heap ground
//!   block freed  ├───┼───┼───┼───┼───────┤            one that libc had mapped separately: its pages are gone
//! ```

use super::survey::Held;
use crate::base::ranges::Ranges;
use capture::{Fault, NodeId, Region};
use std::collections::BTreeMap;

/// glibc initially maps blocks of this size and larger separately.
const MAPPED: u64 = 128 << 10;
/// Such a block begins after a header, this many bytes into a page.
const HEADER: u64 = 16;

/// A resident page of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The stack that touched it first; [`NodeId::ROOT`] if unknown.
    pub(super) stack: NodeId,
    /// When, nanoseconds since the recording began.
    pub(super) since: u64,
    pub(super) region: Region,
}

/// The memory of one process.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    page: u64,
    pub(super) pages: BTreeMap<u64, Page>,
    /// Pages that have held blocks since freed.
    pub(super) ground: Ranges,
    /// Blocks that were there at its end.
    pub(super) left: Vec<Held>,
    /// Whether its recording has ended: it may go on and touch more.
    pub(super) is_over: bool,
}

impl Memory {
    /// For a process with pages of this many bytes.
    pub(super) fn new(page: u64) -> Self {
        Self { page, pages: BTreeMap::new(), ground: Ranges::default(), left: Vec::new(), is_over: false }
    }

    /// All of it, which is forgotten.
    pub(super) fn take(&mut self) -> Self {
        let next = Self { is_over: self.is_over, ..Self::new(self.page) };
        std::mem::replace(self, next)
    }

    /// A page was touched. If it is known already, this is its first write or a duplicate report, and it keeps its
    /// first toucher. Returns true if the page is new and there was `room` for it.
    pub(super) fn touch(&mut self, fault: &Fault, room: bool) -> bool {
        let number = fault.address / self.page;
        let page = Page { stack: fault.stack, since: fault.time, region: fault.region };
        if let Some(known) = self.pages.get_mut(&number) {
            if known.stack == NodeId::ROOT {
                known.stack = page.stack;
            }
            return false;
        }
        if room {
            self.pages.insert(number, page);
        }
        room
    }

    /// A block was freed. Returns how many pages went with it.
    pub(super) fn free(&mut self, address: u64, size: u64) -> usize {
        if self.is_mapped(address, size) {
            return self.remove(address - HEADER, size.saturating_add(HEADER));
        }
        let (first, end) = self.span(address, size);
        self.ground.add(first, end);
        0
    }

    /// A block was resized or moved. Returns how many pages went with it.
    pub(super) fn resize(&mut self, (address, size): (u64, u64), (to, new_size): (u64, u64)) -> usize {
        let is_mapped = |address| address % self.page == HEADER;
        if !(self.is_mapped(address, size) && new_size >= MAPPED && is_mapped(to)) {
            return if address == to { 0 } else { self.free(address, size) };
        }
        // The kernel moves the pages, or cuts off the excess.
        let (old, new) = (size.saturating_add(HEADER), new_size.saturating_add(HEADER));
        self.relocate(address - HEADER, old, to - HEADER, new)
    }

    /// Pages were given back, or replaced by another mapping. Returns how many were resident.
    pub(super) fn remove(&mut self, address: u64, length: u64) -> usize {
        let (first, end) = self.span(address, length);
        self.ground.remove(first, end);
        let gone: Vec<u64> = self.pages.range(first..end.max(first)).map(|(number, _)| *number).collect();
        self.forget(&gone)
    }

    /// Pages were moved with their content. Returns by how many their number fell.
    pub(super) fn relocate(&mut self, address: u64, length: u64, to: u64, new_length: u64) -> usize {
        let (first, end) = self.span(address, length);
        let moved: Vec<(u64, Page)> =
            self.pages.range(first..end.max(first)).map(|(number, page)| (*number - first, *page)).collect();
        let before = self.pages.len();
        self.remove(address, length);
        let (start, stop) = self.span(to, new_length);
        self.remove(to, new_length);
        let kept = moved.into_iter().map(|(place, page)| (start.saturating_add(place), page));
        self.pages.extend(kept.filter(|(number, _)| *number < stop));
        before.saturating_sub(self.pages.len())
    }

    /// The break moved: pages beyond it are gone. Returns how many.
    pub(super) fn set_break(&mut self, address: u64) -> usize {
        let first = address.div_ceil(self.page);
        let beyond = self.pages.range(first..).take_while(|(_, page)| page.region == Region::Heap);
        let gone: Vec<u64> = beyond.map(|(number, _)| *number).collect();
        self.forget(&gone)
    }

    fn forget(&mut self, gone: &[u64]) -> usize {
        for number in gone {
            self.pages.remove(number);
        }
        gone.len()
    }

    /// The pages that a range covers: the first, and the one after the last.
    pub(super) fn span(&self, address: u64, length: u64) -> (u64, u64) {
        let end = address.saturating_add(length).div_ceil(self.page);
        (address / self.page, if length == 0 { address / self.page } else { end })
    }

    /// True when libc mapped a block separately, judging by its size and address: glibc's convention, which no event
    /// reports.
    fn is_mapped(&self, address: u64, size: u64) -> bool {
        let is_of_heap =
            || self.pages.get(&(address / self.page)).is_some_and(|page| page.region == Region::Heap);
        size >= MAPPED && address % self.page == HEADER && !is_of_heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;
    const MAPPING: u64 = 0x7f00_0000_0000;

    fn touched(pages: impl IntoIterator<Item = u64>, region: Region) -> Memory {
        let mut memory = Memory::new(PAGE);
        for number in pages {
            let fault = Fault { address: number * PAGE + 8, stack: NodeId(3), region, ..Fault::default() };
            assert!(memory.touch(&fault, true));
        }
        memory
    }

    /// Check that a page keeps its first toucher, and that one without a stack gets that of its second report.
    #[test]
    fn pages_keep_who_touched_them_first() {
        let mut memory = touched([1], Region::Heap);
        let again = |stack| Fault { address: PAGE, stack: NodeId(stack), time: 9, ..Fault::default() };
        assert!(!memory.touch(&again(7), true));
        assert_eq!(memory.pages[&1].stack, NodeId(3));
        let mut memory = Memory::new(PAGE);
        assert!(memory.touch(&again(0), true) && !memory.touch(&again(7), true));
        assert_eq!(memory.pages[&1].stack, NodeId(7));
        assert!(!memory.touch(&Fault { address: 5 * PAGE, ..Fault::default() }, false));
        assert_eq!(memory.pages.len(), 1);
    }

    /// Check that a block takes its pages along only if libc had mapped it separately.
    #[test]
    fn freed_blocks_take_pages_where_libc_mapped_them() {
        let first = MAPPING / PAGE;
        for (region, offset, size, gone) in [
            (Region::Anonymous, 16, 1 << 20, 257),
            (Region::Anonymous, 32, 1 << 20, 0),
            (Region::Anonymous, 16, 100 << 10, 0),
            (Region::Heap, 16, 1 << 20, 0),
        ] {
            let mut memory = touched(first..first + 300, region);
            assert_eq!(memory.free(MAPPING + offset, size), gone, "{region:?} {offset} {size}");
            assert_eq!(memory.pages.len(), 300 - gone);
            assert_eq!(memory.ground.contains(first), gone == 0);
        }
    }

    /// Check that pages follow a mapping that moves as it grows, and that one that shrinks loses its end.
    #[test]
    fn pages_follow_their_block() {
        let (first, other) = (MAPPING / PAGE, MAPPING / PAGE + 10_000);
        let mut memory = touched(first..first + 40, Region::Anonymous);
        let block = |first: u64, size| (first * PAGE + 16, size);
        assert_eq!(memory.resize(block(first, 1 << 20), block(other, 2 << 20)), 0);
        assert!(memory.pages.keys().copied().eq(other..other + 40));
        assert_eq!(memory.resize(block(other, 2 << 20), block(other, 128 << 10)), 7);
        assert!(memory.pages.keys().copied().eq(other..other + 33));
    }

    /// Check that ranges at the end of the address space, and a range of all of it, neither panic nor miss a page.
    #[test]
    fn extreme_ranges_are_ranges() {
        let mut memory = touched([0, 5, u64::MAX / PAGE - 1], Region::Heap);
        assert_eq!(memory.free(u64::MAX, u64::MAX), 0);
        assert_eq!(memory.free(16, u64::MAX), 0);
        assert_eq!(memory.relocate(u64::MAX, 1, 0, 0), 0);
        assert_eq!(memory.relocate(0, PAGE, u64::MAX - 5, u64::MAX), 0);
        assert_eq!(memory.set_break(3 * PAGE), 3);
        let mut memory = touched([0, 5], Region::Anonymous);
        assert_eq!(memory.remove(0, u64::MAX), 2);
    }
}
