//! The code that a process has mapped.

use super::code::Code;
use super::files::{FileId, Files};
use std::collections::BTreeMap;
use std::rc::Rc;
use unwind::{CodeWithoutTables, Modules, SampledModules, Sections, SharedRules};

/// Most mappings kept for a process; Linux allows about as many.
const MOST: usize = 1 << 17;

/// A piece of mapped code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) end: u64,
    /// Offset in its file at which it begins.
    pub(crate) offset: u64,
    /// None for memory that no file holds.
    pub(crate) file: Option<FileId>,
}

/// All mapped code of a process. A fork shares it until either side changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space(Rc<BTreeMap<u64, Mapping>>);

impl Space {
    /// Adds a mapping, which replaces whatever was there.
    pub(crate) fn map(&mut self, start: u64, mapping: Mapping) {
        if start >= mapping.end || self.0.len() >= MOST {
            return;
        }
        let maps = Rc::make_mut(&mut self.0);
        let before = maps.range(..mapping.end).rev().take_while(|(_, old)| old.end > start);
        let overlapped: Vec<(u64, Mapping)> = before.map(|(start, old)| (*start, *old)).collect();
        for (old_start, old) in overlapped {
            maps.remove(&old_start);
            if old_start < start {
                maps.insert(old_start, Mapping { end: start, ..old });
            }
            if old.end > mapping.end {
                let offset = old.offset.wrapping_add(mapping.end - old_start);
                maps.insert(mapping.end, Mapping { offset, ..old });
            }
        }
        maps.insert(start, mapping);
    }

    /// The mapping that an address lies in, and where that mapping begins.
    // Cost: a few steps down a tree.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, Mapping)> {
        let (start, mapping) = self.0.range(..=address).next_back()?;
        (address < mapping.end).then_some((*start, *mapping))
    }
}

/// A process's code with the files behind it, for the unwinder.
pub(crate) struct View<'a> {
    pub(crate) space: &'a Space,
    pub(crate) files: &'a Files,
    pub(crate) pid: u32,
}

impl View<'_> {
    /// The file that holds an address, and what to subtract from the address to get the file's own.
    pub(crate) fn module(&self, address: u64) -> Option<(FileId, &Code, u64)> {
        let (start, mapping) = self.space.find(address)?;
        let file = mapping.file?;
        let code = self.files.code(file, self.pid)?;
        Some((file, code, code.bias(start, mapping.offset)))
    }
}

impl Modules for View<'_> {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        let (_, code, bias) = self.module(address)?;
        let Sections { segment, segment_address, hdr_address } = code.sections()?;
        Some(Sections {
            segment,
            segment_address: segment_address.wrapping_add(bias),
            hdr_address: hdr_address.wrapping_add(bias),
        })
    }

    fn text(&self, address: u64) -> Option<CodeWithoutTables<'_>> {
        let (_, code, bias) = self.module(address)?;
        code.text(bias)
    }

    fn begins_stack(&self, address: u64) -> bool {
        self.module(address).is_some_and(|(_, code, bias)| code.begins_stack(address.wrapping_sub(bias)))
    }

    fn is_code(&self, address: u64) -> bool {
        self.space.find(address).is_some()
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let (start, mapping) = self.space.find(address)?;
        match mapping.file.and_then(|file| self.files.code(file, self.pid)) {
            Some(code) => code.sixteen(address.wrapping_sub(start).wrapping_add(mapping.offset)),
            None => self.files.memory(self.pid, address),
        }
    }
}

impl SampledModules for View<'_> {
    fn cached_rules(&self, address: u64) -> Option<(SharedRules<'_>, u64)> {
        let (_, code, bias) = self.module(address)?;
        Some((code.cached_rules(), bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapping(end: u64, number: u32) -> Mapping {
        Mapping { end, offset: 0, file: Some(FileId(number)) }
    }

    /// Check that a mapping in the middle of another leaves both sides of it, each at its offset in the file.
    #[test]
    fn overlapped_mappings_are_cut() {
        let mut space = Space::default();
        space.map(100, mapping(200, 1));
        space.map(130, mapping(150, 2));
        for (address, start, offset, file) in
            [(100, 100, 0, 1), (129, 100, 0, 1), (130, 130, 0, 2), (150, 150, 50, 1), (199, 150, 50, 1)]
        {
            let (found, map) = space.find(address).unwrap();
            assert_eq!((found, map.offset, map.file), (start, offset, Some(FileId(file))), "{address}");
        }
        assert_eq!((space.find(99), space.find(200)), (None, None));
    }

    /// Check that changes on one side of a shared space do not show on the other.
    #[test]
    fn copies_go_their_own_ways() {
        let mut parent = Space::default();
        parent.map(0, mapping(10, 1));
        let mut child = parent.clone();
        child.map(0, mapping(10, 2));
        assert_eq!(parent.find(5), Some((0, mapping(10, 1))));
        assert_eq!(child.find(5), Some((0, mapping(10, 2))));
    }

    proptest! {
        /// Check that each address belongs to the mapping that came last there.
        #[test]
        fn last_mapping_counts(maps in prop::collection::vec((0u64..50, 0u64..20), 0..40)) {
            let (mut space, mut plain) = (Space::default(), [None; 80]);
            for (number, (start, length)) in (0..).zip(maps) {
                space.map(start, mapping(start + length, number));
                plain[start as usize..(start + length) as usize].fill(Some(number));
            }
            for (address, expected) in (0..).zip(plain) {
                let found = space.find(address).and_then(|(_, map)| map.file).map(|file| file.0);
                prop_assert_eq!(found, expected, "{}", address);
            }
        }
    }
}
