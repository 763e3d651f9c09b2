//! Collects the words that are addresses of memory, packed, since the process waits meanwhile.
//!
//! ```text
//!  places   each 512 bytes that have any:  start │ a bit for each word
//!  words    one behind the other
//! ```
//!
//! So a pointer takes eight to ten bytes if pointers are dense. Besides pointers, it records where C++ objects begin.

use super::classes::Classes;
use capture::Pointer;
use std::ops::Range;

/// Most pointers that are kept: a gigabyte at most if they are dense, including their places. Only programs whose
/// heap is several gigabytes of pointers have more.
const MOST: usize = 64 << 20;
/// Most objects that are kept, of twelve bytes each.
const MOST_OBJECTS: usize = 16 << 20;
/// Alignment of the blocks that allocators return.
const BLOCKS_BEGIN: u64 = 16;
/// Of the words that hold their own address, only those at this alignment are noted: they could be in a thread's
/// control block.
pub(super) const ALIGNMENT: u64 = if cfg!(target_arch = "aarch64") { 16 } else { 64 };
/// Words covered by a place.
const WORDS: usize = 64;

/// What lies at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Target {
    /// Nothing of interest.
    #[default]
    Nothing,
    /// Memory that may contain blocks.
    Blocks,
    /// Memory of modules that never changes, including virtual tables.
    Constants,
}

/// Where addresses may lead.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// The starts of the parts of the address space, except the first, which begins at 0 and is empty.
    parts: Vec<(u64, Target)>,
}

impl Targets {
    /// From ranges that do not overlap.
    pub(super) fn new(ranges: impl Iterator<Item = (Range<u64>, Target)>) -> Targets {
        let mut ranges: Vec<_> = ranges.filter(|(range, _)| !range.is_empty()).collect();
        ranges.sort_by_key(|(range, _)| range.start);
        let mut parts: Vec<(u64, Target)> = Vec::new();
        for (range, target) in ranges {
            if parts.last().is_some_and(|(start, _)| *start == range.start) {
                parts.pop();
            }
            if parts.last().is_none_or(|(_, before)| *before != target) {
                parts.push((range.start, target));
            }
            parts.push((range.end, Target::Nothing));
        }
        Targets { parts }
    }

    /// From the first target's start to the last one's end.
    fn bounds(&self) -> Range<u64> {
        let start = |part: Option<&(u64, Target)>| part.map_or(0, |(start, _)| *start);
        start(self.parts.first())..start(self.parts.last())
    }

    /// The part of the address space that a word points into.
    fn part(&self, word: u64) -> (Range<u64>, Target) {
        let behind = self.parts.partition_point(|(start, _)| *start <= word);
        let (start, target) = behind.checked_sub(1).map_or((0, Target::Nothing), |before| self.parts[before]);
        let end = self.parts.get(behind).map_or(u64::MAX, |(start, _)| *start);
        (start..end, target)
    }
}

/// A run of words of which at least one is a pointer.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: u64,
    /// A bit for each word; the lowest is the first.
    words: u64,
}

/// The pointers and objects found, in order of address.
#[derive(Debug)]
pub(crate) struct Found {
    groups: Vec<Group>,
    words: Vec<u64>,
    /// Pointers in registers, at the addresses assigned to these.
    registers: Vec<Pointer>,
    /// Addresses of words that hold their own address.
    own: Vec<u64>,
    most: usize,
    /// Number of pointers beyond the limit.
    pub(crate) lost: u64,
    /// The parts hit last: one of constants, one of anything else.
    last: [(Range<u64>, Target); 2],
    /// Where objects begin.
    objects: Vec<u64>,
    /// The class number of each object.
    classes: Vec<u32>,
}

impl Default for Found {
    fn default() -> Found {
        Found::up_to(MOST)
    }
}

impl Found {
    fn up_to(most: usize) -> Found {
        Found {
            groups: Vec::new(),
            words: Vec::new(),
            registers: Vec::new(),
            own: Vec::new(),
            most,
            lost: 0,
            last: Default::default(),
            objects: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// Number of pointers.
    pub(crate) fn count(&self) -> u64 {
        (self.words.len() + self.registers.len()) as u64
    }

    /// Searches consecutive words for pointers, and for objects if `classes` is given. Ranges come in order of
    /// address.
    // Cost: a subtraction and a comparison for each word, and for those that may be addresses two comparisons and a
    // store.
    pub(super) fn search(
        &mut self,
        start: u64,
        words: &[u64],
        targets: &Targets,
        mut classes: Option<&mut Classes>,
    ) {
        let bounds = targets.bounds();
        let length = bounds.end - bounds.start;
        let mut from = start;
        for words in words.chunks(WORDS) {
            let may_be = |word: u64| word.wrapping_sub(bounds.start) < length;
            let near =
                words.iter().enumerate().fold(0, |near, (at, word)| near | u64::from(may_be(*word)) << at);
            if near != 0 {
                self.sift(from, words, near, targets, classes.as_deref_mut());
            }
            from += (WORDS * 8) as u64;
        }
    }

    /// Keeps those of the words that lead somewhere.
    fn sift(
        &mut self,
        start: u64,
        words: &[u64],
        mut near: u64,
        targets: &Targets,
        mut classes: Option<&mut Classes>,
    ) {
        let mut found = 0;
        while near != 0 {
            let at = near.trailing_zeros();
            near &= near - 1;
            let word = words[at as usize];
            match self.target(word, targets) {
                Target::Blocks => {}
                Target::Constants => {
                    if let Some(classes) = &mut classes {
                        self.object(start + 8 * u64::from(at), word, classes);
                    }
                    continue;
                }
                Target::Nothing => continue,
            }
            if self.words.len() < self.most {
                self.words.push(word);
                found |= 1 << at;
                if word.is_multiple_of(ALIGNMENT) && word == start + 8 * u64::from(at) {
                    self.own.push(word);
                }
            } else {
                self.lost += 1;
            }
        }
        if found != 0 {
            self.groups.push(Group { start, words: found });
        }
    }

    /// Records an object if the word at its beginning identifies its class.
    fn object(&mut self, at: u64, word: u64, classes: &mut Classes) {
        if at.is_multiple_of(BLOCKS_BEGIN)
            && self.objects.len() < MOST_OBJECTS
            && let Some(class) = classes.of(word)
        {
            self.objects.push(at);
            self.classes.push(class);
        }
    }

    fn target(&mut self, word: u64, targets: &Targets) -> Target {
        if let Some((_, target)) = self.last.iter().find(|(part, _)| part.contains(&word)) {
            return *target;
        }
        let part = targets.part(word);
        let target = part.1;
        self.last[usize::from(target == Target::Constants)] = part;
        target
    }

    /// Words in a range that hold their own address, among those aligned to [`ALIGNMENT`].
    pub(super) fn own_addresses(&self, range: Range<u64>) -> &[u64] {
        let place = |address: u64| self.own.partition_point(|own| *own < address);
        &self.own[place(range.start)..place(range.end)]
    }

    /// Adds the registers of a thread, at the address assigned to them.
    pub(super) fn note(&mut self, from: u64, words: &[u64], targets: &Targets) {
        for word in words {
            if self.target(*word, targets) == Target::Blocks {
                self.registers.push(Pointer { from, to: *word });
            }
        }
    }

    /// The addresses of objects with their class numbers, in order.
    pub(crate) fn take_objects(&mut self) -> impl Iterator<Item = (u64, u32)> + Send + use<> {
        std::mem::take(&mut self.objects).into_iter().zip(std::mem::take(&mut self.classes))
    }

    /// The pointers, in order of place.
    pub(crate) fn into_pointers(self) -> impl Iterator<Item = Pointer> + Send {
        let bits = |group: Group| {
            let each = (0..WORDS as u64).filter(move |at| group.words >> at & 1 == 1);
            each.map(move |at| group.start + 8 * at)
        };
        let mut registers = self.registers.into_iter().peekable();
        let froms = self.groups.into_iter().flat_map(bits);
        let mut memory = froms.zip(self.words).map(|(from, to)| Pointer { from, to }).peekable();
        std::iter::from_fn(move || {
            let next = memory.peek().map_or(u64::MAX, |pointer| pointer.from);
            registers.next_if(|register| register.from <= next).or_else(|| memory.next())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn targets(ranges: &[Range<u64>]) -> Targets {
        Targets::new(ranges.iter().map(|range| (range.clone(), Target::Blocks)))
    }

    fn pointers(found: Found) -> Vec<(u64, u64)> {
        found.into_pointers().map(|pointer| (pointer.from, pointer.to)).collect()
    }

    /// Check that words that point into ranges, including at their borders, are found where they lie, and that
    /// registers come before the memory at their address.
    #[test]
    fn words_within_ranges_are_pointers() {
        let targets = targets(&[0x1000..0x2000, 0x2000..0x3000, 0x8000..0x9000]);
        let (blocks, nothing) = (Target::Blocks, Target::Nothing);
        assert_eq!(targets.parts, [(0x1000, blocks), (0x3000, nothing), (0x8000, blocks), (0x9000, nothing)]);
        let mut found = Found::default();
        found.search(
            0x100,
            &[0xfff, 0x1000, 0x2000, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8fff, 0x9000],
            &targets,
            None,
        );
        found.note(0x500, &[0x1234, 7, u64::MAX, 0x8001], &targets);
        found.search(0x500, &[0x1000; 65], &targets, None);
        assert_eq!(found.count(), 5 + 2 + 65);
        let all = pointers(found);
        assert_eq!(
            all[..8],
            [
                (0x108, 0x1000),
                (0x110, 0x2000),
                (0x118, 0x2fff),
                (0x130, 0x8000),
                (0x138, 0x8fff),
                (0x500, 0x1234),
                (0x500, 0x8001),
                (0x500, 0x1000)
            ]
        );
        assert_eq!(all[7 + 64], (0x500 + 64 * 8, 0x1000));
    }

    /// Check that words that hold their own address are found.
    #[test]
    fn own_addresses_are_told() {
        let mut found = Found::default();
        found.search(
            0x1000,
            &[0x1000, 0x1008, 0x1000, 0, 0, 0, 0, 0, 0x1040],
            &targets(&[0x1000..0x2000, 0x8000..0x9000]),
            None,
        );
        assert_eq!(found.own_addresses(0..u64::MAX), [0x1000, 0x1040]);
        assert_eq!(found.own_addresses(0x1001..0x1040), []);
    }

    /// Check that adjoining parts with the same contents are merged, that others are kept apart, and that words that
    /// lead to constants are no pointers.
    #[test]
    fn constants_are_no_blocks() {
        let targets = Targets::new(
            [
                (0x3000..0x4000, Target::Blocks),
                (0x1000..0x2000, Target::Blocks),
                (0x2000..0x3000, Target::Constants),
                (0x4000..0x5000, Target::Blocks),
            ]
            .into_iter(),
        );
        let starts: Vec<u64> = targets.parts.iter().map(|(start, _)| *start).collect();
        assert_eq!(starts, [0x1000, 0x2000, 0x3000, 0x5000]);
        let mut found = Found::default();
        found.search(0, &[0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff, 0x5000], &targets, None);
        assert_eq!(pointers(found), [(0, 0x1fff), (24, 0x3000), (32, 0x4fff)]);
    }

    /// Check that pointers beyond the limit are counted, and that earlier ones are kept.
    #[test]
    fn pointers_beyond_the_limit_are_counted() {
        let mut found = Found::up_to(3);
        found.search(0, &[5, 5, 0, 5, 5, 5], &targets(&[5..6, 7..8]), None);
        assert_eq!((found.count(), found.lost), (3, 2));
        assert_eq!(pointers(found), [(0, 5), (8, 5), (24, 5)]);
    }

    /// Check that nothing is found if there is no target.
    #[test]
    fn without_ranges_nothing_is_a_pointer() {
        let mut found = Found::default();
        found.search(0, &[0, 1, u64::MAX], &Targets::default(), None);
        found.note(0, &[0, u64::MAX], &Targets::default());
        assert_eq!(found.count(), 0);
    }

    proptest! {
        /// Check that for arbitrary words and ranges the result is that of a plain search.
        #[test]
        fn any_words_are_judged_as_a_plain_search_does(
            words in prop::collection::vec(prop_oneof![0u64..200, any::<u64>()], 0..300),
            lengths in prop::collection::vec((1u64..20, 0u64..20), 0..8),
            pieces in 1usize..100,
        ) {
            let mut end = 0;
            let ranges: Vec<Range<u64>> = lengths.iter().map(|(length, gap)| {
                let start = end + gap;
                end = start + length;
                start..end
            }).collect();
            let targets = targets(&ranges);
            let mut found = Found::default();
            for (at, words) in words.chunks(pieces).enumerate() {
                found.search((at * pieces * 8) as u64, words, &targets, None);
            }
            let leads = |word: &u64| ranges.iter().any(|range| range.contains(word));
            let expected: Vec<(u64, u64)> =
                (0..).step_by(8).zip(words.iter().copied()).filter(|(_, word)| leads(word)).collect();
            prop_assert_eq!(pointers(found), expected);
        }
    }
}
