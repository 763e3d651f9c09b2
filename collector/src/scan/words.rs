//! Which words are addresses of memory, packed while the process waits.
//!
//! ```text
//!  places   each 512 bytes that have any:  start │ a bit for each word
//!  words    one behind the other
//! ```
//!
//! So a pointer takes eight to ten bytes, where many are.

use capture::Pointer;
use std::ops::Range;

/// Most pointers that are kept: with their places, a gigabyte at most where they lie densely. Programs with more have heaps of several
/// gigabytes that consist of pointers.
const MOST: usize = 64 << 20;
/// Of words that hold their own address those count that could begin what is known of a thread.
pub(super) const ALIGNMENT: u64 = 64;
/// Words of a place.
const WORDS: usize = 64;

/// Where addresses may lead.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Beginnings and ends of the ranges, in turn.
    edges: Vec<u64>,
}

impl Targets {
    /// Ranges by address, which do not overlap.
    pub(super) fn new(ranges: impl Iterator<Item = Range<u64>>) -> Targets {
        let mut edges: Vec<u64> = Vec::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            if edges.last() == Some(&range.start) {
                edges.pop();
            } else {
                edges.push(range.start);
            }
            edges.push(range.end);
        }
        Targets { edges }
    }

    /// From the first address to behind the last one.
    fn bounds(&self) -> Range<u64> {
        self.edges.first().copied().unwrap_or(0)..self.edges.last().copied().unwrap_or(0)
    }

    /// The part of all addresses that a word lies in, and whether it is one of the ranges.
    fn part(&self, word: u64) -> (Range<u64>, bool) {
        let behind = self.edges.partition_point(|edge| *edge <= word);
        let start = behind.checked_sub(1).map_or(0, |before| self.edges[before]);
        let end = self.edges.get(behind).copied().unwrap_or(u64::MAX);
        (start..end, behind % 2 == 1)
    }
}

/// Words that have a pointer among them.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: u64,
    /// A bit for each word, the lowest for the first.
    words: u64,
}

/// What was found, by place.
#[derive(Debug)]
pub(crate) struct Found {
    groups: Vec<Group>,
    words: Vec<u64>,
    /// In registers, at the addresses that stand for them.
    registers: Vec<Pointer>,
    /// Places of words that hold their own address.
    own: Vec<u64>,
    most: usize,
    /// Pointers beyond what is kept.
    pub(crate) lost: u64,
    /// The part of all addresses that the last one was in, and whether that is wanted.
    last: (Range<u64>, bool),
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
            last: (0..0, false),
        }
    }

    /// Pointers.
    pub(crate) fn count(&self) -> u64 {
        (self.words.len() + self.registers.len()) as u64
    }

    /// Searches words that lie one behind the other. Ranges come by address.
    // Cost: a subtraction and a comparison for each word, and for those that may be addresses two comparisons and a store.
    pub(super) fn search(&mut self, start: u64, words: &[u64], targets: &Targets) {
        let bounds = targets.bounds();
        let length = bounds.end - bounds.start;
        let mut from = start;
        for words in words.chunks(WORDS) {
            let may_be = |word: u64| word.wrapping_sub(bounds.start) < length;
            let near =
                words.iter().enumerate().fold(0, |near, (at, word)| near | u64::from(may_be(*word)) << at);
            if near != 0 {
                self.sift(from, words, near, targets);
            }
            from += (WORDS * 8) as u64;
        }
    }

    /// Takes those of the words that lead somewhere.
    fn sift(&mut self, start: u64, words: &[u64], mut near: u64, targets: &Targets) {
        let mut found = 0;
        while near != 0 {
            let at = near.trailing_zeros();
            near &= near - 1;
            let word = words[at as usize];
            if !self.leads(word, targets) {
                continue;
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

    fn leads(&mut self, word: u64, targets: &Targets) -> bool {
        if !self.last.0.contains(&word) {
            self.last = targets.part(word);
        }
        self.last.1
    }

    /// Words of a range that hold their own address, where that is a multiple of [`ALIGNMENT`].
    pub(super) fn own_addresses(&self, range: Range<u64>) -> &[u64] {
        let place = |address: u64| self.own.partition_point(|own| *own < address);
        &self.own[place(range.start)..place(range.end)]
    }

    /// Takes the registers of a thread, which have their place at an address.
    pub(super) fn note(&mut self, from: u64, words: &[u64], targets: &Targets) {
        for word in words {
            if self.leads(*word, targets) {
                self.registers.push(Pointer { from, to: *word });
            }
        }
    }

    /// The pointers, by their places.
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
        Targets::new(ranges.iter().cloned())
    }

    fn pointers(found: Found) -> Vec<(u64, u64)> {
        found.into_pointers().map(|pointer| (pointer.from, pointer.to)).collect()
    }

    /// Check that words within ranges are found where they lie, their borders right, with registers before the memory at their place.
    #[test]
    fn words_within_ranges_are_pointers() {
        let targets = targets(&[0x1000..0x2000, 0x2000..0x3000, 0x8000..0x9000]);
        assert_eq!(targets.edges, [0x1000, 0x3000, 0x8000, 0x9000]);
        let mut found = Found::default();
        found.search(
            0x100,
            &[0xfff, 0x1000, 0x2000, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8fff, 0x9000],
            &targets,
        );
        found.note(0x500, &[0x1234, 7, u64::MAX, 0x8001], &targets);
        found.search(0x500, &[0x1000; 65], &targets);
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

    /// Check that words which hold their own address are told by their places.
    #[test]
    fn own_addresses_are_told() {
        let mut found = Found::default();
        found.search(
            0x1000,
            &[0x1000, 0x1008, 0x1000, 0, 0, 0, 0, 0, 0x1040],
            &targets(&[0x1000..0x2000, 0x8000..0x9000]),
        );
        assert_eq!(found.own_addresses(0..u64::MAX), [0x1000, 0x1040]);
        assert_eq!(found.own_addresses(0x1001..0x1040), []);
    }

    /// Check that pointers beyond the limit are counted, and that those before it stay.
    #[test]
    fn pointers_beyond_the_limit_are_counted() {
        let mut found = Found::up_to(3);
        found.search(0, &[5, 5, 0, 5, 5, 5], &targets(&[5..6, 7..8]));
        assert_eq!((found.count(), found.lost), (3, 2));
        assert_eq!(pointers(found), [(0, 5), (8, 5), (24, 5)]);
    }

    /// Check that nothing is found where nothing can be.
    #[test]
    fn without_ranges_nothing_is_a_pointer() {
        let mut found = Found::default();
        found.search(0, &[0, 1, u64::MAX], &Targets::default());
        found.note(0, &[0, u64::MAX], &Targets::default());
        assert_eq!(found.count(), 0);
    }

    proptest! {
        /// Check that of any words and ranges those are found that a plain search finds.
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
                found.search((at * pieces * 8) as u64, words, &targets);
            }
            let leads = |word: &u64| ranges.iter().any(|range| range.contains(word));
            let expected: Vec<(u64, u64)> =
                (0..).step_by(8).zip(words.iter().copied()).filter(|(_, word)| leads(word)).collect();
            prop_assert_eq!(pointers(found), expected);
        }
    }
}
