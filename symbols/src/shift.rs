//! Maps addresses from one file of a pair to the other.
//!
//! A binary and its debug file come from one link, yet their addresses can differ: prelink moves the binary, and
//! some tools move the first segment of the debug file. Load addresses are therefore never compared. What stays
//! true is where an instruction lies *within its section*:
//!
//! ```text
//! binary       .text  0x08048340 ── 0x08049000        address 0x08048400 is .text + 0xc0,
//! debug file   .text  0x10000340 ── 0x10001000        so it is 0x10000400 there
//! ```

use crate::elf::{Elf, Section};
use std::collections::HashMap;

/// A map from the code addresses of one file to those of another.
pub(crate) struct Shift {
    /// By start; none when both files are the same.
    ranges: Option<Vec<Moved>>,
}

#[derive(Clone, Copy)]
struct Moved {
    start: u64,
    end: u64,
    to: u64,
}

impl Shift {
    /// Both files are the same: every address stays.
    pub(crate) fn none() -> Shift {
        Shift { ranges: None }
    }

    /// Pairs sections by name (the n-th of a name with the n-th), or, in files without section headers, the n-th
    /// executable segments. Addresses outside all sections map to none, even from a file to itself.
    pub(crate) fn between(from: &Elf<'_>, to: &Elf<'_>) -> Shift {
        if from.has_section_headers() && to.has_section_headers() {
            return Shift::of(pairs(from.code_sections(), to.code_sections()));
        }
        let segments = from.code_segments().iter().zip(to.code_segments());
        Shift::of(Vec::from_iter(segments.map(|(segment, target)| {
            let end = segment.address.saturating_add(segment.size);
            Moved { start: segment.address, end, to: target.address }
        })))
    }

    /// As [`Self::between`], for the addresses of variables.
    pub(crate) fn of_variables(from: &Elf<'_>, to: &Elf<'_>) -> Shift {
        Shift::of(pairs(from.data_sections(), to.data_sections()))
    }

    fn of(mut ranges: Vec<Moved>) -> Shift {
        ranges.sort_unstable_by_key(|range| range.start);
        Shift { ranges: Some(ranges) }
    }

    /// Where an address of the first file lies in the second; none if its section is missing there.
    pub(crate) fn apply(&self, address: u64) -> Option<u64> {
        let Some(ranges) = &self.ranges else { return Some(address) };
        let before = ranges.partition_point(|range| range.start <= address);
        let range = ranges[..before].last().filter(|range| address < range.end)?;
        range.to.checked_add(address - range.start)
    }
}

/// Pairs of sections with the same name.
fn pairs<'s, 'a: 's, 'b: 's>(
    from: impl Iterator<Item = &'s Section<'a>>,
    to: impl Iterator<Item = &'s Section<'b>>,
) -> Vec<Moved> {
    let mut targets = HashMap::new();
    for_each_numbered(to, |name, section| {
        targets.insert(name, (section.address, section.size));
    });
    let mut ranges = Vec::new();
    for_each_numbered(from, |name, section| {
        if let Some(&(address, size)) = targets.get(&name) {
            let end = section.address.saturating_add(section.size.min(size));
            ranges.push(Moved { start: section.address, end, to: address });
        }
    });
    ranges
}

/// Visits sections with their name and how many of that name came before.
fn for_each_numbered<'s, 'a: 's>(
    sections: impl Iterator<Item = &'s Section<'a>>,
    mut visit: impl FnMut((&'a [u8], u32), &Section<'a>),
) {
    let mut seen: HashMap<&[u8], u32> = HashMap::new();
    for section in sections {
        let count = seen.entry(section.name).or_default();
        visit((section.name, *count), section);
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that addresses keep their place within their section, and that those outside all sections map to none.
    #[test]
    fn addresses_keep_their_place_in_the_section() {
        let ranges = vec![
            Moved { start: 0x1000, end: 0x1800, to: 0x5000 },
            Moved { start: 0x2000, end: 0x3000, to: 0x2000 },
        ];
        let shift = Shift { ranges: Some(ranges) };
        for (address, expected) in [
            (0, None),
            (0xfff, None),
            (0x1000, Some(0x5000)),
            (0x17ff, Some(0x57ff)),
            (0x1800, None),
            (0x2abc, Some(0x2abc)),
            (0x3000, None),
            (u64::MAX, None),
        ] {
            assert_eq!(shift.apply(address), expected, "{address:#x}");
        }
        assert_eq!(Shift::none().apply(u64::MAX), Some(u64::MAX));
    }
}
