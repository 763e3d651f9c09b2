//! Live blocks by address: a map of the heap that is laid out as the heap is.
//!
//! ```text
//!   address     7f3a_1234_5670                        16 bytes each: one of the 16 granules of a line
//!   directory   line 7f3a_1234_56 ─► 17
//!   granules    … line 17: 16 indices of blocks … at granule 7: 5,012
//!   blocks      … 5,012: what is known of the block
//! ```
//!
//! Programs mostly allocate and free neighbours one after the other, and take what was freed last. So the line is mostly
//! one that was used before, and what is known of the block lies where that of another one did: both are in a cache,
//! where a hash table takes a line of its own for each block.

use hashbrown::HashTable;

use crate::hash::Seed;

/// Bits of an address within a granule. Allocators return multiples of 16; other addresses have lines of their own.
const GRANULE_BITS: u32 = 4;

/// Bits of the number of a granule within its line. A line takes as much as a cache line.
const LINE_BITS: u32 = 4;
const GRANULES: usize = 1 << LINE_BITS;

/// Lines that are found without the directory.
const RECENT: usize = 256;

/// Fewer lines than these are not searched for empty ones.
const FEW: usize = 1024;

/// Live blocks by address.
#[derive(Clone, Debug)]
pub struct BlockTable<T> {
    seed: Seed,
    directory: HashTable<Line>,
    /// Lines used last, each at an index computed from its name; empty until there is a block.
    recent: Box<[Line]>,
    /// For each line, indices of blocks plus one, or 0.
    granules: Vec<[u32; GRANULES]>,
    /// Lines that are in no directory.
    unused: Vec<u32>,
    /// With this many lines, those without blocks are given back before there is another one.
    sweep_at: usize,
    blocks: Vec<T>,
    /// Indices of blocks that are gone, the latest last.
    holes: Vec<u32>,
}

/// A line of the heap.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its key without the granule.
    name: u64,
    index: u32,
}

/// No line: names have fewer bits.
const NONE: Line = Line { name: u64::MAX, index: 0 };

/// The name of the line that an address belongs to, and the granule. The low bits of the address, zero for nearly all
/// blocks, are the highest of the name.
#[inline(always)]
fn place(address: u64) -> (u64, usize) {
    let key = address.rotate_right(GRANULE_BITS);
    // The lowest bits of the address are above all others, and those of the granule below.
    (key >> LINE_BITS, key as usize % GRANULES)
}

fn address(name: u64, granule: usize) -> u64 {
    (name << LINE_BITS | granule as u64).rotate_left(GRANULE_BITS)
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
            granules: Vec::new(),
            unused: Vec::new(),
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
    // Cost: where neighbours are used one after the other, four loads of lines that are in a cache.
    #[inline]
    pub fn insert(&mut self, address: u64, block: T) -> Option<T> {
        let (name, granule) = place(address);
        let line = match self.line(name) {
            Some(line) => line,
            None => self.add_line(name),
        };
        let entry = &mut self.granules[line as usize][granule];
        if let Some(known) = self.blocks.get_mut((*entry as usize).wrapping_sub(1)) {
            return Some(std::mem::replace(known, block));
        }
        *entry = match self.holes.pop() {
            Some(hole) => {
                self.blocks[hole as usize] = block;
                hole + 1
            }
            None => {
                self.blocks.push(block);
                u32::try_from(self.blocks.len()).expect("a heap has fewer blocks than 2³²")
            }
        };
        None
    }

    /// Removes and returns the block at this address.
    // Cost: as `insert`.
    #[inline]
    pub fn remove(&mut self, address: u64) -> Option<T> {
        let (name, granule) = place(address);
        let line = self.line(name)?;
        let entry = std::mem::take(&mut self.granules[line as usize][granule]);
        let index = entry.checked_sub(1)?;
        self.holes.push(index);
        Some(self.blocks[index as usize])
    }

    /// The block at this address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<&T> {
        let (name, granule) = place(address);
        let line = match self.recent.get(name as usize % RECENT) {
            Some(line) if line.name == name => line.index,
            _ => self.find(name)?.index,
        };
        self.blocks.get((self.granules[line as usize][granule] as usize).wrapping_sub(1))
    }

    /// All blocks, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.directory.iter().flat_map(|line| {
            let granules = self.granules[line.index as usize].iter().enumerate();
            granules.filter_map(|(granule, entry)| {
                let block = self.blocks.get((*entry as usize).wrapping_sub(1))?;
                Some((address(line.name, granule), block))
            })
        })
    }

    /// Forgets all blocks and frees the memory.
    pub fn clear(&mut self) {
        *self = BlockTable::new(self.seed);
    }

    /// The index of a line that has or had blocks.
    #[inline(always)]
    fn line(&mut self, name: u64) -> Option<u32> {
        match self.recent.get(name as usize % RECENT) {
            Some(line) if line.name == name => Some(line.index),
            _ => self.look_up(name),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, name: u64) -> Option<u32> {
        let line = *self.find(name)?;
        self.recent[name as usize % RECENT] = line;
        Some(line.index)
    }

    fn find(&self, name: u64) -> Option<&Line> {
        self.directory.find(self.seed.hash(name), |line| line.name == name)
    }

    #[inline(never)]
    fn add_line(&mut self, name: u64) -> u32 {
        if self.recent.is_empty() {
            self.recent = vec![NONE; RECENT].into_boxed_slice();
        }
        if self.unused.is_empty() && self.granules.len() >= self.sweep_at {
            self.sweep();
        }
        let index = self.unused.pop().unwrap_or_else(|| {
            self.granules.push([0; GRANULES]);
            u32::try_from(self.granules.len() - 1).expect("a heap has fewer lines than 2³²")
        });
        let (seed, line) = (self.seed, Line { name, index });
        self.directory.insert_unique(seed.hash(name), line, |line| seed.hash(line.name));
        self.recent[name as usize % RECENT] = line;
        index
    }

    /// Takes lines without blocks out of the directory.
    fn sweep(&mut self) {
        let BlockTable { directory, granules, unused, .. } = self;
        directory.retain(|line| {
            let is_used = granules[line.index as usize] != [0; GRANULES];
            if !is_used {
                unused.push(line.index);
            }
            is_used
        });
        self.recent.fill(NONE);
        self.sweep_at = (2 * (self.granules.len() - self.unused.len())).max(FEW);
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

    /// Check that a program that uses ever new addresses does not take ever more memory.
    #[test]
    fn lines_are_given_back() {
        let mut blocks = BlockTable::default();
        for number in 0..100_000_u64 {
            blocks.insert(number << 20, number);
            assert_eq!(blocks.remove(number << 20), Some(number));
        }
        blocks.insert(0, 7);
        assert!(blocks.granules.len() <= FEW && blocks.blocks.len() == 1, "{} lines", blocks.granules.len());
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
