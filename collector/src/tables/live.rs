//! Bytes live right now: for the progress line, and only while there is one.
//!
//! Blocks are found by address in a table of two levels: *regions* of 1 MiB, each with one word per 16 bytes that
//! holds the size of the block there. That costs 8 bytes per 16 bytes of heap in use, and no hashing within a region:
//!
//! ```text
//!   process, address >> 20  ──►  region  ──►  (address >> 4) % 65,536  ──►  size + 1, or 0
//! ```
//!
//! Pages of a region that never held a block are never touched. The number of regions is bounded, so that a
//! misbehaving agent costs at most a page for each; blocks beyond are not counted.

use crate::image::ImageId;
use capture::Sampling;
use rustc_hash::FxHashMap;

const REGION: u32 = 20;
const GRANULE: u32 = 4;
const GRANULES: usize = 1 << (REGION - GRANULE);
/// Most regions, over all processes: 32 GiB of addresses with blocks.
const MOST: usize = 1 << 15;

/// Regions that are found without hashing.
const RECENT: usize = 256;

/// Names a region: image, process slot, address.
type Name = (ImageId, u32, u64);

/// Sizes of live blocks by process and address.
#[derive(Debug)]
pub(crate) struct Live {
    /// With sampling, the bytes that samples stand for are counted.
    sampling: Option<Sampling>,
    /// Index in `regions` of each region.
    places: FxHashMap<Name, u32>,
    regions: Vec<Box<[u64]>>,
    /// Indices of regions that are gone.
    free: Vec<u32>,
    /// Recently used regions, each at an index computed from its address.
    recent: Box<[Option<(Name, u32)>]>,
    bytes: u64,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            sampling: None,
            places: FxHashMap::default(),
            regions: Vec::new(),
            free: Vec::new(),
            recent: vec![None; RECENT].into_boxed_slice(),
            bytes: 0,
        }
    }
}

impl Live {
    /// For a recording with this mean sampling interval, 0 for all allocations.
    pub(crate) fn new(sample_interval: u64) -> Live {
        Live { sampling: Sampling::new(sample_interval), ..Live::default() }
    }

    /// Adds a block. One already at the address is assumed to be gone.
    // Cost: a load and a store of the block's word, which is mostly not in a cache.
    #[inline]
    pub(crate) fn add(&mut self, image: ImageId, slot: u32, address: u64, size: u64) {
        let size = self.sampling.map_or(size, |sampling| (sampling.weight(size).blocks * size as f64) as u64);
        let name = (image, slot, address >> REGION);
        let Some(place) = self.place(name).or_else(|| self.make(name)) else { return };
        // Size 0 is a block too: sizes are stored plus one.
        self.replace(place, address, size.saturating_add(1));
    }

    /// Removes a block; an unknown one changes nothing.
    #[inline]
    pub(crate) fn remove(&mut self, image: ImageId, slot: u32, address: u64) {
        if let Some(place) = self.place((image, slot, address >> REGION)) {
            self.replace(place, address, 0);
        }
    }

    /// Removes all blocks of a process.
    pub(crate) fn end(&mut self, image: ImageId, slot: u32) {
        self.recent.fill(None);
        let gone = self.places.extract_if(|(of_image, of_slot, _), _| (*of_image, *of_slot) == (image, slot));
        for (_, place) in gone.collect::<Vec<_>>() {
            let Some(region) = self.regions.get_mut(place as usize).map(std::mem::take) else { continue };
            let bytes: u64 = region.iter().map(|word| word.saturating_sub(1)).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
            self.free.push(place);
        }
    }

    /// Bytes in live blocks.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn place(&mut self, name: Name) -> Option<u32> {
        let recent = self.recent.get_mut(name.2 as usize % RECENT)?;
        if let Some((known, place)) = *recent
            && known == name
        {
            return Some(place);
        }
        let place = *self.places.get(&name)?;
        *recent = Some((name, place));
        Some(place)
    }

    #[cold]
    fn make(&mut self, name: Name) -> Option<u32> {
        let place = match self.free.pop() {
            Some(gone) => gone,
            None if self.regions.len() < MOST => {
                self.regions.push(Box::default());
                self.regions.len() as u32 - 1
            }
            None => return None,
        };
        // Zeroed memory of this size comes from the system and is not touched before it is used.
        *self.regions.get_mut(place as usize)? = vec![0; GRANULES].into_boxed_slice();
        self.places.insert(name, place);
        Some(place)
    }

    #[inline]
    fn replace(&mut self, place: u32, address: u64, kept: u64) {
        let granule = (address >> GRANULE) as usize % GRANULES;
        if let Some(word) = self.regions.get_mut(place as usize).and_then(|region| region.get_mut(granule)) {
            let before = std::mem::replace(word, kept);
            self.bytes =
                self.bytes.saturating_sub(before.saturating_sub(1)).saturating_add(kept.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that bytes follow blocks, even through a lost free, unknown frees and the end of a process.
    #[test]
    fn bytes_follow_blocks() {
        let mut live = Live::default();
        let (one, two) = (ImageId(1), ImageId(2));
        live.add(one, 0, 0x10_0000, 100);
        live.add(one, 0, 0x5000_0010, 0);
        live.add(two, 0, 0x10_0000, 7);
        assert_eq!(live.bytes(), 107);
        live.remove(one, 0, 0x5000_0010);
        live.remove(one, 1, 0x10_0000);
        assert_eq!(live.bytes(), 107);
        live.add(one, 0, 0x10_0000, 50);
        assert_eq!(live.bytes(), 57);
        live.end(one, 0);
        assert_eq!(live.bytes(), 7);
        live.remove(two, 0, 0x10_0000);
        assert_eq!(live.bytes(), 0);
    }

    /// Check that unbounded addresses take bounded memory, and that known blocks stay known.
    #[test]
    fn regions_are_bounded() {
        let mut live = Live::default();
        let address = |region: u64| region << REGION;
        // Regions are created before they are filled, so the test need not touch all of them.
        live.regions.resize_with(MOST - 2, || vec![1].into_boxed_slice());
        for region in 0..10 {
            live.add(ImageId(1), 0, address(region), 100);
        }
        assert_eq!((live.regions.len(), live.bytes()), (MOST, 200));
        live.end(ImageId(1), 0);
        assert_eq!(live.bytes(), 0);
        live.add(ImageId(2), 0, address(7), 5);
        assert_eq!((live.regions.len(), live.bytes()), (MOST, 5));
    }

    proptest::proptest! {
        /// Check that the bytes equal those of a plain table, for any sequence of blocks.
        #[test]
        fn bytes_are_those_of_a_plain_table(
            steps in proptest::collection::vec((0u32..2, 0u64..40, proptest::option::of(0u64..1000)), 0..300),
        ) {
            let (mut live, mut plain) = (Live::default(), std::collections::HashMap::new());
            for (slot, block, size) in steps {
                let address = (block % 5) << 19 | (block / 5) << 4 | 0x5555_0000_0000;
                match size {
                    Some(size) => {
                        live.add(ImageId(0), slot, address, size);
                        plain.insert((slot, address), size);
                    }
                    None => {
                        live.remove(ImageId(0), slot, address);
                        plain.remove(&(slot, address));
                    }
                }
                proptest::prop_assert_eq!(live.bytes(), plain.values().sum::<u64>());
            }
        }
    }
}
