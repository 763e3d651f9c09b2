//! Blocks being moved, for the live table.

use crate::image::ImageId;
use crate::tables::live::Live;
use capture::ThreadId;
use rustc_hash::FxHashMap;
use shared_ring::record::Record;

/// The old block of each `realloc` that has begun, by thread and serial.
#[derive(Debug, Default)]
pub(super) struct Reallocs(FxHashMap<(ThreadId, u16), u64>);

impl Reallocs {
    /// Updates the live table.
    pub(super) fn follow(
        &mut self,
        live: &mut Live,
        (image, slot): (ImageId, u32),
        thread: ThreadId,
        record: &Record,
    ) {
        match *record {
            Record::Alloc { address, size, .. } => live.add(image, slot, address, size),
            Record::Free { address } | Record::TracedFree { address, .. } => {
                live.remove(image, slot, address)
            }
            Record::ReallocBegin { address, serial } => {
                self.0.insert((thread, serial), address);
            }
            Record::ReallocEnd { serial, address, size, .. } => {
                if let Some(old) = self.0.remove(&(thread, serial)) {
                    live.remove(image, slot, old);
                }
                live.add(image, slot, address, size);
            }
            Record::ReallocFreed { serial } => {
                if let Some(old) = self.0.remove(&(thread, serial)) {
                    live.remove(image, slot, old);
                }
            }
            Record::ReallocFailed { serial } => {
                self.0.remove(&(thread, serial));
            }
            // From here on it is not known what becomes of its blocks.
            Record::Pause => live.end(image, slot),
            _ => {}
        }
    }
}
