//! What an allocator is likely to answer next: the model that turns most addresses into one byte.
//!
//! Allocators hand out what was freed last in the same size class of the same thread, else they cut the next piece
//! off a growing region. So the model keeps, in step on both sides:
//!
//! - per thread and size class, the blocks freed last ([`Recent`], newest first);
//! - per thread, where the last unforeseen block ended ([`Lane::top`]);
//! - the blocks of this chunk by number, so that a free names its block by the distance to the one freed before.
//!
//! ```text
//!   malloc(24) = 0x5000    not foreseen: placement 0, address 0x5000 - top
//!   malloc(24) = 0x5020    not foreseen: placement 0, address 0 (the next 32-byte piece)
//!   free(0x5000)           block 0 of the chunk
//!   malloc(20) = 0x5000    freed last in this class: placement 1
//! ```
//!
//! A wrong guess costs bytes, never truth: placement 0 stores the address. Measured on real programs this takes a
//! quarter to a half of the bytes that differences of addresses take.

/// Blocks remembered per thread and size class.
const DEPTH: usize = 16;

/// Placement of a block that was not foreseen.
pub(super) const UNFORESEEN: u8 = 0;

/// Placement of a block at the address freed least recently of those remembered; 1 is the most recent.
const OLDEST: u8 = DEPTH as u8;

/// Placement of a block that `realloc` left where it was.
pub(super) const IN_PLACE: u8 = OLDEST + 1;

const SLOTS: usize = 1024;
const LANES: usize = 64;

/// Size of a block in the allocator's 16-byte units with its 8-byte header, as glibc cuts them.
type Units = u64;

/// An address with its four low bits, zero for nearly all blocks, moved to the top.
pub(super) type Key = u64;

pub(super) fn key(address: u64) -> Key {
    address.rotate_right(4)
}

pub(super) fn address(key: Key) -> u64 {
    key.rotate_left(4)
}

/// The size class: exact up to 16 KB, by powers of two above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u16);

impl Class {
    fn of(units: Units) -> Self {
        match units {
            0..1024 => Class(units as u16),
            _ => Class(1024 + units.ilog2() as u16),
        }
    }
}

fn units(size: u64) -> Units {
    (size.saturating_add(23) >> 4).max(2)
}

/// A block of this chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) key: Key,
    pub(super) class: Class,
}

/// What the model knows per thread. Threads whose ids are equal modulo [`LANES`] share one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    /// End of the last unforeseen block.
    pub(super) top: Key,
    /// The block freed last.
    pub(super) freed: Key,
    /// Its number, when it was of this chunk.
    pub(super) freed_block: u64,
    /// Stack of the last allocation.
    pub(super) stack: u32,
    /// Stack of the last free.
    pub(super) free_stack: u32,
    /// Serial of the last `realloc`.
    pub(super) serial: u16,
}

/// The blocks freed last in one slot, in a ring. Taking one out closes the gap and leaves 0 in the oldest place.
#[derive(Clone, Copy)]
struct Recent {
    keys: [Key; DEPTH],
    newest: u8,
}

impl Recent {
    fn at(age: usize, newest: u8) -> usize {
        (usize::from(newest) + DEPTH - age) % DEPTH
    }

    fn get(&self, age: usize) -> Key {
        self.keys[Self::at(age, self.newest)]
    }

    fn push(&mut self, key: Key) {
        self.newest = (self.newest + 1) % DEPTH as u8;
        self.keys[usize::from(self.newest)] = key;
    }

    fn remove(&mut self, age: usize) {
        for age in (1..=age).rev() {
            self.keys[Self::at(age, self.newest)] = self.get(age - 1);
        }
        self.keys[usize::from(self.newest)] = 0;
        self.newest = (self.newest + DEPTH as u8 - 1) % DEPTH as u8;
    }
}

/// The model, empty at the beginning of each chunk so that chunks are read in any order.
pub(super) struct Model {
    lanes: Box<[Lane]>,
    recent: Box<[Recent]>,
    blocks: Vec<Block>,
    reallocating: Option<Block>,
}

impl Model {
    pub(super) fn new() -> Self {
        Model {
            lanes: vec![Lane::default(); LANES].into_boxed_slice(),
            recent: vec![Recent { keys: [0; DEPTH], newest: 0 }; SLOTS].into_boxed_slice(),
            blocks: Vec::new(),
            reallocating: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.lanes.fill(Lane::default());
        self.recent.fill(Recent { keys: [0; DEPTH], newest: 0 });
        self.blocks.clear();
        self.reallocating = None;
    }

    #[inline]
    pub(super) fn lane(&mut self, thread: u32) -> &mut Lane {
        &mut self.lanes[thread as usize % LANES]
    }

    /// A block of this chunk by its number.
    #[inline]
    pub(super) fn block(&self, number: u64) -> Option<Block> {
        self.blocks.get(usize::try_from(number).ok()?).copied()
    }

    /// How many blocks this chunk has had so far, which is the number of the next.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The placement that says `key` for a new block, or [`UNFORESEEN`].
    pub(super) fn placement(&self, thread: u32, size: u64, key: Key, realloc: bool) -> u8 {
        if realloc && self.reallocating.is_some_and(|block| block.key == key) {
            return IN_PLACE;
        }
        let recent = &self.recent[slot(thread, Class::of(units(size)))];
        (0..DEPTH).find(|&age| recent.get(age) == key).map_or(UNFORESEEN, |age| age as u8 + 1)
    }

    /// The key that a placement says, if it says one.
    #[inline]
    pub(super) fn foreseen(&self, thread: u32, size: u64, placement: u8) -> Option<Key> {
        match placement {
            UNFORESEEN => None,
            IN_PLACE => self.reallocating.map(|block| block.key),
            1..=OLDEST => {
                Some(self.recent[slot(thread, Class::of(units(size)))].get(usize::from(placement) - 1))
            }
            _ => None,
        }
    }

    /// Learns where a new block is.
    #[inline]
    pub(super) fn placed(&mut self, thread: u32, size: u64, key: Key, placement: u8) {
        let units = units(size);
        let class = Class::of(units);
        match placement {
            UNFORESEEN => self.lane(thread).top = key.wrapping_add(units),
            1..=OLDEST => self.recent[slot(thread, class)].remove(usize::from(placement) - 1),
            _ => {}
        }
        self.blocks.push(Block { key, class });
    }

    /// Learns that a block was freed; its class is known when it is of this chunk.
    #[inline]
    pub(super) fn freed(&mut self, thread: u32, key: Key, class: Option<Class>) {
        self.lane(thread).freed = key;
        if let Some(class) = class {
            self.recent[slot(thread, class)].push(key);
        }
    }

    /// Learns that `realloc` of a block began.
    pub(super) fn reallocating(&mut self, thread: u32, key: Key, class: Option<Class>) {
        self.lane(thread).freed = key;
        self.reallocating = class.map(|class| Block { key, class });
    }

    /// Learns that a `realloc` ended, and whether the old block is free now.
    pub(super) fn reallocated(&mut self, thread: u32, moved: bool) {
        if let Some(old) = self.reallocating.take_if(|_| moved) {
            self.recent[slot(thread, old.class)].push(old.key);
        }
    }
}

/// Classes of one thread lie side by side; those of others are moved by a step that keeps the common ones apart.
#[inline]
fn slot(thread: u32, class: Class) -> usize {
    (usize::from(class.0) + thread as usize * 97) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places a block as an encoder does and says how.
    fn place(model: &mut Model, size: u64, key: Key) -> u8 {
        let placement = model.placement(0, size, key, false);
        let foreseen = model.foreseen(0, size, placement);
        assert_eq!(foreseen.unwrap_or(key), key, "the reader finds what the writer meant");
        model.placed(0, size, key, placement);
        placement
    }

    /// Check that the picture above holds: the next piece is at the top, a freed block of the class comes back.
    #[test]
    fn pictured_blocks_are_placed_so() {
        let mut model = Model::new();
        assert_eq!(place(&mut model, 24, key(0x5000)), UNFORESEEN);
        assert_eq!(model.lane(0).top, key(0x5020));
        assert_eq!(place(&mut model, 24, key(0x5020)), UNFORESEEN);
        let first = model.block(0).unwrap();
        model.freed(0, first.key, Some(first.class));
        assert_eq!(place(&mut model, 20, key(0x5000)), 1);
    }

    /// Check that a block taken from the middle of those freed leaves the others in their order.
    #[test]
    fn taking_a_block_out_keeps_the_order_of_the_rest() {
        let mut recent = Recent { keys: [0; DEPTH], newest: 0 };
        (1..=20).for_each(|key| recent.push(key));
        recent.remove(3);
        let left: Vec<Key> = (0..DEPTH).map(|age| recent.get(age)).collect();
        assert_eq!(left, [20, 19, 18, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 0]);
    }

    /// Check that classes are the pieces that glibc cuts, and that no size is too large for one.
    #[test]
    fn classes_are_those_of_glibc() {
        for (size, expected) in
            [(0, 2), (24, 2), (25, 3), (40, 3), (1032, 65), (16_360, 1023), (16_361, 1034)]
        {
            assert_eq!(Class::of(units(size)), Class(expected), "{size}");
        }
        assert_eq!(Class::of(units(u64::MAX)), Class(1024 + 59));
    }
}
