//! What kinds of memory a process has mapped, to classify page faults.

use capture::Region;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most ranges kept for a process; Linux allows about as many mappings.
const MOST: usize = 1 << 17;

/// An address within this distance of the stack pointer counts as stack if nothing is known to be mapped there: the
/// kernel grows the first thread's stack without a record.
const STACK: u64 = 64 << 20;

/// All memory of a process. A fork shares it until either side changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions(Rc<BTreeMap<u64, (u64, Region)>>);

impl Regions {
    /// Adds a mapping, which replaces whatever was there.
    pub(super) fn map(&mut self, start: u64, end: u64, region: Region) {
        if start >= end || self.0.len() >= MOST {
            return;
        }
        let maps = Rc::make_mut(&mut self.0);
        let before = maps.range(..end).rev().take_while(|(_, (old_end, _))| *old_end > start);
        let overlapped: Vec<(u64, (u64, Region))> = before.map(|(start, old)| (*start, *old)).collect();
        for (old_start, (old_end, old)) in overlapped {
            maps.remove(&old_start);
            if old_start < start {
                maps.insert(old_start, (start, old));
            }
            if old_end > end {
                maps.insert(end, (old_end, old));
            }
        }
        maps.insert(start, (end, region));
    }

    /// The kind of memory at an address that was touched by a thread whose stack pointer is `sp`.
    pub(super) fn of(&self, address: u64, sp: Option<u64>) -> Region {
        let found = self.find(address);
        let Some(sp) = sp else { return found.map_or(Region::Unknown, |(_, region)| region) };
        match found {
            Some((start, Region::Anonymous)) if self.find(sp).is_some_and(|(other, _)| other == start) => {
                Region::Stack
            }
            Some((_, region)) => region,
            None if address.abs_diff(sp) < STACK => Region::Stack,
            None => Region::Unknown,
        }
    }

    fn find(&self, address: u64) -> Option<(u64, Region)> {
        let (start, (end, region)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some((*start, *region))
    }
}

/// The kind of a mapping, by the name that the kernel gives it in records or in `/proc`.
pub(super) fn region_of(name: &[u8]) -> Region {
    match name {
        b"[heap]" => Region::Heap,
        b"[stack]" => Region::Stack,
        b"" | b"//anon" => Region::Anonymous,
        name if name.starts_with(b"[anon:") => Region::Anonymous,
        name if name.starts_with(b"[") => Region::Unknown,
        _ => Region::File,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that names from records and from `/proc` are recognised.
    #[test]
    fn names_say_what_memory_is() {
        for (name, region) in [
            ("[heap]", Region::Heap),
            ("[stack]", Region::Stack),
            ("//anon", Region::Anonymous),
            ("", Region::Anonymous),
            ("[anon:arena]", Region::Anonymous),
            ("[vdso]", Region::Unknown),
            ("/usr/lib/libc.so.6", Region::File),
            ("/dev/zero (deleted)", Region::File),
            ("/memfd:x (deleted)", Region::File),
        ] {
            assert_eq!(region_of(name.as_bytes()), region, "{name}");
        }
    }

    /// Check that memory that a thread's stack pointer is in is a stack, for the first thread even if no mapping is
    /// known yet; and that a heap stays a heap even then.
    #[test]
    fn stacks_are_where_threads_stand() {
        let mut regions = Regions::default();
        regions.map(0x10_0000, 0x20_0000, Region::Anonymous);
        regions.map(0x40_0000, 0x50_0000, Region::Heap);
        assert_eq!(regions.of(0x11_0000, Some(0x1f_0000)), Region::Stack);
        assert_eq!(regions.of(0x11_0000, Some(0x30_0000)), Region::Anonymous);
        assert_eq!(regions.of(0x41_0000, Some(0x42_0000)), Region::Heap);
        assert_eq!(regions.of(0x60_0000, Some(0x60_0100)), Region::Stack);
        assert_eq!(regions.of(0x60_0000, Some(0x60_0000 + STACK)), Region::Unknown);
        assert_eq!(regions.of(0x60_0000, None), Region::Unknown);
    }

    proptest! {
        /// Check that each address has what was mapped there last.
        #[test]
        fn last_mapping_counts(maps in prop::collection::vec((0..40_u64, 0..20_u64, 0..5_u8), 0..40)) {
            let (mut regions, mut single) = (Regions::default(), [Region::Unknown; 64]);
            for (start, length, kind) in maps {
                let region = Region::from_number(kind).unwrap_or_default();
                regions.map(start, start + length, region);
                single[start as usize..(start + length) as usize].fill(region);
            }
            for (address, region) in (0..).zip(single) {
                prop_assert_eq!(regions.of(address, None), region, "{}", address);
            }
        }
    }
}
