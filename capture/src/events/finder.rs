//! Finds the block of the chunk at an address: a map of the part of the heap that the chunk touches.
//!
//! ```text
//!   key         7f3a_12 | 34            a page of 4 KiB, one of its 256 places for blocks
//!   directory   7f3a_12 ─► 17
//!   blocks      … page 17: 256 blocks … at place 34 number 5,012, of class 3
//! ```
//!
//! Neighbours in the heap are neighbours here, and programs mostly allocate and free neighbours one after the other.
//! So several lookups share one cache line, where a hash table takes one line for each. That makes chunks of a
//! million events affordable.

use super::address::{Class, Key, spread};
use crate::format::MAX_EVENTS;

/// Bits of a key that are the place within a page; a key counts units of 16 bytes.
const PLACE_BITS: u32 = 8;
const PLACES: usize = 1 << PLACE_BITS;

/// Pages after which a chunk ends: 32 MiB of table for 128 MiB of heap.
const MOST_PAGES: usize = 1 << 15;

const _: () = assert!(MAX_EVENTS < 1 << (u32::BITS - Class::BITS));

/// Slots of the smallest directory.
const LEAST: usize = 256;

/// Finds the blocks of one chunk. The reader never sees this table.
pub(super) struct Finder {
    /// A hash table of pages with linear probing: a power of two of slots, at most half full.
    directory: Vec<Page>,
    /// The blocks of each page, in the order in which pages came: the number plus one, with the class in the low
    /// bits; 0 for none.
    blocks: Vec<u32>,
    pages: usize,
    /// The page that was used last.
    last: Page,
}

/// A page of the heap.
#[derive(Clone, Copy)]
struct Page {
    /// The page's part of its keys, without places.
    of: u64,
    index: u32,
}

impl Page {
    /// No page: real page numbers have fewer bits.
    const NONE: Self = Page { of: u64::MAX, index: 0 };
}

impl Finder {
    pub(super) fn new() -> Self {
        let directory = vec![Page::NONE; LEAST];
        Finder { directory, blocks: Vec::new(), pages: 0, last: Page::NONE }
    }

    /// True when the chunk should end, so that memory stays bounded.
    pub(super) fn is_full(&self) -> bool {
        self.pages >= MOST_PAGES
    }

    /// Forgets all blocks.
    pub(super) fn clear(&mut self) {
        // Memory that a burst took is given back once a chunk needs less than a quarter of it.
        if self.blocks.len() / PLACES > 4 * self.pages {
            self.blocks.truncate(self.pages * PLACES);
            self.blocks.shrink_to_fit();
            self.directory = vec![Page::NONE; (2 * self.pages).next_power_of_two().max(LEAST)];
        }
        self.directory.fill(Page::NONE);
        (self.pages, self.last) = (0, Page::NONE);
    }

    /// Enters a block, replacing an earlier one at the same address.
    #[inline(always)]
    pub(super) fn insert(&mut self, key: Key, number: usize, class: Class) {
        let of = key >> PLACE_BITS;
        if self.last.of != of {
            let found = self.page(of);
            self.last = if found.of == of { found } else { self.add(of) };
        }
        let place = place(self.last, key);
        self.blocks[place] = (number as u32 + 1) << Class::BITS | u32::from(class.to_bits());
    }

    /// Number and class of the last block entered at this address.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> Option<(u64, Class)> {
        let of = key >> PLACE_BITS;
        let page = if self.last.of == of { self.last } else { self.page(of) };
        if page.of != of {
            return None;
        }
        let block = self.blocks[place(page, key)];
        let number = (block >> Class::BITS).checked_sub(1)?;
        Some((number.into(), Class::from_bits((block % (1 << Class::BITS)) as u16)))
    }

    /// The directory's entry for a page, or the free slot where it would go.
    #[inline(always)]
    fn page(&self, of: u64) -> Page {
        self.directory[self.position(of)]
    }

    #[inline(always)]
    fn position(&self, of: u64) -> usize {
        let mask = self.directory.len() - 1;
        let mut at = (spread(of) >> 32) as usize & mask;
        loop {
            let page = self.directory[at];
            if page.of == of || page.of == Page::NONE.of {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(never)]
    fn add(&mut self, of: u64) -> Page {
        let page = Page { of, index: self.pages as u32 };
        self.pages += 1;
        if 2 * self.pages > self.directory.len() {
            let larger = vec![Page::NONE; 2 * self.directory.len()];
            for page in std::mem::replace(&mut self.directory, larger) {
                self.enter(page);
            }
        }
        let (start, end) = ((self.pages - 1) * PLACES, self.pages * PLACES);
        match self.blocks.get_mut(start..end) {
            Some(of_earlier_chunk) => of_earlier_chunk.fill(0),
            None => self.blocks.resize(end, 0),
        }
        self.enter(page);
        page
    }

    fn enter(&mut self, page: Page) {
        if page.of != Page::NONE.of {
            let at = self.position(page.of);
            self.directory[at] = page;
        }
    }
}

/// Index of the block with a key in this page.
#[inline(always)]
fn place(page: Page, key: Key) -> usize {
    page.index as usize * PLACES + key as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn class(number: usize) -> Class {
        Class::from_bits((number % 1088) as u16)
    }

    /// Check that a block is found at its address and at no similar one.
    #[test]
    fn blocks_are_found_where_they_are() {
        let mut finder = Finder::new();
        let (number, class) = (MAX_EVENTS - 1, class(1087));
        finder.insert(0x1234, number, class);
        assert_eq!(finder.find(0x1234), Some((number as u64, class)));
        for other in [0x1235, 0x1134, 0x1_1234, 1 << 63 | 0x1234, 0, u64::MAX] {
            assert_eq!(finder.find(other), None, "{other:x}");
        }
        finder.clear();
        assert_eq!(finder.find(0x1234), None);
        finder.insert(0x1235, 0, class);
        assert_eq!(finder.find(0x1234), None);
    }

    /// Check that the memory of a chunk with blocks all over the heap is given back after a chunk with few.
    #[test]
    fn memory_is_given_back() {
        let mut finder = Finder::new();
        (0..MOST_PAGES).for_each(|page| finder.insert((page * PLACES) as u64, page, class(page)));
        assert!(finder.is_full());
        finder.clear();
        assert!(finder.blocks.capacity() >= MOST_PAGES * PLACES);
        finder.insert(1, 0, class(0));
        finder.clear();
        assert!(finder.blocks.capacity() <= 4 * PLACES && finder.directory.len() == LEAST);
        finder.insert(1, 5, class(6));
        assert_eq!(finder.find(1), Some((5, class(6))));
    }

    proptest! {
        /// Check that the finder finds what a standard map finds, chunk after chunk.
        #[test]
        fn finds_what_a_map_finds(
            chunks in proptest::collection::vec(proptest::collection::vec((0..40_000u64, any::<bool>()), 0..2000), 1..4),
        ) {
            let mut finder = Finder::new();
            for keys in chunks {
                let mut map = HashMap::new();
                for (number, (key, enters)) in keys.iter().enumerate() {
                    // Some pages are adjacent, others are not.
                    let key = if key % 3 == 0 { *key } else { spread(*key) };
                    prop_assert_eq!(finder.find(key), map.get(&key).copied());
                    if *enters {
                        finder.insert(key, number, class(number));
                        map.insert(key, (number as u64, class(number)));
                    }
                }
                finder.clear();
            }
        }
    }
}
