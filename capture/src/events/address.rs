//! Predicts an allocator's next answer: the model that turns most addresses into one byte.
//!
//! Allocators hand out the block freed last in the same size class of the same thread, or else cut the next piece off
//! a growing region. So the model keeps, in step in writer and reader:
//!
//! - per thread and size class, the blocks freed last ([`Recent`], newest first);
//! - per thread, where the last unforeseen block ended ([`Lane::top`]);
//! - the blocks of this chunk by number, so that a free names its block by the distance to the one freed before: the
//!   reader in a list, the writer as its [`Observer`](crate::Observer) knows them.
//!
//! ```text
//!   malloc(24) = 0x5000    not foreseen: placement 0, address 0x5000 - top
//!   malloc(24) = 0x5020    not foreseen: placement 0, address 0 (the next 32-byte piece)
//!   free(0x5000)           block 0 of the chunk
//!   malloc(20) = 0x5000    freed last in this class: placement 1
//! ```
//!
//! A wrong guess costs bytes, never correctness: placement 0 stores the address. On real programs this takes a
//! quarter to a half of the bytes that plain address differences take.

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

#[inline(always)]
pub(super) fn key(address: u64) -> Key {
    address.rotate_right(4)
}

#[inline(always)]
pub(super) fn address(key: Key) -> u64 {
    key.rotate_left(4)
}

/// The size class: exact up to 16 KB, by powers of two above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u16);

impl Class {
    /// Bits of a class.
    pub(super) const BITS: u32 = 11;

    /// Below 2 to the power of [`Class::BITS`].
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        usize::from(self.0) % (1 << Class::BITS)
    }

    #[inline(always)]
    fn of(units: Units) -> Self {
        match units {
            0..1024 => Class(units as u16),
            _ => Class(1024 + units.ilog2() as u16),
        }
    }
}

const _: () = assert!(1024 + Units::BITS <= 1 << Class::BITS);

#[inline(always)]
fn units(size: u64) -> Units {
    (size.saturating_add(23) >> 4).max(2)
}

/// A block allocated in this chunk.
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
    /// Its number, if it was allocated in this chunk.
    pub(super) freed_block: u64,
    /// Stack of the last free.
    pub(super) free_stack: u32,
    /// Serial of the last `realloc`.
    pub(super) serial: u16,
}

/// The blocks freed last in one slot. Keys stay in place; only the order changes.
///
/// ```text
///   keys    c  a  .  b  …      places 0, 1, 2, 3 …
///   order   …  0  3  1         the newest is a, in place 1, then b and c
///   tags    …  #c #b #a        so that no key is compared but one that is most likely there
/// ```
#[derive(Clone, Copy)]
struct Recent {
    /// Places in `keys`, newest first, four bits each, lowest bits first.
    order: u64,
    /// The [`tag`]s of those keys in the same order, eight bits each.
    tags: u128,
    keys: [Key; DEPTH],
}

const PLACE_BITS: usize = 4;
const TAG_BITS: usize = 8;
const _: () = assert!(DEPTH == 1 << PLACE_BITS && PLACE_BITS * DEPTH == 64 && TAG_BITS * DEPTH == 128);

impl Recent {
    const EMPTY: Self = Recent { order: 0xfedc_ba98_7654_3210, tags: 0, keys: [0; DEPTH] };

    #[inline(always)]
    fn place(&self, age: usize) -> usize {
        (self.order >> (PLACE_BITS * (age % DEPTH))) as usize % DEPTH
    }

    #[inline(always)]
    fn get(&self, age: usize) -> Key {
        self.keys[self.place(age)]
    }

    /// The age of a key: of its newest entry, if it has several.
    #[inline(always)]
    fn age(&self, key: Key) -> Option<usize> {
        const ONES: u128 = u128::MAX / 255;
        let difference = self.tags ^ (ONES * u128::from(tag(key)));
        // Marks each byte that is 0, and perhaps some above one that is, as `strlen` finds the end of a string.
        let mut marks = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
        while marks != 0 {
            let age = marks.trailing_zeros() as usize / TAG_BITS;
            if self.get(age) == key {
                return Some(age);
            }
            marks &= marks - 1;
        }
        None
    }

    #[inline(always)]
    fn push(&mut self, key: Key) {
        let oldest = self.place(DEPTH - 1);
        self.order = self.order << PLACE_BITS | oldest as u64;
        self.tags = self.tags << TAG_BITS | u128::from(tag(key));
        self.keys[oldest] = key;
    }

    /// Removes an entry: the older ones move up, and the oldest becomes 0.
    #[inline(always)]
    fn remove(&mut self, age: usize) {
        let place = self.place(age);
        self.keys[place] = 0;
        let newer = (1 << (PLACE_BITS * (age % DEPTH))) - 1;
        let last = (place as u64) << (PLACE_BITS * (DEPTH - 1));
        self.order = self.order & newer | self.order >> PLACE_BITS & !newer | last;
        let newer = (1 << (TAG_BITS * (age % DEPTH))) - 1;
        self.tags = self.tags & newer | self.tags >> TAG_BITS & !newer;
    }
}

/// Eight bits in which most keys differ. The tag of 0 is 0.
#[inline(always)]
fn tag(key: Key) -> u8 {
    (spread(key) >> 32) as u8
}

/// A hash of a key: multiplying by 2⁶⁴ divided by the golden ratio spreads neighbours evenly. The high bits are the
/// better ones.
#[inline(always)]
pub(super) fn spread(key: Key) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The size that a new block takes, and the slot in which one like it may have been freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    units: Units,
    class: Class,
    slot: usize,
}

impl Fit {
    /// For a block of `size` bytes that a thread asks for.
    #[inline(always)]
    pub(super) fn of(thread: u32, size: u64) -> Self {
        let units = units(size);
        let class = Class::of(units);
        Fit { units, class, slot: slot(thread, class) }
    }

    #[inline(always)]
    pub(super) fn class(self) -> Class {
        self.class
    }
}

/// The model, emptied at the beginning of each chunk so that chunks can be read in any order.
pub(super) struct Model {
    lanes: Box<[Lane; LANES]>,
    recent: Box<[Recent; SLOTS]>,
    reallocating: Option<Block>,
}

impl Model {
    pub(super) fn new() -> Self {
        Model {
            lanes: Box::new([Lane::default(); LANES]),
            recent: Box::new([Recent::EMPTY; SLOTS]),
            reallocating: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.lanes.fill(Lane::default());
        self.recent.fill(Recent::EMPTY);
        self.reallocating = None;
    }

    #[inline(always)]
    pub(super) fn lane(&mut self, thread: u32) -> &mut Lane {
        &mut self.lanes[thread as usize % LANES]
    }

    /// The placement that stands for `key` for a new block, or [`UNFORESEEN`].
    #[inline(always)]
    pub(super) fn placement(&self, fit: Fit, key: Key, realloc: bool) -> u8 {
        if realloc && self.reallocating.is_some_and(|block| block.key == key) {
            return IN_PLACE;
        }
        self.recent[fit.slot].age(key).map_or(UNFORESEEN, |age| age as u8 + 1)
    }

    /// The key that a placement stands for, if any.
    #[inline(always)]
    pub(super) fn foreseen(&self, fit: Fit, placement: u8) -> Option<Key> {
        match placement {
            UNFORESEEN => None,
            IN_PLACE => self.reallocating.map(|block| block.key),
            1..=OLDEST => Some(self.recent[fit.slot].get(usize::from(placement) - 1)),
            _ => None,
        }
    }

    /// Learns where a new block is.
    #[inline(always)]
    pub(super) fn placed(&mut self, thread: u32, fit: Fit, key: Key, placement: u8) {
        match placement {
            UNFORESEEN => self.lane(thread).top = key.wrapping_add(fit.units),
            1..=OLDEST => self.recent[fit.slot].remove(usize::from(placement) - 1),
            _ => {}
        }
    }

    /// Learns that a block was freed; its class is known if it was allocated in this chunk.
    #[inline(always)]
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

/// Classes of one thread are adjacent; each thread is shifted by a step that keeps the common classes of different
/// threads apart.
#[inline(always)]
fn slot(thread: u32, class: Class) -> usize {
    (usize::from(class.0) + thread as usize * 97) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Places a block as an encoder does, and returns the placement.
    fn place(model: &mut Model, size: u64, key: Key) -> u8 {
        let fit = Fit::of(0, size);
        let placement = model.placement(fit, key, false);
        let foreseen = model.foreseen(fit, placement);
        assert_eq!(foreseen.unwrap_or(key), key, "the reader finds what the writer meant");
        model.placed(0, fit, key, placement);
        placement
    }

    /// Check that the picture above holds: the next piece is at the top, and a freed block of the class comes back.
    #[test]
    fn pictured_blocks_are_placed_so() {
        let mut model = Model::new();
        assert_eq!(place(&mut model, 24, key(0x5000)), UNFORESEEN);
        assert_eq!(model.lane(0).top, key(0x5020));
        assert_eq!(place(&mut model, 24, key(0x5020)), UNFORESEEN);
        model.freed(0, key(0x5000), Some(Fit::of(0, 24).class()));
        assert_eq!(place(&mut model, 20, key(0x5000)), 1);
    }

    /// Check that removing a block from the middle of the freed ones keeps the others in order.
    #[test]
    fn taking_a_block_out_keeps_the_order_of_the_rest() {
        let mut recent = Recent::EMPTY;
        (1..=20).for_each(|key| recent.push(key));
        recent.remove(3);
        let left: Vec<Key> = (0..DEPTH).map(|age| recent.get(age)).collect();
        assert_eq!(left, [20, 19, 18, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 0]);
    }

    proptest! {
        /// Check that the recently freed blocks are those of a plain list, newest first, whatever is freed, looked
        /// for and removed, even with equal keys and equal tags.
        #[test]
        fn behaves_like_a_list(steps in proptest::collection::vec((0..40u64, 0..DEPTH, any::<bool>()), 0..300)) {
            // A few keys, some of which share a tag.
            let nth = |number: u64| (1..).filter(|key| tag(*key) < 8).nth(number as usize).unwrap();
            let keys: Vec<Key> = (0..40).map(nth).collect();
            let (mut recent, mut list) = (Recent::EMPTY, vec![0; DEPTH]);
            for (number, age, remove) in steps {
                let key = keys[number as usize];
                prop_assert_eq!(recent.age(key), list.iter().position(|other| *other == key));
                if remove {
                    recent.remove(age);
                    list.remove(age);
                    list.push(0);
                } else {
                    recent.push(key);
                    list.insert(0, key);
                    list.truncate(DEPTH);
                }
                let found: Vec<Key> = (0..DEPTH).map(|age| recent.get(age)).collect();
                prop_assert_eq!(&found, &list);
            }
        }
    }

    /// Check that classes are the sizes that glibc cuts, and that no size is too large for a class.
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
