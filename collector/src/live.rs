//! How many bytes are live right now: for the progress line only.
//!
//! Blocks are found by address in a table of two levels: a map of regions of 1 MiB, each with one word for every 16
//! bytes that holds the block's size. That costs 8 bytes for each 16 of heap that is in use, and no hashing within a
//! region.

use crate::image::ImageId;
use capture::Sampling;
use rustc_hash::FxHashMap;

const REGION: u32 = 20;
const GRANULE: u32 = 4;
const GRANULES: usize = 1 << (REGION - GRANULE);

/// Sizes of live blocks by process and address.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Of samples, the bytes that they stand for are live.
    sampling: Option<Sampling>,
    regions: FxHashMap<(ImageId, u32, u64), Box<[u64; GRANULES]>>,
    bytes: u64,
}

impl Live {
    /// For a recording with this mean distance of samples, 0 for all allocations.
    pub(crate) fn new(sample_interval: u64) -> Live {
        Live { sampling: Sampling::new(sample_interval), ..Live::default() }
    }

    /// A block came to be. One that was there already is taken to be gone.
    pub(crate) fn add(&mut self, image: ImageId, slot: u32, address: u64, size: u64) {
        let size = self.sampling.map_or(size, |sampling| (sampling.weight(size).blocks * size as f64) as u64);
        let region =
            self.regions.entry((image, slot, address >> REGION)).or_insert_with(|| Box::new([0; GRANULES]));
        let word = &mut region[index(address)];
        // Size 0 is a block too: sizes are kept plus one.
        self.bytes = self.bytes.saturating_sub(word.saturating_sub(1)).saturating_add(size);
        *word = size.saturating_add(1);
    }

    /// A block is gone; one that is not known changes nothing.
    pub(crate) fn remove(&mut self, image: ImageId, slot: u32, address: u64) {
        if let Some(region) = self.regions.get_mut(&(image, slot, address >> REGION)) {
            let word = &mut region[index(address)];
            self.bytes = self.bytes.saturating_sub(word.saturating_sub(1));
            *word = 0;
        }
    }

    /// All blocks of a process are gone.
    pub(crate) fn end(&mut self, image: ImageId, slot: u32) {
        let bytes = &mut self.bytes;
        self.regions.retain(|(of_image, of_slot, _), region| {
            let keep = (*of_image, *of_slot) != (image, slot);
            if !keep {
                *bytes = bytes.saturating_sub(region.iter().map(|word| word.saturating_sub(1)).sum());
            }
            keep
        });
    }

    /// Bytes in live blocks.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn index(address: u64) -> usize {
    (address >> GRANULE) as usize & (GRANULES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that bytes follow blocks, also over a lost free, unknown frees and the end of a process.
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
}
