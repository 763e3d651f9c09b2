//! Pages on which blocks have been that were freed. What of them has no block any more an allocator may keep, or have given back.

use super::pages::PAGE;
use crate::analysis::Ranges;
use capture::{Action, ProcessId};
use std::collections::HashMap;
use std::ops::Range;

/// glibc maps blocks of this size and more by themselves, at first.
const MAPPED: u64 = 128 << 10;
/// It always does from this size on: the threshold rises no further.
const ALWAYS_MAPPED: u64 = 32 << 20;
/// Where in a page a block begins that was mapped: behind its header, or where it was to be aligned.
const MAPPED_AT: [u64; 2] = [0, 16];

/// Pages of all processes.
#[derive(Debug, Default)]
pub(super) struct Freed(HashMap<ProcessId, Ranges>);

impl Freed {
    /// A block was freed.
    // Cost: a look at the few ranges that a heap soon has.
    pub(super) fn note(&mut self, process: ProcessId, address: u64, size: u64) {
        let pages = pages_of(address, size);
        let ranges = self.0.entry(process).or_default();
        if is_mapped(address, size) {
            ranges.remove(pages.start, pages.end);
        } else {
            ranges.add(pages.start, pages.end);
        }
    }

    /// Pages that go, or others that come in their place, have nothing of what was there.
    pub(super) fn follow(&mut self, process: ProcessId, action: &Action) {
        let (address, length) = match *action {
            Action::Map { address, length, .. } | Action::Unmap { address, length } => (address, length),
            Action::Remap { old_address, old_length, .. } => (old_address, old_length),
            _ => return,
        };
        if let Some(ranges) = self.0.get_mut(&process) {
            let pages = pages_of(address, length);
            ranges.remove(pages.start, pages.end);
        }
    }

    /// A process has none any more.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.0.remove(&process);
    }

    /// A block lies on pages.
    pub(super) fn take(&mut self, process: ProcessId, pages: Range<u64>) {
        if let Some(ranges) = self.0.get_mut(&process) {
            ranges.remove(pages.start, pages.end);
        }
    }

    /// All that are left.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ProcessId, Range<u64>)> {
        self.0
            .iter()
            .flat_map(|(&process, ranges)| ranges.iter().map(move |(first, end)| (process, first..end)))
    }
}

/// Whether libc has mapped a block by itself, by its size and place: such pages go when it is freed. It is the way of glibc, which no
/// record tells of.
pub(super) fn is_mapped(address: u64, size: u64) -> bool {
    size >= ALWAYS_MAPPED || size >= MAPPED && MAPPED_AT.contains(&(address % PAGE))
}

/// The pages on which bytes lie; a block of none lies on one.
pub(super) fn pages_of(address: u64, size: u64) -> Range<u64> {
    address / PAGE..address.saturating_add(size.max(1) - 1) / PAGE + 1
}
