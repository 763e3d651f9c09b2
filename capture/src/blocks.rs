//! Live blocks by address: a map of the heap that is laid out as the heap is.
//!
//! ```text
//!   address     7f3a_1234_5 | 6 | 7 | 0                a page, one of its 16 lines, one of the 16 granules of that
//!   directory   page 7f3a_1234_5 ─► 3
//!   pages       … page 3: 16 indices of lines … line 6: 17
//!   lines       … line 17: 16 indices of blocks … granule 7: 5,012
//!   blocks      … 5,012: what is known of the block
//! ```
//!
//! Programs mostly allocate and free neighbours one after the other, and take what was freed last. So page and line are
//! mostly some that were used before, and what is known of the block lies where that of another one did: all are in a
//! cache, where a hash table takes a line of its own for each block.

use hashbrown::HashTable;

use crate::hash::Seed;

/// Bits of an address within a granule. Allocators return multiples of 16; other addresses have pages of their own.
const GRANULE_BITS: u32 = 4;

/// Bits of the number of a granule within its line, and of a line within its page. Both tables have a cache line each.
const PART_BITS: u32 = 4;
const PARTS: usize = 1 << PART_BITS;

/// Pages that are found without the directory, at least and at most.
const RECENT: (usize, usize) = (64, 1 << 14);

/// Fewer lines than these are not searched for empty ones.
const FEW: usize = 1024;

/// Live blocks by address.
#[derive(Clone, Debug)]
pub struct BlockTable<T> {
    seed: Seed,
    directory: HashTable<Page>,
    /// Pages used last, each at an index computed from its name: a power of two of entries, or none before there is a
    /// block.
    recent: Box<[Page]>,
    /// For each page, indices of lines plus one, or 0.
    pages: Parts,
    /// For each line, indices of blocks plus one, or 0.
    lines: Parts,
    /// With this many lines, those without blocks are given back before there is another one.
    sweep_at: usize,
    blocks: Vec<T>,
    /// Indices of blocks that are gone, the latest last.
    holes: Vec<u32>,
}

/// Where a [`BlockTable`] keeps a block. To find it reads other memory than the block itself, so that a caller with
/// several addresses can wait for all of that at once.
#[derive(Clone, Copy, Debug)]
pub struct BlockSlot(u32);

/// Room for a block in a [`BlockTable`] until that changes.
#[derive(Debug)]
pub struct Vacancy {
    line: u32,
    granule: usize,
}

/// A page of the heap.
#[derive(Clone, Copy, Debug)]
struct Page {
    name: u64,
    index: u32,
}

/// No page: names have fewer bits.
const NONE: Page = Page { name: u64::MAX, index: 0 };

/// Where a block may be.
#[derive(Clone, Copy)]
struct Place {
    /// The page. The low bits of the address, zero for nearly all blocks, are the highest of its name.
    page: u64,
    line: usize,
    granule: usize,
}

impl Place {
    #[inline(always)]
    fn of(address: u64) -> Self {
        let key = address.rotate_right(GRANULE_BITS);
        Place {
            page: key >> (2 * PART_BITS),
            line: (key >> PART_BITS) as usize % PARTS,
            granule: key as usize % PARTS,
        }
    }

    fn address(self) -> u64 {
        let part = self.line << PART_BITS | self.granule;
        (self.page << (2 * PART_BITS) | part as u64).rotate_left(GRANULE_BITS)
    }
}

/// Small arrays of indices that come and go.
#[derive(Clone, Debug, Default)]
struct Parts {
    all: Vec<[u32; PARTS]>,
    /// Indices of those that nobody uses; they are zero.
    unused: Vec<u32>,
}

impl Parts {
    /// A zero one.
    fn add(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            self.all.push([0; PARTS]);
            u32::try_from(self.all.len() - 1).expect("a heap has fewer lines than 2³²")
        })
    }

    /// Gives it back if it is zero; true when it is not.
    fn keep(&mut self, index: u32) -> bool {
        let is_used = self.all[index as usize] != [0; PARTS];
        if !is_used {
            self.unused.push(index);
        }
        is_used
    }

    fn used(&self) -> usize {
        self.all.len() - self.unused.len()
    }
}

impl<T: Copy> Default for BlockTable<T> {
    fn default() -> Self {
        BlockTable::new(Seed::random())
    }
}

impl<T: Copy> BlockTable<T> {
    /// Without blocks.
    pub fn new(seed: Seed) -> Self {
        BlockTable {
            seed,
            directory: HashTable::new(),
            recent: Box::default(),
            pages: Parts::default(),
            lines: Parts::default(),
            sweep_at: FEW,
            blocks: Vec::new(),
            holes: Vec::new(),
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len() - self.holes.len()
    }

    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a block and returns the one that was at its address, if any.
    pub fn insert(&mut self, address: u64, block: T) -> Option<T> {
        let displaced = self.remove(address);
        if let Some(vacancy) = self.vacancy(address) {
            self.fill(vacancy, block);
        }
        displaced
    }

    /// Room for a block at this address; none if one is there.
    // Cost: where neighbours are used one after the other, four loads of what is in a cache.
    #[inline]
    pub fn vacancy(&mut self, address: u64) -> Option<Vacancy> {
        let place = Place::of(address);
        let line = match self.line(place) {
            Some(line) => line,
            None => self.add_line(place),
        };
        let granule = place.granule;
        (self.lines.all[line as usize][granule] == 0).then_some(Vacancy { line, granule })
    }

    /// Adds a block in this room.
    #[inline]
    pub fn fill(&mut self, Vacancy { line, granule }: Vacancy, block: T) {
        self.lines.all[line as usize][granule] = match self.holes.pop() {
            Some(hole) => {
                self.blocks[hole as usize] = block;
                hole + 1
            }
            None => {
                self.blocks.push(block);
                u32::try_from(self.blocks.len()).expect("a heap has fewer blocks than 2³²")
            }
        };
    }

    /// Removes and returns the block at this address.
    // Cost: as `vacancy`, and a load.
    #[inline]
    pub fn remove(&mut self, address: u64) -> Option<T> {
        let place = Place::of(address);
        let line = self.line(place)?;
        let entry = std::mem::take(&mut self.lines.all[line as usize][place.granule]);
        let index = entry.checked_sub(1)?;
        self.holes.push(index);
        Some(self.blocks[index as usize])
    }

    /// The block at this address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<&T> {
        self.at(self.slot(address)?)
    }

    /// Where the block at this address is kept until the table changes.
    #[inline]
    pub fn slot(&self, address: u64) -> Option<BlockSlot> {
        let place = Place::of(address);
        let page = match self.recent.get(place.page as usize & self.recent.len().wrapping_sub(1)) {
            Some(page) if page.name == place.page => page.index,
            _ => self.find(place.page)?.index,
        };
        let line = self.pages.all[page as usize][place.line].checked_sub(1)?;
        self.lines.all[line as usize][place.granule].checked_sub(1).map(BlockSlot)
    }

    /// The block that is kept here.
    #[inline]
    pub fn at(&self, slot: BlockSlot) -> Option<&T> {
        self.blocks.get(slot.0 as usize)
    }

    /// What is in the place of the block that is added after so many others, if that is one where a block was.
    #[inline]
    pub fn hole(&self, others: usize) -> Option<&T> {
        let hole = self.holes.get(self.holes.len().checked_sub(1)?.checked_sub(others)?)?;
        self.blocks.get(*hole as usize)
    }

    /// All blocks, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let used = |parts: &[u32; PARTS]| {
            let parts = parts.iter().enumerate();
            parts.filter_map(|(place, entry)| Some((place, entry.checked_sub(1)?))).collect::<Vec<_>>()
        };
        self.directory.iter().flat_map(move |page| {
            let lines = used(&self.pages.all[page.index as usize]);
            lines.into_iter().flat_map(move |(line, index)| {
                let blocks = used(&self.lines.all[index as usize]);
                blocks.into_iter().map(move |(granule, block)| {
                    (Place { page: page.name, line, granule }.address(), &self.blocks[block as usize])
                })
            })
        })
    }

    /// What is known of each block, in no order. Some are of blocks that are gone.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.blocks.iter_mut()
    }

    /// Forgets all blocks and frees the memory.
    pub fn clear(&mut self) {
        *self = BlockTable::new(self.seed);
    }

    /// The index of the line at a place, if it has or had blocks.
    #[inline(always)]
    fn line(&mut self, place: Place) -> Option<u32> {
        let page = match self.recent.get(place.page as usize & self.recent.len().wrapping_sub(1)) {
            Some(page) if page.name == place.page => page.index,
            _ => self.look_up(place.page)?,
        };
        self.pages.all[page as usize][place.line].checked_sub(1)
    }

    #[inline(never)]
    fn look_up(&mut self, name: u64) -> Option<u32> {
        let page = *self.find(name)?;
        self.remember(page);
        Some(page.index)
    }

    fn find(&self, name: u64) -> Option<&Page> {
        self.directory.find(self.seed.hash(name), |page| page.name == name)
    }

    fn remember(&mut self, page: Page) {
        let last = self.recent.len() - 1;
        self.recent[page.name as usize & last] = page;
    }

    #[inline(never)]
    fn add_line(&mut self, place: Place) -> u32 {
        if self.lines.unused.is_empty() && self.lines.all.len() >= self.sweep_at {
            self.sweep();
        }
        let page = match self.find(place.page) {
            Some(page) => page.index,
            None => self.add_page(place.page),
        };
        let line = self.lines.add();
        self.pages.all[page as usize][place.line] = line + 1;
        line
    }

    fn add_page(&mut self, name: u64) -> u32 {
        if self.recent.len() < (self.directory.len() + 1).clamp(RECENT.0, RECENT.1) {
            let length = (2 * self.recent.len()).max(RECENT.0);
            self.recent = vec![NONE; length].into_boxed_slice();
        }
        let (seed, page) = (self.seed, Page { name, index: self.pages.add() });
        self.directory.insert_unique(seed.hash(name), page, |page| seed.hash(page.name));
        self.remember(page);
        page.index
    }

    /// Gives back lines without blocks, and pages without lines.
    fn sweep(&mut self) {
        let BlockTable { directory, pages, lines, .. } = self;
        directory.retain(|page| {
            for entry in &mut pages.all[page.index as usize] {
                if entry.checked_sub(1).is_some_and(|line| !lines.keep(line)) {
                    *entry = 0;
                }
            }
            pages.keep(page.index)
        });
        self.recent.fill(NONE);
        self.sweep_at = (2 * self.lines.used()).max(FEW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Check that a block is found at its address and at no similar one, up to both ends of the address space.
    #[test]
    fn blocks_are_found_where_they_are() {
        let mut blocks = BlockTable::default();
        assert_eq!(blocks.get(0), None);
        assert_eq!(blocks.insert(0x1234_5670, 1), None);
        for other in [0x1234_5671, 0x1234_5678, 0x1234_5660, 0x1234_5770, 0x0123_4567, 0, u64::MAX] {
            assert_eq!(blocks.get(other), None, "{other:x}");
            assert_eq!(blocks.remove(other), None, "{other:x}");
        }
        for (number, address) in [0, 1, 8, u64::MAX, u64::MAX - 15].into_iter().enumerate() {
            assert_eq!(blocks.insert(address, number), None);
            assert_eq!(blocks.get(address), Some(&number), "{address:x}");
        }
        assert_eq!(blocks.len(), 6);
        blocks.clear();
        assert!(blocks.is_empty() && blocks.iter().next().is_none());
    }

    /// Check that blocks are kept where others were, those that are gone last first.
    #[test]
    fn holes_are_filled_from_the_last_one_on() {
        let mut blocks = BlockTable::default();
        assert_eq!([1, 2, 3].map(|number| blocks.insert(number << 4, number)), [None; 3]);
        assert_eq!(blocks.hole(0), None);
        assert_eq!([3, 1].map(|number| blocks.remove(number << 4)), [Some(3), Some(1)]);
        assert_eq!([0, 1, 2].map(|others| blocks.hole(others).copied()), [Some(1), Some(3), None]);
        blocks.insert(0x50, 5);
        assert_eq!((blocks.hole(0), blocks.hole(1)), (Some(&3), None));
    }

    /// Check that a program that uses ever new addresses does not take ever more memory.
    #[test]
    fn lines_are_given_back() {
        let mut blocks = BlockTable::default();
        for number in 0..100_000_u64 {
            blocks.insert(number << 20, number);
            assert_eq!(blocks.remove(number << 20), Some(number));
        }
        blocks.insert(0, 7);
        assert!(
            blocks.lines.all.len() <= FEW && blocks.pages.all.len() <= FEW,
            "{} lines",
            blocks.lines.all.len()
        );
        assert_eq!(blocks.iter().collect::<Vec<_>>(), [(0, &7)]);
    }

    proptest! {
        /// Check that a table answers as a plain map does, with neighbours and blocks far apart.
        #[test]
        fn behaves_like_a_map(
            steps in prop::collection::vec((0..4000_u64, 0..4_u8, 0..1000_u64), 0..3000),
        ) {
            let (mut blocks, mut map) = (BlockTable::default(), HashMap::new());
            for (place, what, block) in steps {
                let address = match place % 3 {
                    0 => place << 4,
                    1 => place << 21 | place,
                    _ => place.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                };
                match what {
                    0 | 1 => prop_assert_eq!(blocks.insert(address, block), map.insert(address, block)),
                    2 => prop_assert_eq!(blocks.remove(address), map.remove(&address)),
                    _ => prop_assert_eq!(blocks.get(address), map.get(&address)),
                }
                prop_assert_eq!(blocks.len(), map.len());
            }
            let mut found: Vec<(u64, u64)> = blocks.iter().map(|(address, block)| (address, *block)).collect();
            let mut expected: Vec<(u64, u64)> = map.into_iter().collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
