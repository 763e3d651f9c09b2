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
//! Within the copies, what the addresses do not need is hidden ([`Pruner`]).

use crate::dwarf::Slice;
use crate::pruning::Pruner;
use gimli::{DebugAranges, DebugInfo, EndianSlice, Reader, Section};
use std::collections::BTreeMap;

/// Most addresses that units are selected for; more of them need most of the file.
const MOST_ADDRESSES: usize = 1 << 12;

/// Sections with nothing but what some addresses need.
pub(crate) struct Selection {
    /// The units, one after the other.
    pub(crate) info: Vec<u8>,
    /// Their tables of abbreviations, where they do not use those of the file.
    pub(crate) abbreviations: Option<Vec<u8>>,
}

/// The units of these sorted addresses; none unless each address is in one.
pub(crate) fn of(dwarf: &gimli::Dwarf<Slice<'_>>, addresses: &[u64]) -> Option<Selection> {
    if addresses.len() > MOST_ADDRESSES {
        return None;
    }
    let units = units(&dwarf.debug_aranges, addresses)?;
    let mut info = gather(&dwarf.debug_info, &units)?;
    let abbreviations = prune(dwarf, &units, &mut info);
    if abbreviations.is_none() {
        // Some unit is unlike what compilers write: those who read it see all of it.
        info = gather(&dwarf.debug_info, &units)?;
    }
    Some(Selection { info, abbreviations })
}

/// The addresses in each unit, by where it begins.
type Units = BTreeMap<usize, Vec<u64>>;

/// The units that have the addresses.
fn units(aranges: &DebugAranges<Slice<'_>>, addresses: &[u64]) -> Option<Units> {
    let (mut units, mut is_in_unit) = (Units::new(), vec![false; addresses.len()]);
    let mut headers = aranges.headers();
    while let Some(header) = headers.next().ok()? {
        let mut entries = header.entries();
        while let Some(entry) = entries.next().transpose() {
            // An error in one unit's set says nothing about the others.
            let Ok(entry) = entry else { break };
            let range = entry.range();
            let first = addresses.partition_point(|&address| address < range.begin);
            for (address, is_in_unit) in addresses
                .iter()
                .zip(&mut is_in_unit)
                .skip(first)
                .take_while(|(address, _)| **address < range.end)
            {
                *is_in_unit = true;
                units.entry(header.debug_info_offset().0).or_default().push(*address);
            }
        }
    }
    for addresses in units.values_mut() {
        addresses.sort_unstable();
        addresses.dedup();
    }
    is_in_unit.iter().all(|&is| is).then_some(units)
}

/// Copies of the units at these offsets. None where units overlap, so that the copy is never longer than the section.
fn gather(info: &DebugInfo<Slice<'_>>, units: &Units) -> Option<Vec<u8>> {
    let (mut gathered, mut end) = (Vec::new(), 0);
    for &offset in units.keys() {
        let unit = unit(info, offset).filter(|_| offset >= end)?;
        gathered.extend_from_slice(unit);
        end = offset + unit.len();
    }
    Some(gathered)
}

/// The bytes of a unit.
fn unit<'a>(info: &DebugInfo<Slice<'a>>, offset: usize) -> Option<&'a [u8]> {
    let rest = info.reader().slice().get(offset..)?;
    let mut units = DebugInfo::from(EndianSlice::new(rest, info.reader().endian())).units();
    rest.get(..units.next().ok()??.length_including_self())
}

/// Prunes the gathered copies, and returns their tables.
fn prune(dwarf: &gimli::Dwarf<Slice<'_>>, units: &Units, mut gathered: &mut [u8]) -> Option<Vec<u8>> {
    let mut pruner = Pruner::new(dwarf);
    for (&offset, addresses) in units {
        let (copy, rest) = gathered.split_at_mut_checked(unit(&dwarf.debug_info, offset)?.len())?;
        pruner.prune(offset, addresses, copy)?;
        gathered = rest;
    }
    Some(pruner.abbreviations)
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
            let selected = of(&dwarf, addresses).map(|selection| selection.info);
            assert_eq!(selected, expected, "{addresses:x?}");
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
        let of =
            |claims: &[u8], info: &[u8]| of(&dwarf(claims, info), &[0x100]).map(|selection| selection.info);
        assert_eq!(of(&claims(&[0]), &info), Some(info.clone()));
        for starts in [&[0, 20][..], &[4000], &[0, u32::MAX]] {
            assert_eq!(of(&claims(starts), &info), None, "{starts:?}");
        }
        assert_eq!(of(&claims(&[0]), &info[..100]), None);
    }
}
