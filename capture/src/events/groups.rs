//! Sizes in groups by stack, and placements by size class.
//!
//! A stack mostly asks for one size or for a few, and allocators place blocks of one class alike. In the order of events what
//! one stack asks for stands between what others do, and a compressor sees a mixture. So values are stored group by group, each in
//! the order of events, and a reader keeps a place in every group:
//!
//! ```text
//!   events       a 24   b 40   a 24   b 300   a 24        stack and size
//!   sizes        24 24 24 40 300                          those of a, then those of b
//!   which stack  0 1 0 1 0                                by which the reader finds them
//! ```

use std::mem;
use std::ops::Range;

use super::address::Class;
use crate::error::Malformed;
use crate::planes::ENDS_EARLY;
use crate::varint;

/// Classes are below this.
const CLASSES: usize = 1 << Class::BITS;

/// The stacks of a chunk that is being written, numbered by their first block, and the sizes of their blocks.
#[derive(Default)]
pub(super) struct SizeWriter {
    /// The number of each stack, by its id. Entries of stacks that the chunk does not have are left over from others and
    /// point to no stack or to another one.
    numbers: Vec<u32>,
    stacks: Vec<Stack>,
    /// The size of each block.
    sizes: Vec<u8>,
}

struct Stack {
    id: u32,
    /// Bytes of the sizes of its blocks.
    length: u32,
}

impl SizeWriter {
    /// Adds a block. Returns the number of its stack.
    #[inline(always)]
    pub(super) fn put(&mut self, stack: u32, size: u64) -> u32 {
        let number = self.number(stack);
        let before = self.sizes.len();
        varint::put(&mut self.sizes, size);
        self.stacks[number as usize].length += (self.sizes.len() - before) as u32;
        number
    }

    #[inline(always)]
    fn number(&mut self, stack: u32) -> u32 {
        if let Some(&number) = self.numbers.get(stack as usize)
            && self.stacks.get(number as usize).is_some_and(|found| found.id == stack)
        {
            return number;
        }
        self.add(stack)
    }

    #[inline(never)]
    fn add(&mut self, stack: u32) -> u32 {
        let number = self.stacks.len() as u32;
        self.stacks.push(Stack { id: stack, length: 0 });
        if self.numbers.len() <= stack as usize {
            self.numbers.resize(stack as usize + 1, 0);
        }
        self.numbers[stack as usize] = number;
        number
    }

    /// Bytes of the sizes.
    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Appends to three empty columns the ids of the stacks, the lengths of their groups, and the groups; and begins the
    /// next chunk. `order` has the number of each block's stack.
    pub(super) fn finish(
        &mut self,
        order: impl Iterator<Item = u64>,
        [ids, lengths, groups]: [&mut Vec<u8>; 3],
    ) {
        let (mut id_before, mut start) = (0, 0);
        for stack in &mut self.stacks {
            varint::put_delta(ids, id_before, stack.id.into());
            varint::put(lengths, stack.length.into());
            id_before = stack.id.into();
            // From here on, where the next one of its group goes.
            start += mem::replace(&mut stack.length, start);
        }
        groups.resize(self.sizes.len(), 0);
        let mut rest = self.sizes.as_slice();
        for number in order {
            let place = &mut self.stacks[number as usize].length;
            let length = 1 + rest.iter().take_while(|byte| **byte >= 0x80).count();
            let Some(size) = rest.split_off(..length) else { break };
            groups[*place as usize..][..length].copy_from_slice(size);
            *place += length as u32;
        }
        self.stacks.clear();
        self.sizes.clear();
    }
}

/// The placements of a chunk that is being written.
pub(super) struct PlacementWriter {
    counts: Box<[u32; CLASSES]>,
    /// The class of each block.
    order: Vec<Class>,
    placements: Vec<u8>,
}

impl PlacementWriter {
    pub(super) fn new() -> Self {
        PlacementWriter { counts: Box::new([0; CLASSES]), order: Vec::new(), placements: Vec::new() }
    }

    /// Adds a block.
    #[inline(always)]
    pub(super) fn put(&mut self, class: Class, placement: u8) {
        self.counts[class.index()] += 1;
        self.order.push(class);
        self.placements.push(placement);
    }

    /// The class of a block.
    #[inline(always)]
    pub(super) fn class(&self, number: u64) -> Option<Class> {
        self.order.get(usize::try_from(number).ok()?).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.placements.len()
    }

    /// Appends to two empty columns how many blocks there are of which classes, and their placements; and begins the next chunk.
    pub(super) fn finish(&mut self, classes: &mut Vec<u8>, groups: &mut Vec<u8>) {
        let (mut class_before, mut start) = (0, 0);
        for (class, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count != 0) {
            varint::put(classes, (class - class_before) as u64);
            varint::put(classes, (*count).into());
            class_before = class;
            // From here on, where the next one of its group goes.
            start += mem::replace(count, start);
        }
        groups.resize(self.placements.len(), 0);
        for (class, placement) in self.order.drain(..).zip(self.placements.drain(..)) {
            let place = &mut self.counts[class.index()];
            groups[*place as usize] = placement;
            *place += 1;
        }
        self.counts.fill(0);
    }
}

/// Reads sizes and placements.
pub(super) struct GroupReader {
    stacks: Vec<StackRest>,
    /// Where the placements of each class are that are not read yet, in the payload.
    classes: Box<[Rest; CLASSES]>,
}

struct StackRest {
    id: u32,
    /// Where its sizes are that are not read yet, in the payload.
    sizes: Rest,
}

/// What is left of a group. Payloads are shorter than 2³².
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    start: u32,
    end: u32,
}

impl GroupReader {
    pub(super) fn new() -> Self {
        GroupReader { stacks: Vec::new(), classes: Box::new([Rest::default(); CLASSES]) }
    }

    /// Begins a chunk of so many events: columns of ids and lengths of groups, and where those lie.
    pub(super) fn start(
        &mut self,
        events: usize,
        [mut ids, mut lengths, mut classes]: [&[u8]; 3],
        sizes: Range<usize>,
        placements: Range<usize>,
    ) -> Result<(), Malformed> {
        self.stacks.clear();
        let (mut id, mut start) = (0, sizes.start);
        while !ids.is_empty() {
            if self.stacks.len() == events {
                return Err(Malformed("a chunk has more stacks than events"));
            }
            id = varint::take_delta(&mut ids, id)?;
            let rest = next_group(&mut start, varint::take(&mut lengths)?, sizes.end)?;
            let id = u32::try_from(id).map_err(|_| Malformed("a stack needs more than 32 bits"))?;
            self.stacks.push(StackRest { id, sizes: rest });
        }
        self.classes.fill(Rest::default());
        let (mut class, mut start) = (0, placements.start);
        while !classes.is_empty() {
            class = varint::take(&mut classes)?.saturating_add(class);
            let rest = next_group(&mut start, varint::take(&mut classes)?, placements.end)?;
            let found = usize::try_from(class).ok().and_then(|class| self.classes.get_mut(class));
            *found.ok_or(Malformed("there is no such class of sizes"))? = rest;
        }
        Ok(())
    }

    /// The stack of this number, and the size of its next block.
    #[inline(always)]
    pub(super) fn stack_and_size(&mut self, payload: &[u8], number: u64) -> Result<(u64, u64), Malformed> {
        let stack = usize::try_from(number).ok().and_then(|number| self.stacks.get_mut(number));
        let Some(StackRest { id, sizes }) = stack else {
            return Err(Malformed("a block is of a stack that its chunk does not have"));
        };
        let mut bytes = payload.get(sizes.start as usize..sizes.end as usize).ok_or(ENDS_EARLY)?;
        let size = varint::take(&mut bytes)?;
        sizes.start = sizes.end - bytes.len() as u32;
        Ok(((*id).into(), size))
    }

    /// The placement of the next block of a class.
    #[inline(always)]
    pub(super) fn placement(&mut self, payload: &[u8], class: Class) -> Result<u8, Malformed> {
        let rest = &mut self.classes[class.index()];
        if rest.start == rest.end {
            return Err(ENDS_EARLY);
        }
        let placement = payload.get(rest.start as usize).ok_or(ENDS_EARLY)?;
        rest.start += 1;
        Ok(*placement)
    }
}

/// The group of `length` that begins at `start`, which is where the next one begins then.
fn next_group(start: &mut usize, length: u64, end: usize) -> Result<Rest, Malformed> {
    let begin = *start;
    *start = usize::try_from(length).ok().and_then(|length| begin.checked_add(length)).unwrap_or(usize::MAX);
    if *start > end {
        return Err(Malformed("groups are longer than their column"));
    }
    Ok(Rest { start: begin as u32, end: *start as u32 })
}

#[cfg(test)]
mod tests {
    use super::super::address::Fit;
    use super::*;
    use proptest::prelude::*;

    fn class(size: u64) -> Class {
        Fit::of(0, size).class()
    }

    /// The columns of some blocks: ids, lengths and classes, then sizes and placements; and which stack each block has.
    fn columns(blocks: &[(u32, u64, u8)]) -> ([Vec<u8>; 5], Vec<u32>) {
        let (mut sizes, mut placements) = (SizeWriter::default(), PlacementWriter::new());
        let mut columns = [const { Vec::new() }; 5];
        let mut numbers = Vec::new();
        // Of the first chunk nothing is left in the second.
        for _ in 0..2 {
            numbers.clear();
            columns.iter_mut().for_each(Vec::clear);
            for (stack, size, placement) in blocks {
                numbers.push(sizes.put(*stack, *size));
                placements.put(class(*size), *placement);
            }
            assert_eq!(placements.len(), blocks.len());
            let length = sizes.len();
            let [ids, lengths, classes, size_groups, placement_groups] = &mut columns;
            let order = numbers.iter().map(|number| u64::from(*number));
            sizes.finish(order, [ids, lengths, size_groups]);
            placements.finish(classes, placement_groups);
            assert_eq!((size_groups.len(), sizes.len(), placements.len()), (length, 0, 0));
        }
        (columns, numbers)
    }

    /// A reader that has begun a chunk of these columns, and the payload that has the last two.
    fn start(columns: &[Vec<u8>; 5], events: usize) -> Result<(GroupReader, Vec<u8>), Malformed> {
        let [ids, lengths, classes, sizes, placements] = columns;
        let payload = [&[0; 7], sizes.as_slice(), placements].concat();
        let mut reader = GroupReader::new();
        let border = 7 + sizes.len();
        reader.start(events, [ids, lengths, classes], 7..border, border..payload.len())?;
        Ok((reader, payload))
    }

    /// Check that the picture above holds, and the example of the format's document byte for byte.
    #[test]
    fn sizes_of_a_stack_lie_together() {
        let (columns, numbers) = columns(&[(5, 24, 0), (4, 40, 1), (5, 24, 2), (4, 300, 0), (5, 24, 3)]);
        assert_eq!(numbers, [0, 1, 0, 1, 0]);
        let [ids, lengths, classes, sizes, placements] = columns;
        assert_eq!((ids, lengths), (vec![10, 1], vec![3, 3]));
        assert_eq!(sizes, [24, 24, 24, 40, 0xac, 2]);
        assert_eq!((classes, placements), (vec![2, 3, 1, 1, 17, 1], vec![0, 2, 3, 1, 0]));
    }

    /// Check that groups which are not in their columns are errors, and so are stacks without events and classes that do not exist.
    #[test]
    fn impossible_groups_are_errors() {
        let (whole, _) = columns(&[(5, 24, 0), (4, 300, 1)]);
        assert!(start(&whole, 2).is_ok());
        assert!(start(&whole, 1).is_err());
        for (column, bytes) in [
            (0, vec![10, 1, 1]),
            (0, vec![0xff, 0xff, 0xff, 0xff, 0x7f]),
            (1, vec![1, 3]),
            (1, vec![0xff; 9]),
            (2, vec![2]),
            (2, vec![2, 1, 18, 2]),
            (2, vec![2, 1, 0xff, 0x7f, 1]),
        ] {
            let mut broken = whole.clone();
            broken[column] = bytes;
            assert!(start(&broken, 9).is_err(), "{column}");
        }
        let (mut reader, payload) = start(&whole, 2).unwrap();
        assert!(reader.stack_and_size(&payload, 2).is_err());
        assert_eq!(reader.stack_and_size(&payload, 0), Ok((5, 24)));
        assert!(reader.stack_and_size(&payload, 0).is_err());
        assert_eq!(reader.placement(&payload, class(300)), Ok(1));
        assert!(reader.placement(&payload, class(300)).is_err());
        assert!(reader.placement(&payload, class(1000)).is_err());
    }

    proptest! {
        /// Check that each block gets its stack, size and placement back, and that no group has more.
        #[test]
        fn blocks_come_back(
            blocks in proptest::collection::vec(
                (0..30u32, prop_oneof![0..300u64, any::<u64>()], any::<u8>()),
                0..200,
            ),
        ) {
            let (columns, numbers) = columns(&blocks);
            let (mut reader, payload) = start(&columns, blocks.len()).unwrap();
            for ((stack, size, placement), number) in blocks.iter().zip(numbers) {
                prop_assert_eq!(reader.stack_and_size(&payload, number.into()), Ok(((*stack).into(), *size)));
                prop_assert_eq!(reader.placement(&payload, class(*size)), Ok(*placement));
            }
            for number in 0..40 {
                prop_assert!(reader.stack_and_size(&payload, number).is_err());
            }
            prop_assert!(reader.classes.iter().all(|rest| rest.start == rest.end));
        }
    }
}
