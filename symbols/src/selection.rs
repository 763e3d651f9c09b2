//! The few units of debug information that a set of addresses needs.
//!
//! Checking the bounds of all debug information of a file takes a thousand times as long as naming the handful of its
//! addresses in a short recording. `.debug_aranges` says which unit an address is in, so only those units are copied,
//! into a section of their own, and all other code sees no others:
//!
//! ```text
//! .debug_info     [unit][unit][ unit ][unit][  unit  ][unit] …
//!                        \____/               \______/
//! selection       [unit][  unit  ]         references within a unit count from its beginning, so they hold
//! ```
//!
//! gcc writes `.debug_aranges`, other compilers do not; where an address is in no unit of it, there is no selection.

use crate::dwarf::Slice;
use gimli::{DebugAranges, DebugInfo, EndianSlice, Reader, Section};
use std::collections::BTreeSet;

/// Most addresses that units are selected for; more of them need most of the file.
const MOST_ADDRESSES: usize = 1 << 12;

/// The units of these sorted addresses, one after the other; none unless each address is in one.
pub(crate) fn of(dwarf: &gimli::Dwarf<Slice<'_>>, addresses: &[u64]) -> Option<Vec<u8>> {
    if addresses.len() > MOST_ADDRESSES {
        return None;
    }
    let offsets = units(&dwarf.debug_aranges, addresses)?;
    gather(&dwarf.debug_info, &offsets)
}

/// Where the units begin.
fn units(aranges: &DebugAranges<Slice<'_>>, addresses: &[u64]) -> Option<BTreeSet<usize>> {
    let (mut offsets, mut is_in_unit) = (BTreeSet::new(), vec![false; addresses.len()]);
    let mut headers = aranges.headers();
    while let Some(header) = headers.next().ok()? {
        let mut entries = header.entries();
        while let Some(entry) = entries.next().transpose() {
            // An error in one unit's set says nothing about the others.
            let Ok(entry) = entry else { break };
            let range = entry.range();
            let first = addresses.partition_point(|&address| address < range.begin);
            for (_, is_in_unit) in addresses
                .iter()
                .zip(&mut is_in_unit)
                .skip(first)
                .take_while(|(address, _)| **address < range.end)
            {
                *is_in_unit = true;
                offsets.insert(header.debug_info_offset().0);
            }
        }
    }
    is_in_unit.iter().all(|&is| is).then_some(offsets)
}

/// Copies of the units at these offsets. None where units overlap, so that the copy is never longer than the section.
fn gather(info: &DebugInfo<Slice<'_>>, offsets: &BTreeSet<usize>) -> Option<Vec<u8>> {
    let (section, endian) = (info.reader().slice(), info.reader().endian());
    let (mut gathered, mut end) = (Vec::new(), 0);
    for &offset in offsets {
        let rest = section.get(offset..).filter(|_| offset >= end)?;
        let mut units = DebugInfo::from(EndianSlice::new(rest, endian)).units();
        let unit = rest.get(..units.next().ok()??.length_including_self())?;
        gathered.extend_from_slice(unit);
        end = offset + unit.len();
    }
    Some(gathered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::RunTimeEndian;

    /// A set of `.debug_aranges`: the unit at an offset has these ranges.
    fn aranges(unit: u32, ranges: &[(u64, u64)]) -> Vec<u8> {
        let mut set = [&2_u16.to_le_bytes()[..], &unit.to_le_bytes(), &[8, 0], &[0; 4]].concat();
        for (begin, length) in ranges.iter().chain(&[(0, 0)]) {
            set.extend([begin.to_le_bytes(), length.to_le_bytes()].concat());
        }
        [&(set.len() as u32).to_le_bytes()[..], &set].concat()
    }

    /// A unit without entries, as long as its header and some bytes.
    fn unit(bytes: u8) -> Vec<u8> {
        let contents = [&[4, 0, 0, 0, 0, 0, 8][..], &vec![bytes; usize::from(bytes)]].concat();
        [&(contents.len() as u32).to_le_bytes()[..], &contents].concat()
    }

    fn dwarf<'a>(aranges: &'a [u8], info: &'a [u8]) -> gimli::Dwarf<Slice<'a>> {
        let slice = |bytes| EndianSlice::new(bytes, RunTimeEndian::Little);
        let Ok::<_, gimli::Error>(dwarf) = gimli::Dwarf::load(|id| {
            Ok(match id {
                gimli::SectionId::DebugAranges => slice(aranges),
                gimli::SectionId::DebugInfo => slice(info),
                _ => slice(&[][..]),
            })
        }) else {
            panic!("loading cannot fail")
        };
        dwarf
    }

    /// Check that exactly the units that cover one of the addresses are taken, whole and in their order.
    #[test]
    fn units_of_addresses_are_taken() {
        let units = [unit(1), unit(2), unit(3)];
        let info = units.concat();
        let starts = [0, units[0].len() as u32, (units[0].len() + units[1].len()) as u32];
        let aranges = [
            aranges(starts[2], &[(0x100, 0x10), (0x300, 0x10)]),
            aranges(starts[0], &[(0x200, 0x10)]),
            aranges(starts[1], &[(0x305, 0x1)]),
        ]
        .concat();
        let dwarf = dwarf(&aranges, &info);
        for (addresses, expected) in [
            (&[0x100][..], Some(&[2][..])),
            (&[0x100, 0x20f], Some(&[0, 2])),
            (&[0x304], Some(&[2])),
            (&[0x305], Some(&[1, 2])),
            (&[0x100, 0x210], None),
            (&[0xff], None),
            (&[], Some(&[])),
        ] {
            let expected =
                expected.map(|chosen| chosen.iter().flat_map(|&unit: &usize| units[unit].clone()).collect());
            assert_eq!(of(&dwarf, addresses), expected, "{addresses:x?}");
        }
    }

    /// Check that units are not taken that overlap, lie outside, or claim more than there is: the copies would be
    /// unbounded.
    #[test]
    fn overlapping_units_are_not_taken() {
        let info = unit(200);
        let claims = |starts: &[u32]| -> Vec<u8> {
            starts.iter().flat_map(|&start| aranges(start, &[(0x100, 0x10)])).collect()
        };
        assert_eq!(of(&dwarf(&claims(&[0]), &info), &[0x100]), Some(info.clone()));
        for starts in [&[0, 20][..], &[4000], &[0, u32::MAX]] {
            assert_eq!(of(&dwarf(&claims(starts), &info), &[0x100]), None, "{starts:?}");
        }
        assert_eq!(of(&dwarf(&claims(&[0]), &info[..100]), &[0x100]), None);
    }
}
